import { type Family, type ListingFold, mapped, oneValue } from "../../kernel/index.ts";
import type { ConnectionStore } from "../accounts/postgres-connection-store.ts";
import { add } from "../call/metrics.ts";
import type { CallPorts } from "../call/ports.ts";
import type { PollResult } from "./job-state.ts";
import type { JobStore } from "./postgres-job-store.ts";
import type { VideoJob } from "./video-job.ts";

export interface VideoSettings {
  /** Age at which a job is given up. */
  readonly deadlineMs: number;
  /** Shortest time between two polls of one job. */
  readonly pollMinMs: number;
  /** Between two sweeps over the jobs that are due. */
  readonly sweepMs: number;
  /** Longest wait for a provider to say how a job is, or that it is cancelled. */
  readonly answerTimeoutMs: number;
  /** A client waits no longer than that for its provider. */
  readonly clientWaitMs: number;
  /** A provider that gave no answer is not polled for so long: it must not hold up all others. */
  readonly noAnswerPauseMs: number;
  /** A longer file is not passed on. */
  readonly contentBytesMax: number;
}

/** The log for remarkable events: the shape of a pino logger. */
export interface VideoLog {
  warn(detail: object, message: string): void;
  error(detail: object, message: string): void;
}

/** The parts that the recipes of videos work with, besides those of every recipe. */
export interface VideoDeps extends CallPorts {
  readonly jobs: JobStore;
  /** Jobs made with a customer's own provider key are asked after with the same. */
  readonly connections: Pick<ConnectionStore, "find">;
  readonly log: VideoLog;
  readonly videos: VideoSettings;
  readonly videoMetrics: VideoMetrics;
  /** In [0, 1): spreads the polls of providers. */
  readonly random: () => number;
}

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
    add(this.polls, `${providerId}|${poll.kind}`);
  }

  jobEnded(job: VideoJob): void {
    add(this.ended, `${toListingKey(job)}|${job.errorCode ?? job.state}`);
  }

  flagged(flag: "costMissing" | "costOverReserve", job: VideoJob): void {
    add(this[flag], toListingKey(job));
  }
}

function toListingKey({ providerId, modelId }: VideoJob): string {
  return `${providerId}|${modelId}`;
}
