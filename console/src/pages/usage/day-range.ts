import type { UsageSearch } from "./usage-search.ts";

const DAY_MS = 86_400_000;

/** `"2026-11-22T10:30"`, in UTC, as the address has an instant. */
export function writeMinute(ms: number): string {
  return new Date(ms).toISOString().slice(0, 16);
}

/**
 * The range of one UTC day, `"2026-11-22"`; undefined for any other text. It has its own file
 * because the overview, which many people load first, needs nothing else of the usage page.
 */
export function dayRange(
  day: string,
): Required<Pick<UsageSearch, "range" | "from" | "to">> | undefined {
  const dayMs = Date.parse(`${day}T00:00:00Z`);
  if (Number.isNaN(dayMs)) return undefined;
  return { range: "custom", from: writeMinute(dayMs), to: writeMinute(dayMs + DAY_MS) };
}
