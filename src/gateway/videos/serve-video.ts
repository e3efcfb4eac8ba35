import {
  parseJobId,
  printJson,
  type Refusal,
  refusal,
  refused,
  type Result,
  usd,
  ZERO_MICRO_USD,
} from "../../kernel/index.ts";
import type { ClientExchange } from "../call/client-exchange.ts";
import type { VideoDeps } from "./video-deps.ts";
import { type NewVideoJob, VIDEO_ERRORS, type VideoJob } from "./video-job.ts";
import type { VideoPoller } from "./video-poller.ts";

export interface VideoReadDeps extends VideoDeps {
  readonly poller: VideoPoller;
}

/**
 * `GET /v1/videos/{id}` returns a video job, after a poll of its provider if the last poll is old.
 * The request is free and counts against no limit.
 */
export async function serveVideo(
  deps: VideoReadDeps,
  exchange: ClientExchange,
  id: string,
): Promise<void> {
  const found = await findVideo(deps, exchange, id);
  if (!found.ok) return exchange.refuse(found.refusal);
  const { job } = found;
  // If the job store fails here, the client gets the job as it was read before.
  const polled = await deps.poller.refresh(job).catch(() => job);
  const { providerId } = polled;
  exchange.answer("application/json", { provider: providerId }, Buffer.from(videoBody(polled)));
}

/**
 * Finds a job of the caller's organization. A job of another organization is answered like an
 * unknown id.
 */
export async function findVideo(
  deps: Pick<VideoDeps, "jobs">,
  exchange: ClientExchange,
  id: string,
): Promise<Result<{ readonly job: VideoJob }>> {
  const jobId = parseJobId(id);
  if (jobId === undefined) return refused(noSuchVideo());
  const job = await deps.jobs.find(exchange.principal.orgId, jobId);
  return job === undefined ? refused(noSuchVideo()) : { ok: true, job };
}

function noSuchVideo(): Refusal {
  return refusal("not_found", "no video has this id; send the id that POST /v1/videos returned");
}

/** The part of a job that the client is shown. */
export type ShownVideo = Omit<NewVideoJob, "deadlineMs"> &
  Pick<VideoJob, "completedAtMs" | "expiresAtMs" | "errorCode" | "costMicroUsd">;

export function videoBody(job: ShownVideo): string {
  const { options, errorCode } = job;
  return printJson({
    id: job.jobId,
    object: "video",
    model: job.modelId,
    status: job.state,
    progress: job.progress,
    created_at: seconds(job.startedAtMs),
    completed_at: job.completedAtMs === null ? null : seconds(job.completedAtMs),
    expires_at: job.expiresAtMs === null ? null : seconds(job.expiresAtMs),
    // A string, as the official clients expect.
    seconds: String(job.seconds),
    size: options["size"] ?? null,
    resolution: options["resolution"] ?? null,
    aspect_ratio: options["aspect_ratio"] ?? null,
    ...(options["generate_audio"] === undefined
      ? {}
      : { generate_audio: options["generate_audio"] }),
    error:
      errorCode === null ? null : { code: errorCode, message: VIDEO_ERRORS[errorCode].message },
    usage: showUsage(job),
    request_id: job.requestId,
  });
}

function showUsage({ state, costMicroUsd, seconds: asked }: ShownVideo): object | null {
  if (state === "completed") return { cost: usd(costMicroUsd ?? ZERO_MICRO_USD), seconds: asked };
  return state === "failed" ? { cost: usd(costMicroUsd ?? ZERO_MICRO_USD) } : null;
}

function seconds(atMs: number): number {
  return Math.floor(atMs / 1000);
}
