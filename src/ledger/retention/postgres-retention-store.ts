import { setTimeout as sleep } from "node:timers/promises";

import {
  DatabaseError,
  type CustomTypesConfig,
  type Pool,
  type PoolClient,
  type QueryArrayConfig,
} from "pg";

import {
  type Change,
  type ChangedBy,
  type ChangeLog,
  recordChanges,
  type RecordedChange,
} from "../../changes/index.ts";
import { assert, type CsvRow, formatUsd, microUsd, picoUsd } from "../../core/index.ts";
import { deleteRefusedBefore } from "../refused-rows.ts";
import * as sql from "./retention-sql.ts";
import { ZERO_SUMS } from "./retention-tally.ts";
import type {
  AttemptSums,
  Day,
  DaySums,
  DaySurvey,
  DetachedDay,
  RetentionSession,
  RetentionStore,
  RetiredDay,
} from "./retention.ts";

/** So long the batches of the gateways may stand behind a wait for the journal's lock. */
const LOCK_TIMEOUT_MS = 100;
const LOCK_PAUSE_MS = 500;
const LOCK_TRIES_MAX = 1_200;
const PAGE_ROWS = 2_000;
const SQLSTATE_LOCK_TIMEOUT = "55P03";

/** The journal did not let go of its lock for ten minutes. */
export class JournalBusyFault extends Error {
  override readonly name = "JournalBusyFault";
}

/** Takes days out of the journal's partitions. */
export class PostgresRetentionStore implements RetentionStore {
  readonly #pool: Pool;
  readonly #changes: ChangeLog;

  constructor(pool: Pool, changes: ChangeLog) {
    this.#pool = pool;
    this.#changes = changes;
  }

  async open(by: ChangedBy): Promise<RetentionSession | undefined> {
    const client = await this.#pool.connect();
    try {
      const { rows } = await client.query<{ ours: boolean }>(
        "select pg_try_advisory_lock(hashtext('tokenmarket retention')) as ours",
      );
      if (rows[0]?.ours !== true) {
        client.release();
        return undefined;
      }
      // The same day gives the same text, whatever the server's habits.
      await client.query("set statement_timeout = 0; set timezone = 'UTC'; set datestyle = 'ISO'");
      const schema = await client.query<{ name: string }>(sql.SCHEMA_SQL);
      const columns = await client.query<{ name: string }>(sql.COLUMNS_SQL);
      const changes = { log: this.#changes, by };
      return new PostgresRetentionSession(client, changes, {
        schema: schema.rows[0]?.name ?? "",
        columns: columns.rows.map(({ name }) => name),
      });
    } catch (fault) {
      client.release(true);
      throw fault;
    }
  }
}

class PostgresRetentionSession implements RetentionSession {
  readonly schema: string;
  readonly columns: readonly string[];
  readonly #client: PoolClient;
  readonly #changes: { readonly log: ChangeLog; readonly by: ChangedBy };

  constructor(
    client: PoolClient,
    changes: { readonly log: ChangeLog; readonly by: ChangedBy },
    of: { schema: string; columns: readonly string[] },
  ) {
    this.#client = client;
    this.#changes = changes;
    this.schema = of.schema;
    this.columns = of.columns;
  }

  async daysOlderThan(days: number): Promise<readonly Day[]> {
    const { rows } = await this.#client.query<{ day: Day }>(sql.DAYS_OLDER_THAN_SQL, [days]);
    return rows.map(({ day }) => day);
  }

  async survey(day: Day): Promise<DaySurvey> {
    const table = sql.dayTable(day);
    const { rows: heads } = await this.#client.query<BoundsRow>(sql.BOUNDS_SQL, [day, table]);
    const head = heads[0];
    assert(head !== undefined, "a day that is surveyed has a table");
    const bounds = `FOR VALUES FROM ('${head.from_id}') TO ('${head.to_id}')`;
    assert(head.bounds === bounds, "the table of a day holds the ids of that day");
    const { rows } = await this.#client.query<SurveyRow>(sql.surveySql(day));
    const all = rows.find((row) => row.provider_id === null && row.org_id === null);
    return {
      day,
      fromId: head.from_id,
      toId: head.to_id,
      sums: sumsOf(rows),
      open: head.open,
      unsettled: all?.unsettled ?? 0n,
      outsidePeriods: all?.outside ?? 0n,
      isRetired: head.is_retired,
    };
  }

