import type { KeyId, OrgId } from "../../src/kernel/core/ids.ts";
import { systemClock } from "../../src/kernel/core/time.ts";
import type { JobStore } from "../../src/gateway/videos/postgres-job-store.ts";
import type { NewVideoJob, VideoJob } from "../../src/gateway/videos/video-job.ts";
import type { Ledger, ReserveRow } from "../../src/ledger/ledger-store.ts";
import { openLedger } from "../../src/ledger/open-ledger.ts";
import { openPostgresBackend, type PostgresBackend } from "../../src/app/open-postgres-backend.ts";
import { brokenBooks } from "./books.ts";
import { orgWithKey, pinPrices, reserveRow } from "./ledger-rows.ts";
import { freshBackend, type FreshBackend } from "./postgres.ts";
import { silentLog } from "./silent-log.ts";
import { newVideoJob } from "./video-jobs.ts";
import { withResource } from "./with-resource.ts";

export interface Owner {
  readonly orgId: OrgId;
  readonly keyId: KeyId;
}

export const LEASE_MS = 600_000;
export const POLL = { pollMinMs: 20_000, leaseMs: LEASE_MS };

export function withJobFixture(): JobFixture {
  return withResource(() => JobFixture.open());
}

export class JobFixture {
  readonly backend: FreshBackend;
  /** The same database, opened a second time as by another process. */
  readonly other: PostgresBackend;
  readonly ledger: Ledger;

  private constructor(of: Pick<JobFixture, "backend" | "other" | "ledger">) {
    this.backend = of.backend;
    this.other = of.other;
    this.ledger = of.ledger;
  }

  static async open(): Promise<JobFixture> {
    const backend = await freshBackend();
    const { connectionString } = backend;
    await pinPrices(backend);
    const ledger = await openLedger({
      store: backend.ledgerBatchStore,
      clock: systemClock,
      log: silentLog,
      instanceName: "main",
    });
    const other = openPostgresBackend({ connectionString, log: silentLog });
    return new JobFixture({ backend, other, ledger });
  }

  async close(): Promise<void> {
    await this.ledger.shutDown();
    await this.other.close();
    await this.backend.close();
  }

  get stores(): readonly [JobStore, JobStore] {
    return [this.backend.jobStore, this.other.jobStore];
  }

  owner(creditMicroUsd = 10_000n): Promise<Owner> {
    return orgWithKey(this.backend, { creditMicroUsd });
  }

  /** Reserves the most that a video may cost, which happens before the provider is called. */
  async hold(owner: Owner, reserveMicroUsd = 1_000n): Promise<ReserveRow> {
    const row = reserveRow({ ...owner, attemptId: this.ledger.newAttemptId() }, reserveMicroUsd, {
      route: "/v1/videos",
    });
    const { kind } = await this.ledger.reserve(row);
    if (kind !== "reserved") throw new Error(`not held: ${kind}`);
    return row;
  }

  async accepted(
    owner: Owner,
    change: Partial<NewVideoJob> = {},
    reserveMicroUsd?: bigint,
  ): Promise<NewVideoJob> {
    const job = newVideoJob(await this.hold(owner, reserveMicroUsd), change);
    if (!(await this.backend.jobStore.accept(job))) throw new Error("the job was not accepted");
    return job;
  }

  async attempt(job: Pick<NewVideoJob, "attemptId">): Promise<Record<string, unknown>> {
    const columns = "state, debit, resumable, provider_job_id, served_model, substituted";
    const sql = `select ${columns} from journal where attempt_id = $1`;
    const [row] = await this.backend.query(sql, [job.attemptId]);
    return row ?? {};
  }

  async found(job: NewVideoJob): Promise<VideoJob> {
    const known = await this.backend.jobStore.find(job.orgId, job.jobId);
    if (known === undefined) throw new Error(`no job ${job.jobId}`);
    return known;
  }

  /** Makes every write of this kind to the table of jobs fail, after it was made. */
  async whileBroken(verb: "insert" | "update", work: () => Promise<void>): Promise<void> {
    await this.backend.query(`
      create function break_on_purpose() returns trigger language plpgsql as
        $$ begin raise exception 'broken on purpose'; end $$;
      create trigger broken after ${verb} on video_job
        for each row execute function break_on_purpose();`);
    try {
      await work();
    } finally {
      await this.backend.query("drop function break_on_purpose cascade");
    }
  }

  async settledMicroUsd({ orgId }: Owner): Promise<bigint> {
    return (await this.backend.recordStore.balance(orgId)).settledMicroUsd;
  }

  /** Moves all times of these running jobs back by `ms` milliseconds. */
  async setBack(ms: number, ...jobs: readonly Pick<NewVideoJob, "jobId">[]): Promise<void> {
    const columns = "created_at deadline_at polled_at next_poll_at lease_until missing_at".split(
      " ",
    );
    const moved = columns.map((column) => `${column} = ${column} - $1 * interval '1 ms'`);
    await this.backend.query(
      `update video_job set ${moved.join(", ")} where job_id = any ($2) and completed_at is null`,
      [ms, jobs.map(({ jobId }) => jobId)],
    );
  }

  /** Makes all running jobs never due, so that they are not polled among those of a test. */
  async endOthers(): Promise<void> {
    await this.backend.query(
      "update video_job set next_poll_at = 'infinity' where completed_at is null",
    );
  }

  /** Returns the audit checks that fail. At no moment may any of them fail. */
  brokenBooks(): Promise<readonly string[]> {
    return brokenBooks(this);
  }
}
