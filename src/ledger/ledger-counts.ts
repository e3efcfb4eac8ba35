/** The statements of the ledger that carry batches of rows. */
export type LedgerLane = "reserve" | "close";

/** How many batches each lane has sent since the start, and how many rows were in them. */
export class LedgerCounts {
  readonly batches: Map<LedgerLane, number> = new Map();
  readonly rows: Map<LedgerLane, number> = new Map();

  add(lane: LedgerLane, rows: number): void {
    this.batches.set(lane, (this.batches.get(lane) ?? 0) + 1);
    this.rows.set(lane, (this.rows.get(lane) ?? 0) + rows);
  }
}
