/** The two kinds of transactions that carry rows: a batch, and one of late closings alone. */
export type LedgerBatchKind = "batch" | "late";

export type LedgerRowKind = "hold" | "closing" | "late_closing";

/** How many batches the ledger has sent since the start, and how many rows were in them. */
export class LedgerCounts {
  readonly batches: Map<LedgerBatchKind, number> = new Map();
  readonly rows: Map<LedgerRowKind, number> = new Map();

  add(kind: LedgerBatchKind, rows: Readonly<Partial<Record<LedgerRowKind, number>>>): void {
    this.batches.set(kind, (this.batches.get(kind) ?? 0) + 1);
    for (const [row, count] of Object.entries(rows) as [LedgerRowKind, number][]) {
      this.rows.set(row, (this.rows.get(row) ?? 0) + count);
    }
  }
}
