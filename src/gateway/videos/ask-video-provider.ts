import { type Deployment, ownKeyDeployment } from "../../catalog/index.ts";
import { readServedModel } from "../../kernel/index.ts";
import { fetchAnswer, type FetchedAnswer, type RunningFetch } from "../../upstream/index.ts";
import { jobPath, readJob, readWaits } from "../../formats/index.ts";
import type { PollResult } from "./job-state.ts";
import type { VideoDeps } from "./video-deps.ts";
import type { VideoJob } from "./video-job.ts";

/**
 * Finds the deployment of a job, with the provider key of the job. Undefined if the job cannot be
 * polled: the listing was removed, or the customer's key is disabled or cannot be opened.
 */
export async function findDeployment(
  deps: VideoDeps,
  { deploymentId, connectionId, orgId }: VideoJob,
): Promise<Deployment | undefined> {
  const listed = deps.catalog.current.findDeployment(deploymentId);
  if (listed === undefined || connectionId === undefined) return listed;
  if (!deps.opensOwnKeys) return undefined;
  const connection = await deps.connections.find(connectionId, orgId);
  if (connection === undefined || connection.disabledAtMs !== null) return undefined;
  return ownKeyDeployment(listed, { connectionId, orgId, sealedKey: connection.sealedKey });
}

/** Asks for a job's state or, with `delete`, for a cancellation, which the provider may ignore. */
export function askProvider(
  { clock, deadlines, upstream, videos }: VideoDeps,
  deployment: Deployment,
  { providerJobId }: Pick<VideoJob, "providerJobId">,
  method: "get" | "delete" = "get",
): RunningFetch<FetchedAnswer> {
  const path = jobPath(deployment, providerJobId);
  const question = { path, headers: { accept: "application/json" } };
  return fetchAnswer({
    clock,
    deadlines,
    totalMs: videos.answerTimeoutMs,
    bytesMax: RECORD_BYTES_MAX,
    send: (handler) => upstream[method](deployment, question, handler),
  });
}

/** Interprets the provider's answer; `answer` is undefined if there was none in time. */
export function toPollResult(
  answer: FetchedAnswer | undefined,
  deployment: Deployment,
  nowMs: number,
): PollResult {
  if (answer === undefined) return { kind: "failure" };
  const { status, headers, body } = answer;
  if (status === 404 || status === 410) return { kind: "missing" };
  if (status >= 300) {
    const { waitSeconds, resetSeconds } = readWaits(headers, nowMs);
    const seconds = waitSeconds ?? (status === 429 ? resetSeconds : undefined);
    return seconds === undefined
      ? { kind: "failure" }
      : { kind: "failure", retryAfterMs: seconds * 1000 };
  }
  const job = readJob(body);
  if (job === undefined) return { kind: "failure" };
  return { kind: "reported", job: { ...job, served: readServedModel(deployment, job.model) } };
}

/** The most bytes of a provider's answer about a job that are read. */
const RECORD_BYTES_MAX = 1_048_576;
