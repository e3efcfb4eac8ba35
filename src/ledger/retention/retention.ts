import type { MicroUsd, PicoUsd } from "../../kernel/index.ts";

/** A day of the journal in UTC: `2026-04-10`. */
export type Day = string & { readonly __day: "utc" };

/** The sums of some attempts. */
export interface AttemptSums {
  readonly attempts: bigint;
  readonly debitMicroUsd: MicroUsd;
  readonly overrunMicroUsd: MicroUsd;
  /** Returned by late corrections. */
  readonly refundMicroUsd: MicroUsd;
  readonly costPicoUsd: PicoUsd;
  /** The debts to providers for them. */
  readonly owedPicoUsd: PicoUsd;
}

/** The attempts of a day: all of them, and by whom they are owed and paid. */
export interface DaySums {
  readonly all: AttemptSums;
  readonly byProvider: ReadonlyMap<string, AttemptSums>;
  readonly byOrg: ReadonlyMap<string, AttemptSums>;
}

/** A day as the journal has it now. */
export interface DaySurvey {
  readonly day: Day;
  /** First id of the day and first id behind it. */
  readonly fromId: bigint;
  readonly toId: bigint;
  readonly sums: DaySums;
  readonly open: bigint;
  /** Closed or corrected at or after the settlement horizon, so that they may be settled yet. */
  readonly unsettled: bigint;
  /** Ended in no closed period of their provider. */
  readonly outsidePeriods: bigint;
  /** The day was retired before; what is there now came later. */
  readonly isRetired: boolean;
}

/** The record of a day whose attempts are gone. */
export interface RetiredDay {
  readonly survey: DaySurvey;
  readonly file: string;
  readonly sha256: Buffer;
  readonly signature: Buffer;
}

export interface DetachedDay {
  readonly day: Day;
  readonly sha256: Buffer;
}

/** A folder of exported days. Written means flushed to the disk. */
export interface DayArchive {
  readonly folder: string;
  /** Writes the day's rows, compressed, under a name that marks it as unfinished. */
  stage(day: Day, csv: AsyncIterable<string>): Promise<void>;
  /** The uncompressed bytes of the staged file, as the disk has them. */
  readStaged(day: Day): AsyncIterable<Uint8Array>;
  /** Gives the staged rows their name and writes the manifest beside them. */
  publish(day: Day, manifestText: string): Promise<void>;
  /** Undefined if this folder has no such day. */
  readManifest(day: Day): Promise<string | undefined>;
  readPublished(day: Day): AsyncIterable<Uint8Array>;
}

/** The names of a day's two files. */
export function dayFiles(day: Day): { readonly rows: string; readonly manifest: string } {
  return { rows: `attempt-${day}.csv.gz`, manifest: `attempt-${day}.json` };
}

/** The day in `text`, or undefined when there is no such day. */
export function parseDay(text: string): Day | undefined {
  const ms = /^\d{4}-\d\d-\d\d$/.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isFinite(ms) && new Date(ms).toISOString().startsWith(text)
    ? (text as Day)
    : undefined;
}

/** The day after. */
export function dayAfter(day: Day): Day {
  const MS_PER_DAY = 86_400_000;
  return new Date(Date.parse(day) + MS_PER_DAY).toISOString().slice(0, 10) as Day;
}
