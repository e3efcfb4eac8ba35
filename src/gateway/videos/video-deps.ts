import {
  type Family,
  increment,
  type ListingFold,
  type Logger,
  mapped,
  oneValue,
} from "../../kernel/index.ts";
import type { ConnectionStore } from "../accounts/postgres-connection-store.ts";
import { toListingKey } from "../call/metrics.ts";
import type { CallPorts } from "../call/ports.ts";
import type { PollResult } from "./job-state.ts";
import type { JobStore } from "./postgres-job-store.ts";
import type { VideoJob } from "./video-job.ts";

export interface VideoSettings {
  /** The age in milliseconds at which a job is abandoned. */
  readonly deadlineMs: number;
  readonly pollMinMs: number;
  readonly sweepMs: number;
  /** The longest wait in milliseconds for a provider's answer to a poll or a cancellation. */
  readonly answerTimeoutMs: number;
  /** How long a client's request waits for a poll; the poll then continues without the request. */
  readonly clientWaitMs: number;
  /**
   * How long polls with a deployment and key pause after a poll without an answer, because more
   * such polls would delay the others.
   */
  readonly noAnswerPauseMs: number;
  readonly contentBytesMax: number;
}

export interface VideoDeps extends CallPorts {
  readonly jobs: JobStore;
  readonly connections: Pick<ConnectionStore, "find">;
  readonly log: Pick<Logger, "warn" | "error">;
  readonly videos: VideoSettings;
  readonly videoMetrics: VideoMetrics;
  /** Returns numbers in [0, 1) that spread the polls. */
  readonly random: () => number;
}

export class VideoMetrics {
  /** Number of polls by `provider|result`; the result is `reported`, `missing` or `failure`. */
  readonly polls: Map<string, number> = new Map();
  /** Ended jobs by `provider|model|result`; the result is `completed` or the error code. */
  readonly ended: Map<string, number> = new Map();
  /** Number of videos without a reported cost, and so not billed, by `provider|model`. */
  readonly costMissing: Map<string, number> = new Map();
  /** Videos that cost more than their reserve, by `provider|model`; the platform pays the rest. */
  readonly costOverReserve: Map<string, number> = new Map();
  failedSweeps = 0;

  families(fold: ListingFold): readonly Family[] {
    return [
      mapped("tm_video_polls_total", this.polls),
      ...fold.counters({
        tm_video_jobs_ended_total: this.ended,
        tm_video_cost_missing_total: this.costMissing,
        tm_video_cost_over_reserve_total: this.costOverReserve,
      }),
      oneValue("tm_video_sweeps_failed_total", () => this.failedSweeps),
    ];
  }

  polled(providerId: string, poll: PollResult): void {
    increment(this.polls, `${providerId}|${poll.kind}`);
  }

  jobEnded(job: VideoJob): void {
    increment(this.ended, `${toListingKey(job)}|${job.errorCode ?? job.state}`);
  }

  flagged(flag: "costMissing" | "costOverReserve", job: VideoJob): void {
    increment(this[flag], toListingKey(job));
  }
}
