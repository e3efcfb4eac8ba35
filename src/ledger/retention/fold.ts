import type { CsvRow, MicroUsd } from "../../core/index.ts";

/** A month of transfers in UTC: `2026-01`; `first`: all that was moved before there were months. */
export type Part = string & { readonly __part: "month" };

export const FIRST_PART = "first" as Part;

/** Transfers of attempts between two accounts. */
export interface PairSum {
  readonly kind: string;
  readonly debitAccount: string;
  readonly creditAccount: string;
  readonly transfers: bigint;
  readonly amountMicroUsd: MicroUsd;
}

/** What the transfers of a day's attempts moved. */
export interface DayMoved {
  readonly settledMicroUsd: MicroUsd;
  readonly refundedMicroUsd: MicroUsd;
  readonly overrunMicroUsd: MicroUsd;
  /** What left accruals less what came in. */
  readonly marginMicroUsd: MicroUsd;
}

/** What the transfers of attempts in a month add up to: by accounts, and by the attempts' days. */
export interface FoldSums {
  readonly transfers: bigint;
  readonly amountMicroUsd: MicroUsd;
  /** By kind and both accounts, as `pairName` writes them. */
  readonly pairs: ReadonlyMap<string, PairSum>;
  readonly days: ReadonlyMap<string, DayMoved>;
}

/** A month as the books have it now. */
export interface PartSurvey {
  readonly part: Part;
  /** The first and the last position of a transfer of an attempt. */
  readonly fromPosition: bigint;
  readonly toPosition: bigint;
  readonly sums: FoldSums;
  /** Transfers of no attempt: they stay as they are. */
  readonly kept: bigint;
  /** The books have gone on to positions of a later month: none of this one is taken any more. */
  readonly isOver: boolean;
  /** Days whose attempts have transfers here and were not retired yet. */
  readonly unretiredDays: readonly string[];
  /** An attempt of the journal was opened before the last transfer of the month. */
  readonly hasEarlierAttempts: boolean;
  /** The newest closed day holds all of the month. */
  readonly isClosed: boolean;
}

/** A month that was exported, as it is remembered. */
export interface FoldedPart {
  readonly survey: PartSurvey;
  readonly file: string;
  readonly sha256: Buffer;
  readonly signature: Buffer;
}

/** One run that folds months; every statement is on one connection, and its end ends the run. */
export interface FoldSession {
  /** Name of the newest migration. */
  readonly schema: string;
  /** Columns of a transfer, in order. */
  readonly columns: readonly string[];
  /** Months that are not folded and end at least so many whole months ago, oldest first. */
  partsOlderThan(months: number): Promise<readonly Part[]>;
  /** Undefined: no attempt has a transfer in it. */
  survey(part: Part): Promise<PartSurvey | undefined>;
  /** From here on nothing can be written to the month, by anybody. Again: does nothing. */
  freeze(part: Part): Promise<void>;
  unfreeze(part: Part): Promise<void>;
  /** Every transfer of an attempt in order, in pages; each column as PostgreSQL prints it in UTC. */
  pages(part: Part): AsyncIterable<readonly CsvRow[]>;
  /**
   * In one transaction: writes the sums, proves that they and what stays are the month, and puts
   * what stays in its place. Answers what differs; then nothing was changed.
   */
  fold(folded: FoldedPart): Promise<readonly string[]>;
  /** Months out of the books whose transfers are still in the database, oldest first. */
  detachedParts(): Promise<readonly { readonly part: Part; readonly sha256: Buffer }[]>;
  /** Deletes the single transfers of a folded month. */
  drop(part: Part): Promise<void>;
  /** The books are reported as broken, until an audit finds them whole. */
  alarm(violations: number): Promise<void>;
  close(): Promise<void>;
}

export function pairName(pair: Omit<PairSum, "transfers" | "amountMicroUsd">): string {
  return JSON.stringify([pair.kind, pair.debitAccount, pair.creditAccount]);
}

/** The month in `text`, or undefined when there is no such month. */
export function parsePart(text: string): Part | undefined {
  return text === FIRST_PART || /^2\d{3}-(0[1-9]|1[0-2])$/.test(text) ? (text as Part) : undefined;
}
