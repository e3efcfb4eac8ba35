import { isWithinExcess, type PicoUsd, unreachable, ZERO_PICO_USD } from "../../kernel/index.ts";
import type { AttemptOutcome, CloseRow } from "../../ledger/index.ts";
import type { EndedJob } from "./job-state.ts";
import type { JobEnd } from "./job-store.ts";
import type { VideoErrorCode, VideoJob } from "./video-job.ts";

/** What the journal can write down; a job may have waited for weeks until it was polled. */
const DURATION_MS_MAX = 2_147_483_647;
/** The year 10,000: a provider that says more speaks of other units. */
const EXPIRES_AT_MS_MAX = 253_402_300_800_000;

/**
 * The end of a job and of its attempt. A completed job costs what the provider reports, by the
 * ledger's own rule (rounded down, never above the reserve), and nothing when it reports nothing;
 * a failed job costs nothing, whatever is reported. `nowMs` is the clock of `startedAtMs`.
 */
export function endOfJob(job: VideoJob, ended: EndedJob, nowMs: number): JobEnd {
  const { errorCode, costPicoUsd, expiresAtMs } = ended;
  return {
    state: errorCode === null ? "completed" : "failed",
    errorCode,
    expiresAtMs: believableInstant(expiresAtMs),
    ...(costPicoUsd === undefined ? {} : { reportedCostPicoUsd: costPicoUsd }),
    close: closeOf(job, ended, nowMs),
  };
}

function closeOf(job: VideoJob, ended: EndedJob, nowMs: number): CloseRow {
  const { errorCode, upstreamStatus, served } = ended;
  const owed = owedFor(job, ended);
  const flag = owed === "impossible" ? "usage_impossible" : undefined;
  const costPicoUsd = owed === "impossible" ? undefined : owed;
  return {
    attemptId: job.attemptId,
    outcome: outcomeOf(errorCode),
    usage: null,
    basis: costPicoUsd === undefined ? "none" : "reported",
    costPicoUsd: costPicoUsd ?? ZERO_PICO_USD,
    upstreamStatus,
    errorClass: flag ?? errorClassOf(errorCode),
    startedAtMs: job.startedAtMs,
    firstByteMs: null,
    durationMs: Math.max(0, Math.min(DURATION_MS_MAX, nowMs - job.startedAtMs)),
    ...(served === undefined ? {} : { served }),
    final: true,
  };
}

/** Undefined: nothing was observed that could be owed. */
function owedFor(
  job: VideoJob,
  { errorCode, costPicoUsd }: EndedJob,
): PicoUsd | "impossible" | undefined {
  if (errorCode !== null) return undefined;
  // What a provider reports for a customer's own key is between the two of them.
  if (job.connectionId !== undefined) return ZERO_PICO_USD;
  if (costPicoUsd === undefined) return undefined;
  return isWithinExcess(costPicoUsd, job.reserveMicroUsd) ? costPicoUsd : "impossible";
}

function outcomeOf(errorCode: VideoErrorCode | null): AttemptOutcome {
  switch (errorCode) {
    case null:
      return "completed";
    case "content_policy_violation":
      return "refused";
    case "video_timeout":
      return "timeout";
    case "video_generation_failed":
    case "video_cancelled":
    case "video_expired":
      return "failed";
    default:
      return unreachable(errorCode);
  }
}

function errorClassOf(errorCode: VideoErrorCode | null): CloseRow["errorClass"] {
  if (errorCode === null) return null;
  return errorCode === "content_policy_violation" ? "content_policy" : "upstream_error";
}

function believableInstant(atMs: number | undefined): number | null {
  return atMs !== undefined && atMs > 0 && atMs < EXPIRES_AT_MS_MAX ? Math.floor(atMs) : null;
}
