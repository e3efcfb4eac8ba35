import { formatUsd } from "../../core/index.ts";
import {
  countFoldCsv,
  foldDifference,
  type FoldManifest,
  readFold,
  signFold,
} from "./fold-manifest.ts";
import { FoldTally, sameFold } from "./fold-tally.ts";
import type { FoldSession, Part, PartSurvey } from "./fold.ts";
import { writeCsv } from "./retention-export.ts";
import { RetentionFault } from "./retire-days.ts";
import { dayFiles, type DayArchive } from "./retention.ts";
import type { SigningKey } from "./signing-key.ts";

export interface FoldDeps {
  readonly session: FoldSession;
  readonly archive: DayArchive;
  readonly key: SigningKey;
  /** Progress, one sentence each. */
  readonly progress: (line: string) => void;
}

export interface FoldOptions {
  /** Whole months that stay, beside the current one; at least 1. */
  readonly olderThanMonths: number;
  /** Only this month. */
  readonly part?: Part | undefined;
  /** Says what would be folded; nothing is written. */
  readonly isDry?: boolean;
  readonly drop: boolean;
}

export interface FoldOutcome {
  readonly folded: readonly PartSurvey[];
  /** Months whose single transfers were deleted from the database. */
  readonly dropped: readonly Part[];
  /** Where it stopped, and why; later months were not checked. */
  readonly stopped: { readonly part: Part; readonly reason: string } | undefined;
  /** Months that were to be dropped and stay, and why. */
  readonly kept: readonly { readonly part: Part; readonly reason: string }[];
}

/**
 * Folds every month that is older: exported, read back, signed and proven first, oldest first, up
 * to the first that is not ready. Ended anywhere, it is simply run again.
 */
export async function foldMonths(deps: FoldDeps, options: FoldOptions): Promise<FoldOutcome> {
  const folded: PartSurvey[] = [];
  let stopped: FoldOutcome["stopped"];
  for (const part of await deps.session.partsOlderThan(options.olderThanMonths)) {
    if (options.part !== undefined && options.part !== part) continue;
    const done = await foldMonth(deps, part, options.isDry === true);
    if (done === undefined) continue;
    if (typeof done === "string") {
      stopped = { part, reason: done };
      deps.progress(`${part}: stays: ${done}`);
      break;
    }
    folded.push(done);
  }
  const drops = options.drop && options.isDry !== true ? await dropDetached(deps) : NOTHING_DROPPED;
  return { folded, stopped, ...drops };
}

const NOTHING_DROPPED = { dropped: [], kept: [] };

/** Answers the month as it was folded, why it is not ready, or undefined: nothing is in it. */
async function foldMonth(
  deps: FoldDeps,
  part: Part,
  isDry: boolean,
): Promise<PartSurvey | string | undefined> {
  const { session, archive, progress } = deps;
  const first = await session.survey(part);
  if (first === undefined) return undefined;
  const reason = readinessProblem(first);
  if (reason !== undefined || isDry) return reason ?? first;
  await session.freeze(part);
  // What is late came before the freeze or never: only now is the month sure to stay as it is.
  const survey = await session.survey(part);
  const late = survey === undefined ? undefined : readinessProblem(survey);
  if (survey === undefined || late !== undefined) {
    await session.unfreeze(part);
    return late;
  }
  const { manifest, signature } = await exportMonth(deps, survey);
  progress(`${part}: exported ${survey.sums.transfers} transfers to ${archive.folder}`);
  const file = dayFiles(part).rows;
  const differences = await session.fold({ survey, file, sha256: manifest.sha256, signature });
  if (differences.length > 0) {
    await session.alarm(differences.length);
    throw new RetentionFault(
      `${part}: not folded, the books do not agree: ${differences.join("; ")}. Run tokenmarket ` +
        "ledger audit --full",
    );
  }
  progress(
    `${part}: folded, ${survey.sums.pairs.size} sums for ${survey.sums.transfers} transfers`,
  );
  return survey;
}

