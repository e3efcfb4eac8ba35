import type {
  LedgerBatchStore,
  LedgerBatch,
  BatchAnswer,
  Membership,
} from "../../src/ledger/ledger-batch-store.ts";
import type { CloseRow, ReserveOutcome, ReserveRow } from "../../src/ledger/ledger-store.ts";

/** One hold, and the closing that the batch does before it; null: none. */
export interface ReserveEntry {
  readonly row: ReserveRow;
  readonly close: CloseRow | null;
}

export interface ReserveBatchStore extends LedgerBatchStore {
  /** Makes holds, each after its closing. Late closings are decided afterwards. */
  reserveBatch(
    member: Membership,
    entries: readonly ReserveEntry[],
  ): Promise<readonly ReserveOutcome[]>;
}

/** Adds `reserveBatch` for tests that only hold. */
export function withReserveBatch(store: LedgerBatchStore): ReserveBatchStore {
  return Object.assign(store, {
    reserveBatch: async (member: Membership, entries: readonly ReserveEntry[]) => {
      const batch = batchOf(member, entries);
      const { verdicts, outcomes } = await store.runBatch(batch);
      const late = lateOf(batch, verdicts);
      if (late.length > 0) await store.closeBatch(late);
      return outcomes;
    },
  });
}

export function batchOf(member: Membership, entries: readonly ReserveEntry[]): LedgerBatch {
  const closings = entries.flatMap(({ close }) => close ?? []);
  return { member, closings, holds: entries.map(({ row }) => row) };
}

export function lateOf(
  { closings }: Pick<LedgerBatch, "closings">,
  verdicts: BatchAnswer["verdicts"],
): readonly CloseRow[] {
  return closings.filter((_, i) => verdicts[i] === undefined);
}
