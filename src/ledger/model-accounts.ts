import { type CapPeriod, mondayOf } from "../kernel/index.ts";

/** The posted sum of one account, and the sum that is held of it, in micro-dollars. */
export interface ModelAccount {
  debits: bigint;
  credits: bigint;
  reserved: bigint;
}

/** The bounds of an organization or a key, and its spend. */
export interface ModelSpender {
  /** Per month; null: no cap. */
  cap: bigint | null;
  /** Per UTC day and per week from Monday on; only keys have such. */
  readonly periodCaps: { day: bigint | null; week: bigint | null };
  /** Counts against the cap of every month. */
  inFlight: bigint;
  readonly months: Map<number, { settled: bigint; reserved: bigint }>;
  /** Settled by the UTC day of admission, as days since 1970. */
  readonly days: Map<number, bigint>;
}

/** With its virtual keys by id. */
export interface ModelOrg extends ModelSpender {
  readonly keys: Map<string, ModelSpender>;
}

interface ModelCap {
  readonly period: CapPeriod;
  readonly cap: bigint | null;
  readonly settled: bigint;
}

/** The caps of a month and a day with what is settled; what resets last comes first. */
export function listCaps(
  { cap, periodCaps, months, days }: ModelSpender,
  now: { readonly month: number; readonly day: number },
): readonly ModelCap[] {
  const monday = mondayOf(now.day);
  let ofWeek = 0n;
  for (let day = monday; day < monday + 7; day += 1) ofWeek += days.get(day) ?? 0n;
  return [
    { period: "month", cap, settled: months.get(now.month)?.settled ?? 0n },
    { period: "week", cap: periodCaps.week, settled: ofWeek },
    { period: "day", cap: periodCaps.day, settled: days.get(now.day) ?? 0n },
  ];
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
