import type { CheckLine } from "./report.ts";
import type { CheckReport } from "./finding.ts";

/** A check as the report has it. */
export function checkLine(report: CheckReport): CheckLine {
  const { id, status, title, message, durationMs, evidence } = report;
  return { id, status, title, message, ms: durationMs, ...(evidence ? { evidence } : {}) };
}
