import type { ClientExchange } from "../call/client-exchange.ts";
import { parseJobId, refusal, type Refusal, refused, type Result } from "../../kernel/index.ts";
import { videoBody } from "./show-video.ts";
import type { VideoDeps } from "./video-deps.ts";
import type { VideoJob } from "./video-job.ts";
import type { VideoPoller } from "./video-poller.ts";

/** What the routes that read videos work with. */
export interface VideoReadDeps extends VideoDeps {
  readonly poller: VideoPoller;
}

/**
 * `GET /v1/videos/{id}`: the job's record, after a poll of the provider where the last one was long
 * ago. Free, and counts nothing.
 */
export async function serveVideo(
  deps: VideoReadDeps,
  exchange: ClientExchange,
  id: string,
): Promise<void> {
  const found = await findVideo(deps, exchange, id);
  if (!found.ok) return exchange.refuse(found.refusal);
  const { job } = found;
  // A store that fails from here on takes nothing away from what was read.
  const polled = await deps.poller.refresh(job).catch(() => job);
  const { providerId } = polled;
  exchange.answer("application/json", { provider: providerId }, Buffer.from(videoBody(polled)));
}

/** The job of the caller's organization; another's reads exactly like one that never was. */
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
