import {
  Fault,
  formatUsd,
  toReason,
  type SignedFile,
  type SigningKey,
} from "../../kernel/index.ts";
import type { DayFolder } from "./day-folder.ts";
import type { RetentionSession } from "./postgres-retention-store.ts";
import { countDayCsv, findDifference, writeDayCsv } from "./retention-export.ts";
import { type DayManifest, readManifest, signManifest } from "./retention-manifest.ts";
import { type Day, type DaySurvey, sameSums } from "./retention-tally.ts";

/** Thrown if the export of a day failed; the day is then still in the journal. */
export class RetentionFault extends Fault {}

export interface RetireDeps {
  readonly session: RetentionSession;
  readonly archive: DayFolder;
  readonly key: SigningKey;
  readonly progress: (line: string) => void;
}

export interface RetireOutcome {
  readonly retired: readonly DaySurvey[];
  readonly dropped: readonly Day[];
  /** The day at which the run stopped, and why. Later days were not checked. */
  readonly stopped: { readonly day: Day; readonly reason: string } | undefined;
  readonly refusedRequests: number;
  /** The number of deleted rows of daily spend in weeks that no cap needs. */
  readonly pastSpendDays: number;
  /** Days whose attempts could not be deleted, and why. */
  readonly kept: readonly { readonly day: Day; readonly reason: string }[];
}

/**
 * Retires the days older than `olderThanDays`, oldest first, up to the first that is not ready.
 * Each is exported, read back and signed before it leaves the journal. An interrupted run can be
 * repeated.
 */
export async function retireDays(
  deps: RetireDeps,
  options: {
    readonly olderThanDays: number;
    readonly drop: boolean;
    /** If set, this day and later days stay in the journal, for the stated reason. */
    readonly stopAt?: { readonly day: Day; readonly reason: string } | undefined;
  },
): Promise<RetireOutcome> {
  const retired: DaySurvey[] = [];
  let stopped: RetireOutcome["stopped"];
  for (const day of await deps.session.daysOlderThan(options.olderThanDays)) {
    const { stopAt } = options;
    const isFree = stopAt === undefined || day < stopAt.day;
    const reason = isFree ? await retireDay(deps, day, retired) : stopAt.reason;
    if (reason !== undefined) {
      stopped = { day, reason };
      deps.progress(`${day}: stays: ${reason}`);
      break;
    }
  }
  const refusedRequests = await deps.session.deleteRefused(options.olderThanDays, stopped?.day);
  if (refusedRequests > 0) deps.progress(`${refusedRequests} refused requests deleted`);
  const pastSpendDays = await deps.session.deletePastSpend();
  if (pastSpendDays > 0) deps.progress(`${pastSpendDays} past days of capped keys deleted`);
  const drops = options.drop ? await dropDetached(deps) : { dropped: [], kept: [] };
  return { retired, stopped, refusedRequests, pastSpendDays, ...drops };
}

/** Retires the day and adds it to `retired`, or returns the reason why it is not ready. */
async function retireDay(
  deps: RetireDeps,
  day: Day,
  retired: DaySurvey[],
): Promise<string | undefined> {
  const { session, archive, progress } = deps;
  const first = await session.survey(day);
  const reason = readinessProblem(first);
  if (reason !== undefined) {
    // An interrupted run may have left the day frozen. A frozen day refuses the end of an attempt,
    // so open attempts could never end.
    if (first.open > 0n) await session.unfreeze(day);
    return reason;
  }
  await session.freeze(day);
  // Surveys again: attempts of the day may have changed before the freeze; now none can.
  const survey = await session.survey(day);
  const late = readinessProblem(survey);
  if (late !== undefined) {
    await session.unfreeze(day);
    return late;
  }
  const { manifest, signed } = await exportDay(deps, survey);
  progress(`${day}: exported ${survey.sums.all.attempts} attempts to ${archive.folder}`);
  await session.retire({ survey, sha256: manifest.sha256, signature: signed.signature });
  progress(`${day}: retired, debits of $${formatUsd(survey.sums.all.debitMicroUsd)}`);
  retired.push(survey);
  return undefined;
}

