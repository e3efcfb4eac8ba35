import type {
  AttemptId,
  JobId,
  KeyId,
  MicroUsd,
  ModelId,
  OrgId,
  ProviderId,
  RequestId,
} from "../../kernel/index.ts";

/** `completed` and `failed` are final. */
export type VideoState = "queued" | "in_progress" | "completed" | "failed";

/** For each error: the attempt's outcome, and the message that replaces the provider's message. */
export const VIDEO_ERRORS = {
  video_generation_failed: {
    outcome: "failed",
    message:
      "the provider could not make this video; nothing was charged, try again or change the prompt",
  },
  content_policy_violation: {
    outcome: "refused",
    message:
      "the provider refused the content of this video; nothing was charged, change the prompt",
  },
  video_cancelled: {
    outcome: "failed",
    message: "the provider cancelled this video; nothing was charged, send it again",
  },
  video_expired: {
    outcome: "failed",
    message: "the provider no longer has this video; nothing was charged, send it again",
  },
  video_timeout: {
    outcome: "timeout",
    message: "this video was not ready in time; nothing was charged, send it again",
  },
} as const;
export type VideoErrorCode = keyof typeof VIDEO_ERRORS;

/** The options of the request, returned with the job: `resolution`, `aspect_ratio`, `size`, … */
export type VideoOptions = Readonly<Record<string, string | boolean>>;

/** A job that a provider has accepted. Its attempt is open in the journal until the job ends. */
export interface NewVideoJob {
  readonly jobId: JobId;
  readonly orgId: OrgId;
  readonly keyId: KeyId;
  readonly requestId: RequestId;
  readonly attemptId: AttemptId;
  readonly modelId: ModelId;
  readonly providerId: ProviderId;
  /** `<provider id>/<model id>` of the deployment to poll. */
  readonly deploymentId: string;
  /** Set if the job was made with a customer's own provider key; polls use the same key. */
  readonly connectionId?: string;
  readonly providerJobId: string;
  readonly reserveMicroUsd: MicroUsd;
  readonly seconds: number;
  readonly options: VideoOptions;
  readonly state: VideoState;
  /** Percent, 0 to 100. */
  readonly progress: number;
  /** Wall-clock time at which the request was sent to the provider. */
  readonly startedAtMs: number;
  /** The job is abandoned if it has not ended this long after the provider accepted it. */
  readonly deadlineMs: number;
}

export interface VideoJob extends Omit<NewVideoJob, "deadlineMs"> {
  readonly createdAtMs: number;
  readonly completedAtMs: number | null;
  /** When the provider deletes the file; null if that is not known. */
  readonly expiresAtMs: number | null;
  readonly errorCode: VideoErrorCode | null;
  /** The debit; null until the job has ended. */
  readonly costMicroUsd: MicroUsd | null;
  readonly deadlineAtMs: number;
  readonly polledAtMs: number | null;
  /** Number of successive polls that failed. */
  readonly pollFailures: number;
  /** Successive polls, at least a minute apart, at which the provider did not know the job. */
  readonly missingPolls: number;
}

/** A job whose poll was leased, with the facts that decide the effect of the poll. */
export interface TakenJob extends VideoJob {
  /** The time of the lease by the database's clock, like the deadline. */
  readonly takenAtMs: number;
  readonly polls: number;
  /** When `missingPolls` last grew; null if the provider knew the job in its last answer. */
  readonly missingAtMs: number | null;
}
