import type {
  AttemptId,
  JobId,
  KeyId,
  ModelId,
  OrgId,
  ProviderId,
  RequestId,
} from "../core/ids.ts";
import { microUsd } from "../core/money.ts";
import type {
  NewVideoJob,
  TakenJob,
  VideoErrorCode,
  VideoJob,
  VideoOptions,
  VideoState,
} from "./video-job.ts";

export interface VideoJobRow {
  readonly job_id: string;
  readonly org_id: string;
  readonly key_id: string;
  readonly request_id: string;
  readonly attempt_id: bigint;
  readonly model_id: string;
  readonly provider_id: string;
  readonly deployment_id: string;
  readonly connection_id: string | null;
  readonly provider_job_id: string;
  readonly reserve: bigint;
  readonly seconds: number;
  readonly options: VideoOptions;
  readonly state: VideoState;
  readonly progress: number;
  readonly started_at: Date;
  readonly created_at: Date;
  readonly completed_at: Date | null;
  readonly expires_at: Date | null;
  readonly error_code: VideoErrorCode | null;
  readonly debit: bigint | null;
  readonly deadline_at: Date;
  readonly polled_at: Date | null;
  readonly polls: number;
  readonly poll_failures: number;
  readonly missing_polls: number;
  readonly missing_at: Date | null;
}

export interface TakenJobRow extends VideoJobRow {
  readonly taken_at: Date;
}

export function videoJob(row: VideoJobRow): VideoJob {
  return {
    jobId: row.job_id as JobId,
    orgId: row.org_id as OrgId,
    keyId: row.key_id as KeyId,
    requestId: row.request_id as RequestId,
    attemptId: row.attempt_id as AttemptId,
    modelId: row.model_id as ModelId,
    providerId: row.provider_id as ProviderId,
    deploymentId: row.deployment_id,
    ...(row.connection_id === null ? {} : { connectionId: row.connection_id }),
    providerJobId: row.provider_job_id,
    reserveMicroUsd: microUsd(row.reserve),
    seconds: row.seconds,
    options: row.options,
    state: row.state,
    progress: row.progress,
    startedAtMs: row.started_at.getTime(),
    createdAtMs: row.created_at.getTime(),
    completedAtMs: instantOrNull(row.completed_at),
    expiresAtMs: instantOrNull(row.expires_at),
    errorCode: row.error_code,
    costMicroUsd: row.debit === null ? null : microUsd(row.debit),
    deadlineAtMs: row.deadline_at.getTime(),
    polledAtMs: instantOrNull(row.polled_at),
    pollFailures: row.poll_failures,
    missingPolls: row.missing_polls,
  };
}

export function takenJob(row: TakenJobRow): TakenJob {
  return {
    ...videoJob(row),
    takenAtMs: row.taken_at.getTime(),
    polls: row.polls,
    missingAtMs: instantOrNull(row.missing_at),
  };
}

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

function instantOrNull(at: Date | null): number | null {
  return at?.getTime() ?? null;
}
