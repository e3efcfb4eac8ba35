import { instant } from "../../kernel/index.ts";
import type { UsageReports } from "../../gateway/index.ts";

/** Reports of one answer, and how old the oldest part of it is. */
export interface DatedReports {
  readonly reports: UsageReports;
  /** The field of an answer for it: absent while all of the answer comes from the primary. */
  readonly asOf: () => { readonly as_of?: string };
}

/** For one answer: a replica that serves a part of it makes the answer as old as that part. */
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
