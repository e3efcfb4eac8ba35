import { ConcurrencyGate } from "./concurrency-gate.ts";

/** How much one organization may ask at a time of what is slow: the journal, and other people. */
export interface ReportGates {
  /** Answers that are read whole. */
  readonly reads: ConcurrencyGate;
  /** Files, which take as long as the client takes to read them. */
  readonly files: ConcurrencyGate;
  /** Questions to providers whether they take a key. */
  readonly checks: ConcurrencyGate;
  /** Purchases that are begun, and polls of the payment provider. */
  readonly payments: ConcurrencyGate;
}

export function openReportGates(): ReportGates {
  return {
    reads: new ConcurrencyGate({ running: 2, waiting: 8 }),
    files: new ConcurrencyGate({ running: 2, waiting: 0 }),
    checks: new ConcurrencyGate({ running: 1, waiting: 2 }),
    payments: new ConcurrencyGate({ running: 2, waiting: 8 }),
  };
}
