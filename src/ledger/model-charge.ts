/** How an attempt ends in the model of the ledger. */
export interface ModelClose {
  readonly attempt: bigint;
  readonly costPico: bigint;
  /** The debt to the provider; absent: the cost. */
  readonly owedPico?: bigint;
  /** `crash`: the end was not observed. */
  readonly kind: "usage" | "void" | "crash";
}

/** The cost of an end. */
export interface ModelCharge {
  readonly costPico: bigint;
  readonly debit: bigint;
  readonly overrun: bigint;
  /** The part of both that is not owed to the provider; below 0 where it costs more. */
  readonly margin: bigint;
}

export const NOTHING: ModelCharge = { costPico: 0n, debit: 0n, overrun: 0n, margin: 0n };

/**
 * The debit is the floor of the exact cost within the reserve; the platform bears the rest, and has
 * what is not owed.
 */
export function computeCharge(reserve: bigint, row: ModelClose): ModelCharge {
  const costPico = row.kind === "usage" ? row.costPico : 0n;
  const floor = costPico / 1_000_000n;
  const debit = floor < reserve ? floor : reserve;
  const owed = row.kind === "usage" ? (row.owedPico ?? costPico) : 0n;
  return { costPico, debit, overrun: floor - debit, margin: floor - owed / 1_000_000n };
}
