import { instant } from "../../kernel/index.ts";
import type { UsageReports } from "../../gateway/index.ts";

/** The reports of one answer, with the age of the oldest part. */
export interface DatedReports {
  readonly reports: UsageReports;
  /** The field of an answer for it: absent while all of the answer comes from the primary. */
  readonly asOf: () => { readonly as_of?: string };
}

/**
 * Tracks one answer: each part that a replica serves makes the answer at least as old as that part.
 */
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
