import { instant } from "../../kernel/index.ts";
import type { UsageReports } from "../../gateway/index.ts";

export interface DatedReports {
  readonly reports: UsageReports;
  /** The answer's `as_of` field; empty while the primary database has served everything. */
  readonly asOf: () => { readonly as_of?: string };
}

/** Tracks the age of one answer: the age of the oldest part that a replica served. */
export function datedReports(reports: UsageReports): DatedReports {
  let oldestMs: number | undefined;
  const noted = reports.noting((asOfMs) => {
    oldestMs = Math.min(oldestMs ?? asOfMs, asOfMs);
  });
  return {
    reports: noted,
    asOf: () => (oldestMs === undefined ? {} : { as_of: instant(oldestMs) }),
  };
}
