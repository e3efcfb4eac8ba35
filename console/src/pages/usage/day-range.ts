import type { UsageSearch } from "./usage-search.ts";

const DAY_MS = 86_400_000;

/** Formats an instant for the page's URL, in UTC, to the minute: `"2026-11-22T10:30"`. */
export function writeMinute(ms: number): string {
  return new Date(ms).toISOString().slice(0, 16);
}

/**
 * Returns the range of a UTC day such as `"2026-11-22"`; undefined for any other text. It has its
 * own file, so that the overview, which most people open first, does not load the usage page.
 */
export function dayRange(
  day: string,
): Required<Pick<UsageSearch, "range" | "from" | "to">> | undefined {
  const dayMs = Date.parse(`${day}T00:00:00Z`);
  if (Number.isNaN(dayMs)) return undefined;
  return { range: "custom", from: writeMinute(dayMs), to: writeMinute(dayMs + DAY_MS) };
}
