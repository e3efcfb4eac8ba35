import type {
  LedgerBatchStore,
  LedgerBatch,
  BatchAnswer,
  Membership,
} from "../../src/ledger/ledger-batch-store.ts";
import type { CloseRow, ReserveOutcome, ReserveRow } from "../../src/ledger/ledger-store.ts";

/** One hold, and the closing that the batch does before its holds; null if there is none. */
export interface ReserveEntry {
  readonly row: ReserveRow;
  readonly close: CloseRow | null;
}

export interface ReserveBatchStore extends LedgerBatchStore {
  /** Closes and holds in one batch, and then does closings that the batch left undone. */
  reserveBatch(
    member: Membership,
    entries: readonly ReserveEntry[],
  ): Promise<readonly ReserveOutcome[]>;
  /** Holds rows; throws unless every hold is granted. */
  hold(member: Membership, ...rows: readonly ReserveRow[]): Promise<void>;
}

export function withReserveBatch(store: LedgerBatchStore): ReserveBatchStore {
  const reserveBatch = async (member: Membership, entries: readonly ReserveEntry[]) => {
    const batch = batchOf(member, entries);
    const { verdicts, outcomes } = await store.runBatch(batch);
    const late = lateOf(batch, verdicts);
    if (late.length > 0) await store.closeBatch(late);
    return outcomes;
  };
  const hold = async (member: Membership, ...rows: readonly ReserveRow[]): Promise<void> => {
    const outcomes = await reserveBatch(
      member,
      rows.map((row) => ({ row, close: null })),
    );
    for (const { kind } of outcomes)
      if (kind !== "reserved") throw new Error(`not reserved: ${kind}`);
  };
  return Object.assign(store, { reserveBatch, hold });
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
