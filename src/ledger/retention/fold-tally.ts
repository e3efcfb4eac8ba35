import { type CsvRow, microUsd } from "../../core/index.ts";
import { type DayMoved, type FoldSums, pairName, type PairSum } from "./fold.ts";
import { TallyFault } from "./retention-tally.ts";

const ID_EPOCH_MS = Date.UTC(2025, 0, 1);
const DAY_MS = 86_400_000;
const ID_TIME_SHIFT = 22n;

const NOTHING_MOVED: DayMoved = {
  settledMicroUsd: microUsd(0n),
  refundedMicroUsd: microUsd(0n),
  overrunMicroUsd: microUsd(0n),
  marginMicroUsd: microUsd(0n),
};

/** Adds up transfers as rows of text, and sees to it that each comes once and in order. */
export class FoldTally {
  readonly #columns: readonly string[];
  readonly #range: { readonly fromPosition: bigint; readonly toPosition: bigint };
  readonly #pairs = new Map<string, PairSum>();
  readonly #days = new Map<string, DayMoved>();
  #transfers = 0n;
  #amount = 0n;
  #lastId = -1n;

  constructor(
    columns: readonly string[],
    range: { readonly fromPosition: bigint; readonly toPosition: bigint },
  ) {
    this.#columns = columns;
    this.#range = range;
  }

  get sums(): FoldSums {
    return {
      transfers: this.#transfers,
      amountMicroUsd: microUsd(this.#amount),
      pairs: this.#pairs,
      days: this.#days,
    };
  }

  add(row: CsvRow): void {
    if (row.length !== this.#columns.length) throw new TallyFault("a row has a column too many");
    const id = this.#integer(row, "transfer_id");
    if (id <= this.#lastId) throw new TallyFault("ids are out of order");
    this.#lastId = id;
    const position = this.#integer(row, "position");
    const { fromPosition, toPosition } = this.#range;
    if (position < fromPosition || position > toPosition) {
      throw new TallyFault("a position is of another month");
    }
    const amount = this.#integer(row, "amount");
    this.#transfers += 1n;
    this.#amount += amount;
    const of = {
      kind: this.#text(row, "kind"),
      debitAccount: this.#text(row, "debit_account"),
      creditAccount: this.#text(row, "credit_account"),
    };
    const name = pairName(of);
    const known = this.#pairs.get(name);
    this.#pairs.set(name, {
      ...of,
      transfers: (known?.transfers ?? 0n) + 1n,
      amountMicroUsd: microUsd((known?.amountMicroUsd ?? 0n) + amount),
    });
    const day = dayOfAttempt(this.#integer(row, "attempt_id"));
    this.#days.set(day, moved(this.#days.get(day) ?? NOTHING_MOVED, of, amount));
  }

  #text(row: CsvRow, column: string): string {
    const value = row[this.#columns.indexOf(column)];
    if (value === undefined || value === null) throw new TallyFault(`there is no ${column}`);
    return value;
  }

  #integer(row: CsvRow, column: string): bigint {
    const text = this.#text(row, column);
    if (!/^\d{1,19}$/.test(text)) throw new TallyFault(`${column} is not a whole number`);
    return BigInt(text);
  }
}

/** Do both say the same of every pair of accounts and every day? */
export function sameFold(a: FoldSums, b: FoldSums): boolean {
  return (
    a.transfers === b.transfers &&
    a.amountMicroUsd === b.amountMicroUsd &&
    linesOf(a.pairs) === linesOf(b.pairs) &&
    linesOf(a.days) === linesOf(b.days)
  );
}

function linesOf(map: ReadonlyMap<string, PairSum | DayMoved>): string {
  const line = ([name, sums]: [string, PairSum | DayMoved]): string =>
    `${name} ${Object.entries(sums)
      .map(([key, value]) => `${key} ${value}`)
      .sort()
      .join(", ")}`;
  return [...map].map(line).sort().join("\n");
}

function moved(
  day: DayMoved,
  of: { readonly kind: string; readonly creditAccount: string },
  amount: bigint,
): DayMoved {
  switch (of.kind) {
    case "settle":
      return { ...day, settledMicroUsd: microUsd(day.settledMicroUsd + amount) };
    case "refund":
      return { ...day, refundedMicroUsd: microUsd(day.refundedMicroUsd + amount) };
    case "overrun":
      return { ...day, overrunMicroUsd: microUsd(day.overrunMicroUsd + amount) };
    case "margin": {
      const left = of.creditAccount.startsWith("margin:") ? amount : -amount;
      return { ...day, marginMicroUsd: microUsd(day.marginMicroUsd + left) };
    }
    default:
      return day;
  }
}

function dayOfAttempt(id: bigint): string {
  const days = Math.floor(Number(id >> ID_TIME_SHIFT) / DAY_MS);
  return new Date(ID_EPOCH_MS + days * DAY_MS).toISOString().slice(0, 10);
}
