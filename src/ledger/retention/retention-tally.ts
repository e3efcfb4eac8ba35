import {
  type CsvRow,
  Fault,
  isDay,
  microUsd,
  picoUsd,
  ZERO_MICRO_USD,
  ZERO_PICO_USD,
} from "../../kernel/index.ts";

/** A day of the journal in UTC, for example `2026-04-10`. */
export type Day = string & { readonly __day: "utc" };

const zero = {
  attempts: 0n,
  debitMicroUsd: ZERO_MICRO_USD,
  overrunMicroUsd: ZERO_MICRO_USD,
  /** Money that late corrections refunded. */
  refundMicroUsd: ZERO_MICRO_USD,
  costPicoUsd: ZERO_PICO_USD,
  owedPicoUsd: ZERO_PICO_USD,
};
export type AttemptSums = Readonly<typeof zero>;
export const ZERO_SUMS: AttemptSums = zero;

export interface DaySums {
  readonly all: AttemptSums;
  readonly byProvider: ReadonlyMap<string, AttemptSums>;
  readonly byOrg: ReadonlyMap<string, AttemptSums>;
}

export interface DayIds {
  /** The first attempt id of the day; `toId` is the first id of the next day. */
  readonly fromId: bigint;
  readonly toId: bigint;
}

export interface DaySurvey extends DayIds {
  readonly day: Day;
  readonly sums: DaySums;
  readonly open: bigint;
  /** Attempts that ended at or after the settlement horizon: a later period may include them. */
  readonly unsettled: bigint;
  /** Attempts that ended in no closed period of their provider. */
  readonly outsidePeriods: bigint;
  /** True if the day was retired before; the attempts in this survey were added after that. */
  readonly isRetired: boolean;
}

export interface DetachedDay {
  readonly day: Day;
  readonly sha256: Buffer;
}

export function dayFiles(day: Day): { readonly rows: string; readonly manifest: string } {
  return { rows: `attempt-${day}.csv.gz`, manifest: `attempt-${day}.json` };
}

export function parseDay(text: string): Day | undefined {
  return isDay(text) ? (text as Day) : undefined;
}

/** Thrown if rows cannot be a day's attempts, for example if a column is missing. */
export class TallyFault extends Fault {}

/** Adds up rows of text as attempts. Throws `TallyFault` for a bad row or an id out of order. */
export class DayTally {
  readonly #columns: readonly string[];
  readonly #places: Places;
  readonly #ids: DayIds;
  readonly #byProvider = new Map<string, AttemptSums>();
  readonly #byOrg = new Map<string, AttemptSums>();
  #all = ZERO_SUMS;
  #lastId: bigint;

  constructor(columns: readonly string[], ids: DayIds) {
    this.#columns = columns;
    this.#places = findPlaces(columns);
    this.#ids = ids;
    this.#lastId = ids.fromId - 1n;
  }

  get sums(): DaySums {
    return { all: this.#all, byProvider: this.#byProvider, byOrg: this.#byOrg };
  }

  add(row: CsvRow): void {
    if (row.length !== this.#columns.length) throw new TallyFault("a row has a column too many");
    const at = this.#places;
    const id = integer(row[at.id]);
    if (id <= this.#lastId || id >= this.#ids.toId) throw new TallyFault("ids are out of order");
    this.#lastId = id;
    const debit = integer(row[at.debit]);
    const cost = row[at.cost] === null ? 0n : integer(row[at.cost]);
    const owed = row[at.owed];
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

const SUM_NAMES = Object.keys(ZERO_SUMS) as (keyof AttemptSums)[];

function sameAttempts(a: AttemptSums, b: AttemptSums): boolean {
  return SUM_NAMES.every((name) => a[name] === b[name]);
}

type Places = ReturnType<typeof findPlaces>;

function findPlaces(columns: readonly string[]) {
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
    owed: place("owed_pico"),
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
