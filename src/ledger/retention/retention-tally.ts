import { type CsvRow, microUsd, picoUsd } from "../../kernel/index.ts";
import type { AttemptSums, DaySums } from "./retention.ts";

/** Rows that no journal has: a column is missing, an id is in the wrong place. */
export class TallyFault extends Error {
  override readonly name = "TallyFault";
}

export const ZERO_SUMS: AttemptSums = {
  attempts: 0n,
  debitMicroUsd: microUsd(0n),
  overrunMicroUsd: microUsd(0n),
  refundMicroUsd: microUsd(0n),
  costPicoUsd: picoUsd(0n),
  owedPicoUsd: picoUsd(0n),
};

/** Adds up attempts as rows of text, and sees to it that each comes once and in order. */
export class DayTally {
  readonly #columns: readonly string[];
  readonly #places: Places;
  readonly #range: { readonly fromId: bigint; readonly toId: bigint };
  readonly #byProvider = new Map<string, AttemptSums>();
  readonly #byOrg = new Map<string, AttemptSums>();
  #all = ZERO_SUMS;
  #lastId: bigint;

  constructor(
    columns: readonly string[],
    range: { readonly fromId: bigint; readonly toId: bigint },
  ) {
    this.#columns = columns;
    this.#places = findPlaces(columns);
    this.#range = range;
    this.#lastId = range.fromId - 1n;
  }

  get sums(): DaySums {
    return { all: this.#all, byProvider: this.#byProvider, byOrg: this.#byOrg };
  }

  add(row: CsvRow): void {
    if (row.length !== this.#columns.length) throw new TallyFault("a row has a column too many");
    const at = this.#places;
    const id = integer(row[at.id]);
    if (id <= this.#lastId || id >= this.#range.toId) throw new TallyFault("ids are out of order");
    this.#lastId = id;
    const debit = integer(row[at.debit]);
    const cost = row[at.cost] === null ? 0n : integer(row[at.cost]);
    const owed = at.owed === undefined ? null : row[at.owed];
    const one: AttemptSums = {
      attempts: 1n,
      debitMicroUsd: microUsd(debit),
      overrunMicroUsd: microUsd(integer(row[at.overrun])),
      refundMicroUsd: microUsd(row[at.corrected] === null ? 0n : integer(row[at.reserve]) - debit),
      costPicoUsd: picoUsd(cost),
      owedPicoUsd: picoUsd(owed === null ? cost : integer(owed)),
    };
    this.#all = addSums(this.#all, one);
    addTo(this.#byProvider, row[at.provider], one);
    addTo(this.#byOrg, row[at.org], one);
  }
}

export function addSums(a: AttemptSums, b: AttemptSums): AttemptSums {
  return {
    attempts: a.attempts + b.attempts,
    debitMicroUsd: microUsd(a.debitMicroUsd + b.debitMicroUsd),
    overrunMicroUsd: microUsd(a.overrunMicroUsd + b.overrunMicroUsd),
    refundMicroUsd: microUsd(a.refundMicroUsd + b.refundMicroUsd),
    costPicoUsd: picoUsd(a.costPicoUsd + b.costPicoUsd),
    owedPicoUsd: picoUsd(a.owedPicoUsd + b.owedPicoUsd),
  };
}

/** True if both have the same sums for every provider and organization. */
export function sameSums(a: DaySums, b: DaySums): boolean {
  return (
    sameAttempts(a.all, b.all) && sameMap(a.byProvider, b.byProvider) && sameMap(a.byOrg, b.byOrg)
  );
}

function sameMap(
  a: ReadonlyMap<string, AttemptSums>,
  b: ReadonlyMap<string, AttemptSums>,
): boolean {
  if (a.size !== b.size) return false;
  for (const [id, sums] of a) {
    if (!sameAttempts(sums, b.get(id) ?? ZERO_SUMS)) return false;
  }
  return true;
}

function sameAttempts(a: AttemptSums, b: AttemptSums): boolean {
  return (
    a.attempts === b.attempts &&
    a.debitMicroUsd === b.debitMicroUsd &&
    a.overrunMicroUsd === b.overrunMicroUsd &&
    a.refundMicroUsd === b.refundMicroUsd &&
    a.costPicoUsd === b.costPicoUsd &&
    a.owedPicoUsd === b.owedPicoUsd
  );
}

/** Where a row has what is added up. */
interface Places {
  readonly id: number;
  readonly provider: number;
  readonly org: number;
  readonly reserve: number;
  readonly debit: number;
  readonly overrun: number;
  readonly cost: number;
  /** Undefined if the file is from before providers had prices of their own. */
  readonly owed: number | undefined;
  readonly corrected: number;
}

function findPlaces(columns: readonly string[]): Places {
  const place = (name: string): number => {
    const at = columns.indexOf(name);
    if (at === -1) throw new TallyFault(`there is no column ${name}`);
    return at;
  };
  return {
    id: place("attempt_id"),
    provider: place("provider_id"),
    org: place("org_id"),
    reserve: place("reserve"),
    debit: place("debit"),
    overrun: place("overrun"),
    cost: place("cost_pico"),
    owed: columns.includes("owed_pico") ? place("owed_pico") : undefined,
    corrected: place("corrected_at"),
  };
}

function addTo(
  map: Map<string, AttemptSums>,
  id: string | null | undefined,
  one: AttemptSums,
): void {
  if (id === null || id === undefined) throw new TallyFault("an attempt has no organization");
  const known = map.get(id);
  map.set(id, known === undefined ? one : addSums(known, one));
}

function integer(text: string | null | undefined): bigint {
  if (text === null || text === undefined || !/^-?\d{1,39}$/.test(text)) {
    throw new TallyFault("an amount is not a whole number");
  }
  return BigInt(text);
}