function readinessProblem(survey: PartSurvey): string | undefined {
  const { unretiredDays } = survey;
  const [first] = unretiredDays;
  if (!survey.isOver) return "the books have not gone on to a later month yet";
  if (first !== undefined) {
    return `attempts of ${unretiredDays.length} days are not retired, the first is ${first}; run tokenmarket ledger retire`;
  }
  if (survey.hasEarlierAttempts) {
    return "an attempt in the journal was opened before its last transfer; run tokenmarket ledger retire when that one may go";
  }
  if (!survey.isClosed) {
    return "the newest closed day does not hold all of it; run tokenmarket ledger audit --close-day";
  }
  return undefined;
}

/** Writes the month's two files and proves them from the disk. */
async function exportMonth(
  { session, archive, key }: FoldDeps,
  survey: PartSurvey,
): Promise<{ readonly manifest: FoldManifest; readonly signature: Buffer }> {
  const { part, fromPosition, toPosition, sums } = survey;
  const tally = new FoldTally(session.columns, survey);
  const csv = writeCsv(session.columns, session.pages(part), tally);
  await archive.stage(part, csv.text);
  const { sha256, bytes, sums: written } = csv.counted();
  // Added up twice: by the database over the table, and here over every row that was written.
  if (!sameFold(written, sums)) throw new RetentionFault(`${part}: the export misses transfers`);
  const { schema } = session;
  const manifest = { part, fromPosition, toPosition, schema, sums, sha256, bytes };
  const difference = foldDifference(manifest, await countFoldCsv(survey, archive.readStaged(part)));
  if (difference !== undefined) throw new RetentionFault(`${part}: read back: ${difference}`);
  await refuseForeignFile(archive, manifest);
  const { text, signature } = signFold(manifest, key);
  await archive.publish(part, text);
  return { manifest, signature };
}

/** An interrupted run may have left the same month here; another database's is not written over. */
async function refuseForeignFile(archive: DayArchive, manifest: FoldManifest): Promise<void> {
  const { part } = manifest;
  const text = await archive.readManifest(part);
  const found = text === undefined ? undefined : readFold(text);
  if (text === undefined) return;
  if (typeof found === "object" && found.sha256.equals(manifest.sha256)) return;
  throw new RetentionFault(
    `${archive.folder} has another export of ${part}; choose another folder with --out, or move it`,
  );
}

/** Deletes what was folded, once more proving that the files have it. */
async function dropDetached(deps: FoldDeps): Promise<Pick<FoldOutcome, "dropped" | "kept">> {
  const dropped: Part[] = [];
  const kept: { part: Part; reason: string }[] = [];
  for (const { part, sha256 } of await deps.session.detachedParts()) {
    const reason = await dropProblem(deps.archive, part, sha256);
    if (reason === undefined) {
      await deps.session.drop(part);
      dropped.push(part);
      deps.progress(`${part}: dropped from the database`);
    } else {
      kept.push({ part, reason });
      deps.progress(`${part}: not dropped: ${reason}`);
    }
  }
  return { dropped, kept };
}

async function dropProblem(
  archive: DayArchive,
  part: Part,
  sha256: Buffer,
): Promise<string | undefined> {
  const text = await archive.readManifest(part);
  if (text === undefined)
    return `${archive.folder} has no export of it; name its folder with --out`;
  const manifest = readFold(text);
  if (typeof manifest !== "object") return `its manifest is ${manifest ?? "of something else"}`;
  if (!manifest.sha256.equals(sha256)) return "its export is not the one that was folded";
  try {
    return foldDifference(manifest, await countFoldCsv(manifest, archive.readPublished(part)));
  } catch (fault) {
    return `its export cannot be read: ${fault instanceof Error ? fault.message : String(fault)}`;
  }
}

/** What a month is folded to, in a sentence. */
export function foldedText({ part, sums }: PartSurvey): string {
  return `${part}: ${sums.transfers} transfers of $${formatUsd(sums.amountMicroUsd)}, ${sums.pairs.size} sums`;
}