function readinessProblem(survey: DaySurvey): string | undefined {
  const { open, unsettled, outsidePeriods, isRetired } = survey;
  if (isRetired) return "it was retired before, and attempts came after that; this needs a person";
  if (open > 0n) return `${attempts(open)} still open; tokenmarket ledger recover closes dead ones`;
  if (unsettled > 0n) {
    return `${attempts(unsettled)} not settled with the providers yet; run tokenmarket settlement close`;
  }
  if (outsidePeriods > 0n) {
    return `${attempts(outsidePeriods)} in no closed period of the provider; run tokenmarket settlement close`;
  }
  return undefined;
}

/** Writes the day's two files and compares them, read back from the disk, with the database. */
async function exportDay(
  deps: RetireDeps,
  survey: DaySurvey,
): Promise<{ readonly manifest: DayManifest; readonly signed: SignedFile }> {
  const { session, archive, key } = deps;
  const { day, fromId, toId, sums } = survey;
  const csv = writeDayCsv(session.columns, survey, session.pages(day));
  await archive.stage(day, csv.text);
  const { sha256, bytes, sums: written } = csv.counted();
  if (!sameSums(written, sums)) throw new RetentionFault(`${day}: the export misses attempts`);
  const manifest = { day, fromId, toId, schema: session.schema, sums, sha256, bytes };
  const difference = findDifference(manifest, await countDayCsv(survey, archive.readStaged(day)));
  if (difference !== undefined) throw new RetentionFault(`${day}: read back: ${difference}`);
  await refuseForeignFile(archive, manifest);
  const signed = signManifest(manifest, key);
  await archive.publish(day, signed.text);
  return { manifest, signed };
}

/**
 * Rejects if the folder has an export of this day from another database. An interrupted run of this
 * database may have left an export, which may be overwritten. Its text can differ from the new one,
 * because requests have ended since, but its sums are equal.
 */
async function refuseForeignFile(archive: DayFolder, manifest: DayManifest): Promise<void> {
  const { day } = manifest;
  const text = await archive.readManifest(day);
  if (text === undefined) return;
  const found = readManifest(text);
  const isSameDay = found.ok && found.document.day === day;
  if (isSameDay && sameSums(found.document.sums, manifest.sums)) return;
  throw new RetentionFault(
    `${archive.folder} has another export of ${day}; choose another folder with --out, or move it`,
  );
}

/** Deletes the attempts of retired days, after checking each day's files again. */
async function dropDetached(deps: RetireDeps): Promise<Pick<RetireOutcome, "dropped" | "kept">> {
  const { session, archive, progress } = deps;
  const dropped: Day[] = [];
  const kept: { day: Day; reason: string }[] = [];
  for (const { day, sha256 } of await session.detachedDays()) {
    const reason = await dropProblem(archive, day, sha256);
    if (reason === undefined) {
      await session.drop(day);
      dropped.push(day);
      progress(`${day}: dropped from the database`);
    } else {
      kept.push({ day, reason });
      progress(`${day}: not dropped: ${reason}`);
    }
  }
  return { dropped, kept };
}

async function dropProblem(
  archive: DayFolder,
  day: Day,
  sha256: Buffer,
): Promise<string | undefined> {
  const text = await archive.readManifest(day);
  if (text === undefined)
    return `${archive.folder} has no export of it; name its folder with --out`;
  const read = readManifest(text);
  if (!read.ok) return `its manifest is ${read.problem}`;
  const manifest = read.document;
  if (!manifest.sha256.equals(sha256)) return "its export is not the one that was retired";
  try {
    return findDifference(manifest, await countDayCsv(manifest, archive.readPublished(day)));
  } catch (fault) {
    return `its export cannot be read: ${toReason(fault)}`;
  }
}

function attempts(count: bigint): string {
  return count === 1n ? "1 attempt is" : `${count} attempts are`;
}