  async freeze(day: Day): Promise<void> {
    if (await this.#isFrozen(day)) return;
    await this.#inTransaction(() => this.#whenFree(day, [sql.freezeSql(day)]));
  }

  async unfreeze(day: Day): Promise<void> {
    if (!(await this.#isFrozen(day))) return;
    await this.#inTransaction(() => this.#whenFree(day, [sql.unfreezeSql(day)]));
  }

  async #isFrozen(day: Day): Promise<boolean> {
    const { rows } = await this.#client.query<{ is_frozen: boolean }>(sql.IS_FROZEN_SQL, [
      sql.dayTable(day),
    ]);
    return rows[0]?.is_frozen === true;
  }

  // Pages and not one long cursor: nothing changes here any more, and a snapshot of minutes would
  // keep every dead row of the wallets.
  async *pages(day: Day): AsyncGenerator<readonly CsvRow[]> {
    const idAt = this.columns.indexOf("attempt_id");
    const text = sql.pageSql(day, this.columns);
    for (let last: string | null = "-1"; last !== null;) {
      const rows: CsvRow[] = await this.#rowsAsText(text, [last, PAGE_ROWS]);
      if (rows.length > 0) yield rows;
      last = rows.length < PAGE_ROWS ? null : (rows.at(-1)?.[idAt] ?? null);
    }
  }

  async retire({ survey, file, sha256, signature }: RetiredDay): Promise<void> {
    const { day, fromId, toId, sums } = survey;
    const { attempts, debitMicroUsd, overrunMicroUsd, costPicoUsd, owedPicoUsd } = sums.all;
    await this.#changing(dayChange("ledger.retire", survey, sha256), async () => {
      await this.#client.query(sql.RETIRED_DAY_SQL, [
        day,
        fromId,
        toId,
        attempts,
        debitMicroUsd,
        overrunMicroUsd,
        costPicoUsd,
        owedPicoUsd,
        file,
        sha256,
        signature,
      ]);
      await this.#client.query(sql.retiredSpendSql(day), [day]);
      await this.#client.query("create schema if not exists retired");
      // Last, and then the commit at once: every batch waits while this lock is held.
      await this.#whenFree(day, sql.detachSql(day));
      const query = { text: sql.IS_OPEN_SQL, values: [fromId, toId] };
      const { rows } = await this.#client.query<{ is_open: boolean }>(query);
      assert(rows[0]?.is_open === false, "no attempt is open of a day that is taken out");
    });
  }

  async detachedDays(): Promise<readonly DetachedDay[]> {
    const { rows } = await this.#client.query<DetachedDay>(sql.DETACHED_DAYS_SQL);
    return rows;
  }

  async drop(day: Day): Promise<void> {
    const change: Change = {
      action: "ledger.drop",
      orgId: null,
      target: day,
      before: { in_database: true },
      after: { in_database: false },
    };
    await this.#changing(change, async () => {
      await this.#client.query(`drop table retired.${sql.dayTable(day)}`);
    });
  }

  async deleteRefused(olderThanDays: number, before: Day | undefined): Promise<number> {
    const { rows } = await this.#client.query<{ before: Day }>(sql.REFUSED_BOUND_SQL, [
      olderThanDays,
      before ?? null,
    ]);
    const bound = rows[0]?.before;
    assert(bound !== undefined, "the age of a day is a day");
    return await deleteRefusedBefore(
      async (text, values) => (await this.#client.query<{ requests: bigint }>(text, values)).rows,
      Date.parse(bound),
    );
  }

  async close(): Promise<void> {
    // Unlocked at once: the server may notice the end of a connection later.
    await this.#client.query("select pg_advisory_unlock_all()").catch(() => undefined);
    // Closed, not released: its settings go with it.
    this.#client.release(true);
  }

  async #rowsAsText(text: string, values: unknown[]): Promise<CsvRow[]> {
    const query: QueryArrayConfig = { text, values, rowMode: "array", types: asText };
    return (await this.#client.query<(string | null)[]>(query)).rows;
  }

  /** The change is written last: the log is not held up while the journal is waited for. */
  async #changing(change: Change, work: () => Promise<void>): Promise<void> {
    let recorded: readonly RecordedChange[] = [];
    await this.#inTransaction(async () => {
      await work();
      recorded = await recordChanges(this.#client, this.#changes.by, [change]);
    });
    this.#changes.log.announce(recorded);
  }

  async #inTransaction(work: () => Promise<void>): Promise<void> {
    await this.#client.query("begin");
    try {
      await work();
      await this.#client.query("commit");
    } catch (fault) {
      await this.#client.query("rollback").catch(() => undefined);
      throw fault;
    }
  }

  /** Runs statements that need the journal for themselves, and never makes a queue before it. */
  async #whenFree(day: Day, statements: readonly string[]): Promise<void> {
    await this.#client.query(`set local lock_timeout = ${LOCK_TIMEOUT_MS}`);
    await this.#client.query("savepoint before_lock");
    for (let tried = 0; tried < LOCK_TRIES_MAX; tried++) {
      if (tried > 0) await sleep(LOCK_PAUSE_MS);
      // A reader of minutes is waited for outside the lock's queue, or all would wait with us.
      const { rows } = await this.#client.query<{ is_busy: boolean }>(sql.longReaderSql(day));
      if (rows[0]?.is_busy === true) continue;
      try {
        for (const statement of statements) await this.#client.query(statement);
        return;
      } catch (fault) {
        if (!(fault instanceof DatabaseError) || fault.code !== SQLSTATE_LOCK_TIMEOUT) throw fault;
        await this.#client.query("rollback to savepoint before_lock");
      }
    }
    throw new JournalBusyFault("the journal was read without a pause; run this again later");
  }
}

