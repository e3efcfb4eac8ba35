import { setTimeout as sleep } from "node:timers/promises";

import { assert } from "../core/assert.ts";
import { journalRetryAfterSeconds } from "../core/constants.ts";
import { newJobId } from "../core/ids.ts";
import { refusal, type Refusal } from "../core/refusals.ts";
import type { NewVideoJob } from "./video-job.ts";
import { quoteWorstCase } from "../pricing/quote.ts";
import type { Output } from "../wire/answer/answer-bridge.ts";
import { isVideoAccept } from "../modality/videos/index.ts";
import type { ProviderJob, VideoRequest, VideoWire } from "../modality/videos/video-wire.ts";
import { cancelJob } from "./ask-video-provider.ts";
import type { AcceptedJob, CallKind } from "../call/call-kind.ts";
import { videoBody } from "./show-video.ts";
import type { VideoDeps } from "./video-deps.ts";

/** Videos: `POST /v1/videos` is answered as soon as a provider has accepted the job. */
export function videoCall(wire: VideoWire, deps: VideoDeps): CallKind<VideoRequest> {
  return {
    modality: "video",
    read: (exchange) => wire.readVideoRequest(exchange.body, exchange.header("content-type")),
    whyUnservable: (request, deployment) => wire.whyUnservable(request, deployment),
    encode: (request, deployment) => wire.encode(request, deployment),
    openAnswer: (request, deployment) => wire.openAccept(request, deployment),
    quote: (request, deployment) => {
      const { prices, maxOutputTokens } = deployment;
      assert(prices !== null, "a plan has no unpriced deployment");
      assert(maxOutputTokens !== undefined, "a video listing has a ceiling per second");
      const output = wire.secondsOf(request, deployment) * maxOutputTokens;
      return quoteWorstCase(prices, { input: 0, output });
    },
    timeouts: ({ videoAccept }) => videoAccept,
    accept: (accepted) => acceptVideo(deps, accepted),
  };
}

/** Makes the provider's job ours, durably, and answers the client; else the provider may stop. */
async function acceptVideo(deps: VideoDeps, accepted: AcceptedJob): Promise<Output | Refusal> {
  const job = newVideoJob(deps, accepted);
  if (await isMadeDurable(deps, job)) {
    const running = { completedAtMs: null, expiresAtMs: null, errorCode: null, costMicroUsd: null };
    return videoBody({ ...job, ...running });
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
  cancelJob(deps, accepted.deployment, job);
  return refusal(
    "gateway_error",
    `the video could not be accepted: the ledger did not respond; nothing was charged, resend in ${journalRetryAfterSeconds} seconds`,
    {
      status: 503,
      origin: "gateway_infrastructure",
      retryAfterSeconds: journalRetryAfterSeconds,
    },
  );
}

function newVideoJob(deps: VideoDeps, accepted: AcceptedJob): NewVideoJob {
  const { bridge, reserve, deployment, startedAtMs } = accepted;
  assert(isVideoAccept(bridge), "what accepts a video is the bridge of an accept call");
  const { job, seconds, options } = bridge;
  assert(job?.id !== undefined, "an accepted job has an id");
  const { orgId, keyId, requestId, attemptId, modelId, providerId, reserveMicroUsd } = reserve;
  const { ownKey } = deployment;
  return {
    jobId: newJobId(),
    orgId,
    keyId,
    requestId,
    attemptId,
    modelId,
    providerId,
    // A copy with a customer's key has another id; its listing is found by this one.
    deploymentId: `${providerId}/${modelId}`,
    ...(ownKey === undefined ? {} : { connectionId: ownKey.connectionId }),
    providerJobId: job.id,
    reserveMicroUsd,
    seconds,
    options,
    ...stateOf(job),
    startedAtMs,
    deadlineMs: deps.videos.deadlineMs,
  };
}

/** A job that is done as soon as it is accepted ends with the first poll of it. */
function stateOf({ state, progress = 0 }: ProviderJob): Pick<NewVideoJob, "state" | "progress"> {
  const isWaiting = state === "queued" || state === "unknown";
  return isWaiting
    ? { state: "queued", progress: 0 }
    : { state: "in_progress", progress: Math.min(progress, RUNNING_PROGRESS_MAX) };
}

const RUNNING_PROGRESS_MAX = 99;
const STORE_TRIES = 3;
const STORE_RETRY_MS = 500;

/** The provider works on it by now: a store that stumbles is asked again. */
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
