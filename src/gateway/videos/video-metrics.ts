import { add } from "../call/metrics.ts";
import { type Family, type ListingFold, mapped, oneValue } from "../../kernel/index.ts";
import type { PollResult } from "./job-state.ts";
import type { VideoJob } from "./video-job.ts";

/** Counters of the jobs of providers; the internal listener turns them into text. */
export class VideoMetrics {
  /** `provider|result` (`reported`, `missing` or `failure`) to polls. */
  readonly polls: Map<string, number> = new Map();
  /** `provider|model|completed or the error code` to ended jobs. */
  readonly ended: Map<string, number> = new Map();
  /** `provider|model` to videos without a reported cost, which were therefore not billed. */
  readonly costMissing: Map<string, number> = new Map();
  /** `provider|model` to videos that cost more than was held: the platform bears the rest. */
  readonly costOverReserve: Map<string, number> = new Map();
  /** Sweeps that could not read the jobs. */
  failedSweeps = 0;

  families(fold: ListingFold): readonly Family[] {
    return [
      mapped("tm_video_looks_total", this.polls),
      ...fold.counters({
        tm_video_jobs_ended_total: this.ended,
        tm_video_cost_missing_total: this.costMissing,
        tm_video_cost_over_reserve_total: this.costOverReserve,
      }),
      oneValue("tm_video_sweeps_failed_total", () => this.failedSweeps),
    ];
  }

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