function dayChange(action: "ledger.retire", survey: DaySurvey, sha256: Buffer): Change {
  const { day, sums } = survey;
  const after = {
    attempts: sums.all.attempts.toString(),
    debit_usd: formatUsd(sums.all.debitMicroUsd),
    sha256: sha256.toString("hex"),
  };
  return { action, orgId: null, target: day, before: null, after };
}

const asText: CustomTypesConfig = {
  getTypeParser: (() => (text: string) => text) as CustomTypesConfig["getTypeParser"],
};

interface BoundsRow {
  readonly from_id: bigint;
  readonly to_id: bigint;
  readonly bounds: string;
  readonly is_retired: boolean;
  readonly open: bigint;
}

interface SurveyRow {
  readonly provider_id: string | null;
  readonly org_id: string | null;
  readonly attempts: bigint;
  readonly debit: bigint;
  readonly overrun: bigint;
  readonly cost_pico: bigint;
  readonly owed_pico: bigint;
  readonly refund: bigint;
  readonly unsettled: bigint;
  readonly outside: bigint;
}

function sumsOf(rows: readonly SurveyRow[]): DaySums {
  let all = ZERO_SUMS;
  const byProvider = new Map<string, AttemptSums>();
  const byOrg = new Map<string, AttemptSums>();
  for (const row of rows) {
    const sums: AttemptSums = {
      attempts: row.attempts,
      debitMicroUsd: microUsd(row.debit),
      overrunMicroUsd: microUsd(row.overrun),
      refundMicroUsd: microUsd(row.refund),
      costPicoUsd: picoUsd(row.cost_pico),
      owedPicoUsd: picoUsd(row.owed_pico),
    };
    if (row.provider_id !== null) byProvider.set(row.provider_id, sums);
    else if (row.org_id !== null) byOrg.set(row.org_id, sums);
    else all = sums;
  }
  return { all, byProvider, byOrg };
}
