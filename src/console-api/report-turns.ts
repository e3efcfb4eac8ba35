import { Turns } from "./turns.ts";

/** How much one organization may ask of the journal at a time. */
export interface ReportTurns {
  /** Answers that are read whole. */
  readonly looks: Turns;
  /** Files, which take as long as the client takes to read them. */
  readonly files: Turns;
  /** Questions to providers whether they take a key. */
  readonly checks: Turns;
}

export function openReportTurns(): ReportTurns {
  return {
    looks: new Turns({ running: 2, waiting: 8 }),
    files: new Turns({ running: 2, waiting: 0 }),
    checks: new Turns({ running: 1, waiting: 2 }),
  };
}
