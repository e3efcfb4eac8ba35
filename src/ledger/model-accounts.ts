import { type CapPeriod, mondayOf } from "../kernel/index.ts";

export interface ModelAccount {
  debits: bigint;
  credits: bigint;
  reserved: bigint;
}

export interface ModelSpender {
  cap: bigint | null;
  /** Caps per UTC day and per UTC week from Monday on. Only keys have them. */
  readonly periodCaps: { day: bigint | null; week: bigint | null };
  /**
   * The sum of the open holds. It counts against every cap, whenever the attempts were admitted.
   */
  inFlight: bigint;
  readonly months: Map<number, { settled: bigint; reserved: bigint }>;
  /** Settled spend by the UTC day of admission, in days since 1970. */
  readonly days: Map<number, bigint>;
}

export interface ModelOrg extends ModelSpender {
  readonly keys: Map<string, ModelSpender>;
}

interface ModelCap {
  readonly period: CapPeriod;
  readonly cap: bigint | null;
  readonly settled: bigint;
}

/** Lists the caps with their settled spend at `now`, in the order of `now.capPeriods`. */
export function listCaps(
  { cap, periodCaps, months, days }: ModelSpender,
  now: {
    readonly month: number;
    readonly day: number;
    readonly capPeriods: readonly CapPeriod[];
  },
): readonly ModelCap[] {
  const monday = mondayOf(now.day);
  let ofWeek = 0n;
  for (let day = monday; day < monday + 7; day += 1) ofWeek += days.get(day) ?? 0n;
  const caps = {
    month: { cap, settled: months.get(now.month)?.settled ?? 0n },
    week: { cap: periodCaps.week, settled: ofWeek },
    day: { cap: periodCaps.day, settled: days.get(now.day) ?? 0n },
  };
  return now.capPeriods.map((period) => ({ period, ...caps[period] }));
}

export function createSpender(): ModelSpender {
  return {
    cap: null,
    periodCaps: { day: null, week: null },
    inFlight: 0n,
    months: new Map(),
    days: new Map(),
  };
}

export function openMonth(
  spender: ModelSpender,
  month: number,
): { settled: bigint; reserved: bigint } {
  const known = spender.months.get(month);
  if (known !== undefined) return known;
  const fresh = { settled: 0n, reserved: 0n };
  spender.months.set(month, fresh);
  return fresh;
}

export interface ModelClose {
  readonly attempt: bigint;
  readonly costPico: bigint;
  /** The debt to the provider; absent if it equals the cost. */
  readonly owedPico?: bigint;
  /** `crash`: the end was not observed. */
  readonly kind: "usage" | "void" | "crash";
}

export interface ModelCharge {
  readonly costPico: bigint;
  readonly debit: bigint;
  readonly overrun: bigint;
  /** Debit plus overrun minus the debt to the provider; negative if the debt is the larger one. */
  readonly margin: bigint;
}

export const NOTHING: ModelCharge = { costPico: 0n, debit: 0n, overrun: 0n, margin: 0n };

/**
 * Computes what an ended attempt is charged: its exact cost rounded down to whole micro-dollars,
 * and at most its reserve. The platform pays the excess.
 */
export function computeCharge(reserve: bigint, row: ModelClose): ModelCharge {
  const costPico = row.kind === "usage" ? row.costPico : 0n;
  const floor = costPico / 1_000_000n;
  const debit = floor < reserve ? floor : reserve;
  const owed = row.kind === "usage" ? (row.owedPico ?? costPico) : 0n;
  return { costPico, debit, overrun: floor - debit, margin: floor - owed / 1_000_000n };
}
