import { add } from "../call/index.ts";
import type { PollResult } from "./job-state.ts";
import type { VideoJob } from "./video-job.ts";

/** Counters of the jobs of providers; the internal listener turns them into text. */
export class VideoMetrics {
  /** `provider|result` (`told`, `missing` or a failure) to polls. */
  readonly polls: Map<string, number> = new Map();
  /** `provider|model|completed or the error code` to ended jobs. */
  readonly ended: Map<string, number> = new Map();
  /** `provider|model` to videos without a reported cost, which were therefore not billed. */
  readonly costMissing: Map<string, number> = new Map();
  /** `provider|model` to videos that cost more than was held: the platform bears the rest. */
  readonly costOverReserve: Map<string, number> = new Map();
  /** Sweeps that could not read the jobs. */
  failedSweeps = 0;

  polled(providerId: string, poll: PollResult): void {
    add(this.polls, `${providerId}|${poll.kind}`);
  }

  jobEnded(job: VideoJob): void {
    add(this.ended, `${listingOf(job)}|${job.errorCode ?? job.state}`);
  }

  flagged(flag: "costMissing" | "costOverReserve", job: VideoJob): void {
    add(this[flag], listingOf(job));
  }
}

function listingOf({ providerId, modelId }: VideoJob): string {
  return `${providerId}|${modelId}`;
}
