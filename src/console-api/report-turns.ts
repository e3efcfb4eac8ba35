import { Turns } from "./turns.ts";

/** How much one organization may ask at a time of what is slow: the journal, and other people. */
export interface ReportTurns {
  /** Answers that are read whole. */
  readonly looks: Turns;
  /** Files, which take as long as the client takes to read them. */
  readonly files: Turns;
  /** Questions to providers whether they take a key. */
  readonly checks: Turns;
  /** Purchases that are begun, and polls of the payment provider. */
  readonly payments: Turns;
}

export function openReportTurns(): ReportTurns {
  return {
    looks: new Turns({ running: 2, waiting: 8 }),
    files: new Turns({ running: 2, waiting: 0 }),
    checks: new Turns({ running: 1, waiting: 2 }),
    payments: new Turns({ running: 2, waiting: 8 }),
  };
}
