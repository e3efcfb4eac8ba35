import type { ProviderJob } from "../../formats/index.ts";
import {
  assert,
  type PicoUsd,
  RETRY_AFTER_SECONDS_MAX,
  type ServedModel,
  unreachable,
} from "../../kernel/index.ts";
import type { CloseRow } from "../../ledger/index.ts";
import type { TakenJob, VideoErrorCode, VideoState } from "./video-job.ts";

export interface ReportedJob extends Omit<ProviderJob, "id" | "model"> {
  readonly served?: ServedModel | undefined;
}

export type PollResult =
  | { readonly kind: "reported"; readonly job: ReportedJob }
  | { readonly kind: "missing" }
  /**
   * No usable answer in time, or the job cannot be polled. `isPaused`: polls with this deployment
   * and key are paused, and the provider was not asked.
   */
  | { readonly kind: "failure"; readonly retryAfterMs?: number; readonly isPaused?: true };

export interface EndedJob {
  /** Null if the job completed. */
  readonly errorCode: VideoErrorCode | null;
  readonly costPicoUsd: PicoUsd | undefined;
  readonly expiresAtMs: number | undefined;
  readonly served?: ServedModel | undefined;
  /** 200 for an end that was reported, 404 for a job that was missing; null at the deadline. */
  readonly upstreamStatus: number | null;
}

export type JobVerdict =
  | { readonly kind: "continues"; readonly update: JobUpdate }
  | { readonly kind: "ended"; readonly ended: EndedJob };

/** Milliseconds before each of the first polls; later polls use `SPACING_MS_MAX`. */
const SPACINGS_MS = [5_000, 10_000, 15_000, 20_000, 30_000] as const;
const SPACING_MS_MAX = 30_000;
const JITTER = 0.2;
const FAILURE_SPACING_MS = 10_000;
const FAILURE_SPACING_MS_MAX = 60_000;
const MISSING_MAX = 3;
/** A running job shows at most this progress, in percent, even if its provider reports 100. */
export const RUNNING_PROGRESS_MAX = 99;

export const firstPollMs: number = SPACINGS_MS[0];
/**
 * A poll is "missing" if the provider does not know the job. Missing polls less than this many
 * milliseconds apart count as one; after `MISSING_MAX` counted ones the job has expired.
 */
export const MISSING_INTERVAL_MS = 60_000;

/**
 * Returns the job's end, or its update and the time of the next poll. An end that the provider
 * reports is accepted even after the deadline. Without such an end, the job ends at the deadline,
 * or after `MISSING_MAX` counted missing polls. `random` in [0, 1) spreads the polls.
 */
export function evaluatePoll(job: TakenJob, poll: PollResult, random: number): JobVerdict {
  assert(job.completedAtMs === null, "only a running job is polled");
  const isOverdue = job.takenAtMs >= job.deadlineAtMs;
  const ended = findEnd(job, poll) ?? (isOverdue ? TIMED_OUT : undefined);
  if (ended !== undefined) return { kind: "ended", ended };
  return { kind: "continues", update: buildUpdate(job, poll, random) };
}

const NO_FILE = { costPicoUsd: undefined, expiresAtMs: undefined };
const TIMED_OUT: EndedJob = { errorCode: "video_timeout", ...NO_FILE, upstreamStatus: null };
const FORGOTTEN: EndedJob = { errorCode: "video_expired", ...NO_FILE, upstreamStatus: 404 };

function findEnd(job: TakenJob, poll: PollResult): EndedJob | undefined {
  if (poll.kind === "reported") return reportedEnd(poll.job);
  return poll.kind === "missing" && missingPolls(job) >= MISSING_MAX ? FORGOTTEN : undefined;
}

/** The error code by reported state: null if the job succeeded, undefined if it has not ended. */
const ENDS: Readonly<Record<ReportedJob["state"], VideoErrorCode | null | undefined>> = {
  completed: null,
  failed: "video_generation_failed",
  refused: "content_policy_violation",
  cancelled: "video_cancelled",
  expired: "video_expired",
  queued: undefined,
  in_progress: undefined,
  unknown: undefined,
};

function reportedEnd(reported: ReportedJob): EndedJob | undefined {
  const { costPicoUsd, served } = reported;
  const errorCode = ENDS[reported.state];
  if (errorCode === undefined) return undefined;
  const expiresAtMs = errorCode === null ? reported.expiresAtMs : undefined;
  return { errorCode, costPicoUsd, expiresAtMs, served, upstreamStatus: 200 };
}

/** Includes this poll if `MISSING_INTERVAL_MS` have passed since the last counted one. */
function missingPolls(job: TakenJob): number {
  const { missingPolls: before, missingAtMs, takenAtMs } = job;
  const counts = missingAtMs === null || takenAtMs - missingAtMs >= MISSING_INTERVAL_MS;
  return counts ? before + 1 : before;
}

function buildUpdate(job: TakenJob, poll: PollResult, random: number): JobUpdate {
  const reported = poll.kind === "reported" ? poll.job : undefined;
  const hasStarted = job.state === "in_progress" || reported?.state === "in_progress";
  return {
    state: hasStarted ? "in_progress" : "queued",
    progress: Math.max(job.progress, runningProgress(reported?.progress)),
    isFailure: poll.kind === "failure",
    isMissing: poll.kind === "missing",
    nextPollMs: nextPollMs(job, poll, random),
  };
}

function runningProgress(reported: number | undefined): number {
  if (reported === undefined || Number.isNaN(reported)) return 0;
  return Math.max(0, Math.min(RUNNING_PROGRESS_MAX, Math.floor(reported)));
}

function nextPollMs(job: TakenJob, poll: PollResult, random: number): number {
  const usualMs = SPACINGS_MS[job.polls + 1] ?? SPACING_MS_MAX;
  switch (poll.kind) {
    case "reported":
      return Math.round(usualMs * (1 - JITTER + 2 * JITTER * random));
    case "missing":
      return waitAtLeast(MISSING_INTERVAL_MS, random);
    case "failure": {
      const askedMs = Math.min(poll.retryAfterMs ?? 0, RETRY_AFTER_SECONDS_MAX * 1000);
      const growingMs = Math.min(
        FAILURE_SPACING_MS * 2 ** job.pollFailures,
        FAILURE_SPACING_MS_MAX,
      );
      return waitAtLeast(Math.max(usualMs, growingMs, askedMs), random);
    }
    default:
      return unreachable(poll);
  }
}

/** Jitter only lengthens this wait: an earlier poll would be refused, or not count as missing. */
function waitAtLeast(ms: number, random: number): number {
  return Math.round(ms * (1 + JITTER * random));
}

export interface JobUpdate {
  readonly state: Exclude<VideoState, "completed" | "failed">;
  /** The store keeps the larger of this and the stored progress. */
  readonly progress: number;
  readonly isFailure: boolean;
  readonly isMissing: boolean;
  readonly nextPollMs: number;
}

export interface JobEnd {
  readonly state: "completed" | "failed";
  readonly errorCode: VideoErrorCode | null;
  readonly expiresAtMs: number | null;
  /** The cost that the provider reported, billed or not; needed to settle with the provider. */
  readonly reportedCostPicoUsd?: PicoUsd;
  /** The closing row of the attempt; its cost is zero for a failed job. */
  readonly close: CloseRow;
}
