import type { PicoUsd } from "../../kernel/index.ts";
import type { CloseRow } from "../../ledger/index.ts";
import type { VideoErrorCode, VideoState } from "./video-job.ts";

/** What one poll of the provider reported, when the job has not ended. */
export interface JobUpdate {
  readonly state: Exclude<VideoState, "completed" | "failed">;
  /** Never decreases: the store keeps the larger one. */
  readonly progress: number;
  /** The poll had no result: time-out, 5xx, 429. */
  readonly isFailure: boolean;
  /** The provider did not know the job. */
  readonly isMissing: boolean;
  /** Until the next poll. */
  readonly nextPollMs: number;
}

/** How a job ended. */
export interface JobEnd {
  readonly state: "completed" | "failed";
  readonly errorCode: VideoErrorCode | null;
  readonly expiresAtMs: number | null;
  /**
   * What the provider says that it cost, whether or not it is billed; kept for the books with the
   * provider.
   */
  readonly reportedCostPicoUsd?: PicoUsd;
  /** Closes the attempt: what is owed. Of a failed job nothing. */
  readonly close: CloseRow;
}
