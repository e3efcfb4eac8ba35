import {
  parseJobId,
  printJson,
  type Refusal,
  refusal,
  usd,
  ZERO_MICRO_USD,
} from "../../kernel/index.ts";
import type { ClientExchange } from "../call/client-exchange.ts";
import type { OrgGate } from "../records/org-gate.ts";
import type { VideoDeps } from "./video-deps.ts";
import { type NewVideoJob, VIDEO_ERRORS, type VideoJob } from "./video-job.ts";
import type { VideoPoller } from "./video-poller.ts";

export interface VideoReadDeps extends VideoDeps {
  readonly poller: VideoPoller;
}

/** Bounds the requests of each organization: those that look up a job, and those that get a file. */
export interface VideoGates {
  readonly reads: OrgGate;
  readonly files: OrgGate;
}

/**
 * `GET /v1/videos/{id}` returns a video job, after a poll of its provider if the last poll is old.
 * The request is free and counts against no limit.
 */
export async function serveVideo(
  deps: VideoReadDeps & Pick<VideoGates, "reads">,
  exchange: ClientExchange,
  id: string,
): Promise<void> {
  const job = await findVideo(deps, exchange, id);
  if (job === undefined) return;
  // If the job store fails here, the client gets the job as it was read before.
  const polled = await deps.poller.refresh(job).catch(() => job);
  const { providerId } = polled;
  exchange.answer("application/json", { provider: providerId }, Buffer.from(videoBody(polled)));
}

/**
 * Finds a job of the caller's organization; another organization's job counts as an unknown id. The
 * request may wait here for its turn, which ends before the provider is polled.
 */
export async function findVideo(
  { jobs, reads }: Pick<VideoDeps, "jobs"> & Pick<VideoGates, "reads">,
  exchange: ClientExchange,
  id: string,
): Promise<VideoJob | undefined> {
  const jobId = parseJobId(id);
  if (jobId === undefined) {
    exchange.refuse(noSuchVideo());
    return undefined;
  }
  return await reads.run(exchange, async () => {
    const job = await jobs.find(exchange.principal.orgId, jobId);
    if (job === undefined) exchange.refuse(noSuchVideo());
    return job;
  });
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
