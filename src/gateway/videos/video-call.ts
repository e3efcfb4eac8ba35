import { setTimeout as sleep } from "node:timers/promises";

import type { AcceptedJob, CallKind } from "../call/call-kind.ts";
import {
  assert,
  JOURNAL_RETRY_AFTER_SECONDS,
  createJobId,
  refused,
  type Result,
  defined,
  unavailable,
} from "../../kernel/index.ts";
import {
  isVideoAccept,
  type ParsedVideoRequest,
  type ProviderJob,
  videos,
  type Output,
} from "../../formats/index.ts";
import { askProvider } from "./ask-video-provider.ts";
import { videoBody } from "./serve-video.ts";
import type { VideoDeps } from "./video-deps.ts";
import type { NewVideoJob } from "./video-job.ts";
import { RUNNING_PROGRESS_MAX } from "./job-state.ts";

export function videoCall(deps: VideoDeps): CallKind<ParsedVideoRequest> {
  return { ...videos, accept: (accepted) => acceptVideo(deps, accepted) };
}

/** If the job cannot be stored, asks the provider to cancel it and refuses the request. */
async function acceptVideo(
  deps: VideoDeps,
  accepted: AcceptedJob,
): Promise<Result<{ readonly body: Output }>> {
  const job = createVideoJob(deps, accepted);
  if (await isMadeDurable(deps, job)) {
    const running = { completedAtMs: null, expiresAtMs: null, errorCode: null, costMicroUsd: null };
    return { ok: true, body: videoBody({ ...job, ...running }) };
  }
  const { jobId, requestId, attemptId, deploymentId, providerJobId } = job;
  deps.log.error(
    {
      job_id: jobId,
      request_id: requestId,
      attempt_id: String(attemptId),
      deployment: deploymentId,
      provider_job: providerJobId,
    },
    "a provider accepted a video job that could not be stored: it is cancelled and not charged",
  );
  askProvider(deps, accepted.deployment, job, "delete");
  return refused(notWritten);
}

const notWritten = unavailable(
  `the video could not be accepted: the ledger did not respond; nothing was charged, resend in ${JOURNAL_RETRY_AFTER_SECONDS} seconds`,
);

function createVideoJob(deps: VideoDeps, accepted: AcceptedJob): NewVideoJob {
  const { bridge, reserve, deployment, startedAtMs } = accepted;
  assert(isVideoAccept(bridge), "what accepts a video is the bridge of an accept call");
  const { job, seconds, options } = bridge;
  assert(job?.id !== undefined, "an accepted job has an id");
  const { orgId, keyId, requestId, attemptId, modelId, providerId, reserveMicroUsd } = reserve;
  const { ownKey } = deployment;
  return {
    jobId: createJobId(),
    orgId,
    keyId,
    requestId,
    attemptId,
    modelId,
    providerId,
    // The listing's id, because a copy of the deployment with a customer's key has another id.
    deploymentId: `${providerId}/${modelId}`,
    ...defined({ connectionId: ownKey?.connectionId }),
    providerJobId: job.id,
    reserveMicroUsd,
    seconds,
    options,
    ...toFirstState(job),
    startedAtMs,
    deadlineMs: deps.videos.deadlineMs,
  };
}

/** A job that the provider has finished at once still ends only at its first poll. */
function toFirstState({
  state,
  progress = 0,
}: ProviderJob): Pick<NewVideoJob, "state" | "progress"> {
  const isWaiting = state === "queued" || state === "unknown";
  return isWaiting
    ? { state: "queued", progress: 0 }
    : { state: "in_progress", progress: Math.min(progress, RUNNING_PROGRESS_MAX) };
}

const STORE_TRIES = 3;
const STORE_RETRY_MS = 500;

/** False if the job could not be stored. Retries, because the provider has the job already. */
async function isMadeDurable(deps: VideoDeps, job: NewVideoJob): Promise<boolean> {
  for (let left = STORE_TRIES - 1; ; left--) {
    try {
      return await deps.jobs.accept(job);
    } catch (fault) {
      deps.log.warn({ err: fault, job_id: job.jobId }, "a video job could not be stored yet");
      if (left === 0) return false;
      await sleep(STORE_RETRY_MS);
    }
  }
}
