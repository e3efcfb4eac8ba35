import type { JobId, OrgId, PicoUsd } from "../core/index.ts";
import type { CloseRow } from "../ledger/index.ts";
import type { NewVideoJob, TakenJob, VideoErrorCode, VideoJob, VideoState } from "./video-job.ts";

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

/** Jobs of providers; times of leases and deadlines are the store's own. */
export interface JobStore {
  /**
   * Makes an accepted job durable together with its attempt's provider job id, before the client is
   * answered. False: the attempt was closed meanwhile (recovery), or is about to be because a peer
   * has declared its instance dead; there is no job. The same job once more changes nothing and
   * answers the same, so a lost answer can be asked for again.
   */
  accept(job: NewVideoJob): Promise<boolean>;
  /** Undefined: no such job of this organization. */
  find(orgId: OrgId, jobId: JobId): Promise<VideoJob | undefined>;
  /**
   * Takes the one poll of a running job of this organization, unless the last one was less than
   * `pollMinMs` ago or another process is at it. Undefined: read what is stored. A poll has to
   * end within `leaseMs`: from then on others may take the poll.
   */
  takeOne(
    orgId: OrgId,
    jobId: JobId,
    wanted: { readonly pollMinMs: number; readonly leaseMs: number },
  ): Promise<TakenJob | undefined>;
  /** Takes the polls of up to `limit` running jobs that are due, of anybody; no two processes one. */
  takeDue(wanted: {
    readonly limit: number;
    readonly leaseMs: number;
  }): Promise<readonly TakenJob[]>;
  /** Stores a poll of a job that continues, and releases its lease. Of an ended job: nothing. */
  keep(jobId: JobId, update: JobUpdate): Promise<void>;
  /**
   * Ends the job and closes its attempt, in one step, once: a second call changes nothing.
   * Answers the job as it is then.
   */
  finish(jobId: JobId, end: JobEnd): Promise<VideoJob>;
}
