import type { Pool } from "pg";

import {
  assert,
  batchValues,
  big,
  type Columns,
  columns,
  type ColumnsOf,
  computed,
  instantMs,
  integer,
  type JobId,
  marks,
  micro,
  opaque,
  orAbsent,
  type OrgId,
  orNull,
  type Public,
  queryInTime,
  queryOneInTime,
  readRowsInTime,
  takeRowsSql,
  text,
} from "../../kernel/index.ts";
import { jobCloseColumns } from "../../ledger/index.ts";
import { firstPollMs, type JobEnd, type JobUpdate, MISSING_INTERVAL_MS } from "./job-state.ts";
import type { NewVideoJob, TakenJob, VideoJob } from "./video-job.ts";

type WrittenJob = Omit<NewVideoJob, "options" | "startedAtMs" | "deadlineMs">;

/** The columns of a new job that contain its fields unchanged. */
const newProperties: ColumnsOf<WrittenJob> = {
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
  state: text("state"),
  progress: integer("progress"),
};
const newColumns = columns<WrittenJob>(newProperties);

const jobProperties: ColumnsOf<VideoJob> = {
  ...newProperties,
  options: opaque("options"),
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

const jobColumns: Columns<VideoJob> = columns(jobProperties);

const takenColumns: Columns<TakenJob> = columns<TakenJob>({
  ...jobProperties,
  takenAtMs: computed("now()", instantMs("taken_at")),
  polls: integer("polls"),
  missingAtMs: orNull(instantMs("missing_at")),
});

/** Big integers become strings, so that no JSON parser rounds them. */
function newJobJson(job: NewVideoJob): string {
  const started_at = new Date(job.startedAtMs).toISOString();
  return JSON.stringify(
    { ...newColumns.record(job), options: job.options, started_at },
    (_name, value: unknown) => (typeof value === "bigint" ? String(value) : value),
  );
}

/**
 * Stores providers' jobs in the ledger's database, so that a job's end and the closing of its
 * attempt commit together. Leases and deadlines use the database's clock. Every statement may be
 * repeated after its answer was lost.
 */
export class PostgresJobStore {
  readonly #pool: Pool;

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  /**
   * Stores an accepted job together with its attempt's provider job id, before the client is
   * answered. Returns false and stores nothing if the attempt is closed already, or is about to be
   * closed because another instance has declared this one dead. May be repeated after a lost
   * answer, with the same result.
   */
  async accept(job: NewVideoJob): Promise<boolean> {
    assert(isRunning(job), "a job that is accepted has not ended");
    const values = [newJobJson(job), job.deadlineMs, firstPollMs];
    const row = await queryOneInTime<{ accepted: boolean }>(this.#pool, ACCEPT_SQL, values);
    return row.accepted;
  }

  async find(orgId: OrgId, jobId: JobId): Promise<VideoJob | undefined> {
    return (await readRowsInTime(this.#pool, jobColumns, FIND_SQL, [jobId, orgId]))[0];
  }

  /**
   * Leases the next poll of a running job. Undefined if the last poll was less than `pollMinMs` ago
   * or another process is polling. After `leaseMs`, other processes may lease the poll.
   */
  async takeOne(
    orgId: OrgId,
    jobId: JobId,
    wanted: { readonly pollMinMs: number; readonly leaseMs: number },
  ): Promise<TakenJob | undefined> {
    const values = [jobId, orgId, wanted.pollMinMs, wanted.leaseMs];
    return (await readRowsInTime(this.#pool, takenColumns, TAKE_ONE_SQL, values))[0];
  }

  /** Leases the polls of up to `limit` due jobs, no job to two processes at once. */
  async takeDue(wanted: {
    readonly limit: number;
    readonly leaseMs: number;
  }): Promise<readonly TakenJob[]> {
    const values = [wanted.limit, wanted.leaseMs];
    return await readRowsInTime(this.#pool, takenColumns, TAKE_DUE_SQL, values);
  }

  /** Stores the result of a job's poll, unless the job has ended, and releases the lease. */
  async keep(jobId: JobId, update: JobUpdate): Promise<void> {
    const { state, progress, isFailure, isMissing, nextPollMs } = update;
    const values = [jobId, state, progress, isFailure, isMissing, nextPollMs, MISSING_INTERVAL_MS];
    await queryInTime(this.#pool, { text: KEEP_SQL, values });
  }

  /** Ends the job and closes its attempt in one transaction. A second call changes nothing. */
  async finish(jobId: JobId, end: JobEnd): Promise<VideoJob> {
    const { state, errorCode, expiresAtMs, reportedCostPicoUsd, close } = end;
    assert(state === "completed" || close.basis === "none", "a failed job costs nothing");
    const [job] = await readRowsInTime(this.#pool, jobColumns, FINISH_SQL, [
      jobId,
      state,
      errorCode,
      expiresAtMs === null ? null : new Date(expiresAtMs),
      reportedCostPicoUsd ?? null,
      ...batchValues(jobCloseColumns, [close]),
    ]);
    assert(job !== undefined, "a job that ends is there");
    assert(!isRunning(job), "a job that was ended has ended");
    return job;
  }
}

export type JobStore = Public<PostgresJobStore>;

function isRunning({ state }: Pick<VideoJob, "state">): boolean {
  return state === "queued" || state === "in_progress";
}

const ACCEPT_SQL = "select accept_job($1, $2, $3) as accepted";

const FIND_SQL = `select ${jobColumns.sql} from video_job where job_id = $1 and org_id = $2`;

const FREE_SQL = "completed_at is null and (lease_until is null or lease_until <= now())";

/** `leaseAt` is the placeholder ($n) of the lease in milliseconds. */
function takeSql(due: string, leaseAt: string): string {
  const set = `lease_until = now() + ${leaseAt}::double precision * interval '1 millisecond'`;
  return takeRowsSql("video_job", "job_id", { due, set, returning: takenColumns.sqlOf("t") });
}

const TAKE_ONE_SQL = takeSql(
  `where job_id = $1 and org_id = $2 and ${FREE_SQL}
    and (polled_at is null
      or polled_at <= now() - $3::double precision * interval '1 millisecond')`,
  "$4",
);

const TAKE_DUE_SQL = takeSql(
  `where next_poll_at <= now() and ${FREE_SQL} order by next_poll_at limit $1`,
  "$2",
);

/*
 * True if the provider did not know the job ($5) and the last poll that was counted as missing was
 * at least $7 milliseconds ago.
 */
const COUNTS_SQL = `$5::boolean and (missing_at is null
      or missing_at <= now() - $7::double precision * interval '1 millisecond')`;

/** $4: the poll failed, so the count of missing polls stays as it is. */
const KEEP_SQL = `
  update video_job set
    state = case state when 'queued' then $2 else state end,
    progress = greatest(progress, $3::smallint),
    polled_at = now(),
    next_poll_at = now() + $6::double precision * interval '1 millisecond',
    lease_until = null,
    polls = polls + 1,
    poll_failures = case when $4::boolean then poll_failures + 1 else 0 end,
    missing_polls = case when ${COUNTS_SQL} then missing_polls + 1
      when $4 or $5 then missing_polls else 0 end,
    missing_at = case when ${COUNTS_SQL} then now() when $4 or $5 then missing_at end
  where job_id = $1 and completed_at is null`;

const FINISH_SQL = `
  select ${jobColumns.sql} from finish_job(${marks(5 + jobCloseColumns.cells.length)})`;
