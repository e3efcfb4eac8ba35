import type { FiguresAt } from "../../../../src/account/console-api/contract.ts";
import { formatShare } from "../../ui/count.tsx";
import { showUtc } from "../../ui/time.tsx";

const DAY_MS = 86_400_000;
const DAYS = 30;

/** The label of a day without data. */
export const NO_CALLS = "no calls";

/** One of the last 30 days in UTC. */
export interface ServedDay {
  readonly day: string;
  /** Null if there were no calls. */
  readonly uptime: number | null;
}

/** The last 30 days, ending today, including days without figures. */
export function listDays(days: readonly FiguresAt[], nowMs: number): readonly ServedDay[] {
  const known = new Map(days.map(({ at, uptime }) => [Date.parse(at), uptime]));
  const today = Math.floor(nowMs / DAY_MS) * DAY_MS;
  return Array.from({ length: DAYS }, (_, at) => {
    const ms = today - (DAYS - 1 - at) * DAY_MS;
    return { day: showUtc(new Date(ms).toISOString(), "day"), uptime: known.get(ms) ?? null };
  });
}

/** The state of a day, which selects its colour. */
export function upLabel(uptime: number | null): "up" | "partly" | "down" | "none" {
  if (uptime === null) return "none";
  if (uptime === 1) return "up";
  return uptime >= 0.5 ? "partly" : "down";
}

/** A sentence for screen readers: how many days had calls, and which were below 100%. */
export function spokenDays(days: readonly ServedDay[]): string {
  const used = days.filter(({ uptime }) => uptime !== null);
  if (used.length === 0) return "No calls in 30 days";
  const bad = used.flatMap(({ day, uptime }) =>
    uptime === null || uptime === 1 ? [] : [`${day} ${formatShare(uptime)}`],
  );
  const count = used.length === 1 ? "1 day" : `${used.length} days`;
  const found = bad.length === 0 ? "all of them 100%" : `below 100% on ${bad.join(", ")}`;
  return `Uptime of ${count} with calls: ${found}`;
}
