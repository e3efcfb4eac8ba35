import type { FiguresAt } from "../../../../src/account/console-api/contract.ts";
import { formatShare } from "../../ui/count.tsx";
import { showUtc } from "../../ui/time.tsx";

const DAY_MS = 86_400_000;
const DAYS = 30;

export const NO_CALLS = "no calls";

export interface ServedDay {
  readonly day: string;
  /**
   * Of the hours of the day with calls, the share in which at least one call succeeded, from 0 to
   * 1. Null if the day had no calls.
   */
  readonly uptime: number | null;
}

export function listDays(days: readonly FiguresAt[], nowMs: number): readonly ServedDay[] {
  const known = new Map(days.map(({ at, uptime }) => [Date.parse(at), uptime]));
  const today = Math.floor(nowMs / DAY_MS) * DAY_MS;
  return Array.from({ length: DAYS }, (_, at) => {
    const ms = today - (DAYS - 1 - at) * DAY_MS;
    return { day: showUtc(new Date(ms).toISOString(), "day"), uptime: known.get(ms) ?? null };
  });
}

/** Classifies a day, which selects the color of its bar. */
export function upLabel(uptime: number | null): "up" | "partly" | "down" | "none" {
  if (uptime === null) return "none";
  if (uptime === 1) return "up";
  return uptime >= 0.5 ? "partly" : "down";
}

/** A sentence for screen readers: the number of days with calls, and each day below 100%. */
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
