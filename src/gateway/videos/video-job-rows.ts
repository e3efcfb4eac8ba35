import {
  big,
  columns,
  type Columns,
  type ColumnsOf,
  computed,
  instantMs,
  integer,
  micro,
  opaque,
  orAbsent,
  orNull,
  text,
} from "../../kernel/index.ts";
import type { NewVideoJob, TakenJob, VideoJob } from "./video-job.ts";

const jobProperties: ColumnsOf<VideoJob> = {
  jobId: text("job_id"),
  orgId: text("org_id"),
  keyId: text("key_id"),
  requestId: text("request_id"),
  attemptId: big("attempt_id"),
  modelId: text("model_id"),
  providerId: text("provider_id"),
  deploymentId: text("deployment_id"),
  connectionId: orAbsent(text("connection_id")),
  providerJobId: text("provider_job_id"),
  reserveMicroUsd: micro("reserve"),
  seconds: integer("seconds"),
  options: opaque("options"),
  state: text("state"),
  progress: integer("progress"),
  startedAtMs: instantMs("started_at"),
  createdAtMs: instantMs("created_at"),
  completedAtMs: orNull(instantMs("completed_at")),
  expiresAtMs: orNull(instantMs("expires_at")),
  errorCode: orNull(text("error_code")),
  costMicroUsd: orNull(micro("debit")),
  deadlineAtMs: instantMs("deadline_at"),
  polledAtMs: orNull(instantMs("polled_at")),
  pollFailures: integer("poll_failures"),
  missingPolls: integer("missing_polls"),
};

export const jobColumns: Columns<VideoJob> = columns(jobProperties);

/** Of a job `j` whose lease is taken now. */
export const takenColumns: Columns<TakenJob> = columns<TakenJob>({
  ...jobProperties,
  takenAtMs: computed("now()", instantMs("taken_at")),
  polls: integer("polls"),
  missingAtMs: orNull(instantMs("missing_at")),
});

/** A new job as the columns of its row, in JSON; big integers as texts, so that none is rounded. */
export function newJobJson(job: NewVideoJob): string {
  return JSON.stringify({
    job_id: job.jobId,
    org_id: job.orgId,
    key_id: job.keyId,
    request_id: job.requestId,
    attempt_id: String(job.attemptId),
    model_id: job.modelId,
    provider_id: job.providerId,
    deployment_id: job.deploymentId,
    connection_id: job.connectionId ?? null,
    provider_job_id: job.providerJobId,
    reserve: String(job.reserveMicroUsd),
    seconds: job.seconds,
    options: job.options,
    state: job.state,
    progress: job.progress,
    started_at: new Date(job.startedAtMs).toISOString(),
  });
}
