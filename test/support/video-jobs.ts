import {
  createJobId,
  createRequestId,
  type AttemptId,
  type JobId,
  type KeyId,
  type ModelId,
  type OrgId,
  type ProviderId,
} from "../../src/kernel/core/ids.ts";
import { microUsd, picoUsd } from "../../src/kernel/core/money.ts";
import { endOfJob } from "../../src/gateway/videos/video-poller.ts";
import {
  type EndedJob,
  type JobUpdate,
  MISSING_INTERVAL_MS,
  type ReportedJob,
} from "../../src/gateway/videos/job-state.ts";
import type { NewVideoJob, TakenJob, VideoJob } from "../../src/gateway/videos/video-job.ts";
import type { ReserveRow } from "../../src/ledger/ledger-store.ts";

export const JOB_DEADLINE_MS = 7_200_000;

export function newVideoJob(hold: ReserveRow, change: Partial<NewVideoJob> = {}): NewVideoJob {
  const { orgId, keyId, requestId, attemptId, modelId, providerId, reserveMicroUsd } = hold;
  return {
    jobId: createJobId(),
    orgId,
    keyId,
    requestId,
    attemptId,
    modelId,
    providerId,
    deploymentId: `${providerId}/${modelId}`,
    providerJobId: `job "${attemptId}"`,
    reserveMicroUsd,
    seconds: 8,
    options: { resolution: "720p", generate_audio: true },
    state: "queued",
    progress: 0,
    startedAtMs: Date.now(),
    deadlineMs: JOB_DEADLINE_MS,
    ...change,
  };
}

export function takenJob(change: Partial<TakenJob> = {}): TakenJob {
  return {
    jobId: "video_1" as JobId,
    orgId: "org_1" as OrgId,
    keyId: "key_1" as KeyId,
    requestId: createRequestId(0),
    attemptId: 1n as AttemptId,
    modelId: "acme/film" as ModelId,
    providerId: "acme-ai" as ProviderId,
    deploymentId: "acme-ai/acme/film",
    providerJobId: "job-1",
    reserveMicroUsd: microUsd(1_000n),
    seconds: 8,
    options: {},
    state: "queued",
    progress: 0,
    startedAtMs: 0,
    createdAtMs: 0,
    completedAtMs: null,
    expiresAtMs: null,
    errorCode: null,
    costMicroUsd: null,
    deadlineAtMs: JOB_DEADLINE_MS,
    polledAtMs: null,
    pollFailures: 0,
    missingPolls: 0,
    takenAtMs: 0,
    polls: 0,
    missingAtMs: null,
    ...change,
  };
}

/** Computes a job after a poll that did not end it. The store's `keep` must agree with this. */
export function keptJob(job: TakenJob, update: JobUpdate): TakenJob {
  const { takenAtMs: nowMs, missingAtMs } = job;
  const counts =
    update.isMissing && (missingAtMs === null || nowMs - missingAtMs >= MISSING_INTERVAL_MS);
  const isKnown = !update.isMissing && !update.isFailure;
  return {
    ...job,
    state: job.state === "queued" ? update.state : job.state,
    progress: Math.max(job.progress, update.progress),
    polledAtMs: nowMs,
    polls: job.polls + 1,
    pollFailures: update.isFailure ? job.pollFailures + 1 : 0,
    missingPolls: isKnown ? 0 : counts ? job.missingPolls + 1 : job.missingPolls,
    missingAtMs: isKnown ? null : counts ? nowMs : missingAtMs,
  };
}

export function reported(
  state: ReportedJob["state"],
  change: Partial<ReportedJob> = {},
): ReportedJob {
  return { state, progress: undefined, costPicoUsd: undefined, expiresAtMs: undefined, ...change };
}

export function ended(change: Partial<EndedJob> = {}): EndedJob {
  return {
    errorCode: null,
    costPicoUsd: undefined,
    expiresAtMs: undefined,
    upstreamStatus: 200,
    ...change,
  };
}

export function jobUpdate(change: Partial<JobUpdate> = {}): JobUpdate {
  return {
    state: "in_progress",
    progress: 10,
    isFailure: false,
    isMissing: false,
    nextPollMs: 10_000,
    ...change,
  };
}

/** Returns the end of a job when its provider reports one a minute after the start. */
export function reportEnd(
  job: Pick<VideoJob, "attemptId" | "startedAtMs">,
  change: Parameters<typeof ended>[0] = {},
): ReturnType<typeof endOfJob> {
  return endOfJob(job as VideoJob, ended(change), job.startedAtMs + 60_000);
}

export function costing(micros: bigint): { readonly costPicoUsd: ReturnType<typeof picoUsd> } {
  return { costPicoUsd: picoUsd(micros * 1_000_000n + 999_999n) };
}
