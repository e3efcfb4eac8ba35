import type { ConnectionStore } from "../accounts/postgres-connection-store.ts";
import type { CallPorts } from "../call/ports.ts";
import type { JobStore } from "./postgres-job-store.ts";
import type { VideoMetrics } from "./video-metrics.ts";

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

/** What is worth a line: the shape of a pino logger. */
export interface VideoLog {
  warn(detail: object, message: string): void;
  error(detail: object, message: string): void;
}

/** What the recipes of videos work with, besides what every recipe does. */
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
