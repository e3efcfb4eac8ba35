import type { Pool, PoolClient } from "pg";

import {
  type Change,
  type ChangedBy,
  type ChangeLog,
  assert,
  type CsvRow,
  formatUsd,
  type Public,
  big,
  columns,
  liftTimeLimits,
  lockedConnection,
  micro,
  pico,
  queryOne,
  transact,
  unlockConnection,
} from "../../kernel/index.ts";
import { deleteRefusedBefore } from "../refused-lane.ts";
import {
  type ChangeNotes,
  changing,
  longReaderSql,
  rowsAsText,
  whenFree,
} from "./retention-transactions.ts";
import * as sql from "./retention-sql.ts";
import {
  type AttemptSums,
  type Day,
  dayFiles,
  type DaySums,
  type DaySurvey,
  type DetachedDay,
  ZERO_SUMS,
} from "./retention-tally.ts";

const PAGE_ROWS = 2_000;

export class PostgresRetentionStore {
  readonly #pool: Pool;
  readonly #changes: ChangeLog;

  constructor(pool: Pool, changes: ChangeLog) {
    this.#pool = pool;
    this.#changes = changes;
  }

  /** Begins a retention run. Returns undefined if another process is running one. */
  async open(by: ChangedBy): Promise<RetentionSession | undefined> {
    const client = await lockedConnection(this.#pool, "tokenmarket retention");
    if (client === undefined) return undefined;
    try {
      // Two exports of a day must have the same text, whatever the server's settings are.
      await client.query("set timezone = 'UTC'; set datestyle = 'ISO'");
      await liftTimeLimits(client, "session");
      const { level } = await queryOne<{ level: string | null }>(client, sql.SCHEMA_SQL);
      const { rows } = await client.query<{ name: string }>(sql.COLUMNS_SQL);
      const of = { schema: level ?? "", columns: rows.map(({ name }) => name) };
      return new PostgresRetentionSession(client, { log: this.#changes, by }, of);
    } catch (fault) {
      client.release(true);
      throw fault;
    }
  }
}

export type RetentionStore = Public<PostgresRetentionStore>;

/** One run of the retention, on one connection: if that ends, the run ends. */
class PostgresRetentionSession {
  readonly schema: string;
  readonly columns: readonly string[];
  readonly #client: PoolClient;
  readonly #changes: ChangeNotes;

  constructor(
    client: PoolClient,
    changes: ChangeNotes,
    of: Pick<RetentionSession, "schema" | "columns">,
  ) {
    this.#client = client;
    this.#changes = changes;
    this.schema = of.schema;
    this.columns = of.columns;
  }

  /** Returns the days of the journal that ended at least `days` whole days ago, oldest first. */
  async daysOlderThan(days: number): Promise<readonly Day[]> {
    const { rows } = await this.#client.query<{ day: Day }>(sql.DAYS_OLDER_THAN_SQL, [days]);
    return rows.map(({ day }) => day);
  }

  async survey(day: Day): Promise<DaySurvey> {
    const table = sql.dayTable(day);
    const head = await queryOne<BoundsRow>(this.#client, sql.BOUNDS_SQL, [day, table]);
    const bounds = `FOR VALUES FROM ('${head.from_id}') TO ('${head.to_id}')`;
    assert(head.bounds === bounds, "the table of a day holds the ids of that day");
    const { rows } = await this.#client.query<SurveyRow>(sql.surveySql(day));
    const all = rows.find((row) => row.provider_id === null && row.org_id === null);
    return {
      day,
      fromId: head.from_id,
      toId: head.to_id,
      sums: collectSums(rows),
      open: head.open,
      unsettled: all?.unsettled ?? 0n,
      outsidePeriods: all?.outside ?? 0n,
      isRetired: head.is_retired,
    };
  }

  /** Makes the day's attempts read-only. A second call does nothing. */
  async freeze(day: Day): Promise<void> {
    if (await this.#isFrozen(day)) return;
    await transact(this.#client, () => this.#whenFree(day, [sql.freezeSql(day)]));
  }

  async unfreeze(day: Day): Promise<void> {
    if (!(await this.#isFrozen(day))) return;
    await transact(this.#client, () => this.#whenFree(day, [sql.unfreezeSql(day)]));
  }

  async #whenFree(day: Day, statements: readonly string[]): Promise<void> {
    await whenFree(this.#client, longReaderSql(["attempt", sql.dayTable(day)]), statements);
  }

  async #isFrozen(day: Day): Promise<boolean> {
    const table = [sql.dayTable(day)];
    const row = await queryOne<{ is_frozen: boolean }>(this.#client, sql.IS_FROZEN_SQL, table);
    return row.is_frozen;
  }

  /** Yields the attempts of a frozen day in pages, by id, as PostgreSQL prints them in UTC. */
  async *pages(day: Day): AsyncGenerator<readonly CsvRow[]> {
    // A cursor would hold a snapshot for minutes, in which vacuum could not remove dead rows of the
    // wallets. Pages are safe here because a frozen day does not change.
    const idAt = this.columns.indexOf("attempt_id");
    const text = sql.pageSql(day, this.columns);
    for (let last: string | null = "-1"; last !== null;) {
      const rows: CsvRow[] = await rowsAsText(this.#client, text, [last, PAGE_ROWS]);
      if (rows.length > 0) yield rows;
      last = rows.length < PAGE_ROWS ? null : (rows.at(-1)?.[idAt] ?? null);
    }
  }

  /** Records the sums of a frozen day and takes it out of the journal, in one transaction. */
  async retire(retired: {
    readonly survey: DaySurvey;
    readonly sha256: Buffer;
    readonly signature: Buffer;
  }): Promise<void> {
    const { survey, sha256, signature } = retired;
    const { day, fromId, toId, sums } = survey;
    const { attempts, debitMicroUsd, overrunMicroUsd, costPicoUsd, owedPicoUsd } = sums.all;
    const after = {
      attempts: attempts.toString(),
      debit_usd: formatUsd(debitMicroUsd),
      sha256: sha256.toString("hex"),
    };
    const change: Change = {
      action: "ledger.retire",
      orgId: null,
      target: day,
      before: null,
      after,
    };
    await changing(this.#client, this.#changes, change, async () => {
      await this.#client.query(sql.RETIRED_DAY_SQL, [
        day,
        fromId,
        toId,
        attempts,
        debitMicroUsd,
        overrunMicroUsd,
        costPicoUsd,
        owedPicoUsd,
        dayFiles(day).rows,
        sha256,
        signature,
      ]);
      await this.#client.query(sql.retiredSpendSql(day), [day]);
      await this.#client.query(sql.retiredDaysSql(day), [day]);
      await this.#client.query("create schema if not exists retired");
      const ids = [fromId, toId];
      const sharedSql = sql.sharedRequestsSql(day);
      const { rows: shared } = await this.#client.query<SharedRow>(sharedSql, ids);
      // Detaching locks the journal until the transaction commits, and every reserve and close
      // waits for it: only short statements follow.
      await this.#whenFree(day, sql.detachSql(day));
      for (const { orgs, requests } of shared) {
        await this.#client.query(sql.JOIN_SHARED_SQL, [orgs, requests, ...ids]);
      }
      const row = await queryOne<{ is_open: boolean }>(this.#client, sql.IS_OPEN_SQL, ids);
      assert(!row.is_open, "no attempt is open of a day that is taken out");
    });
  }

  /** Returns the retired days whose attempts are still in the database, oldest first. */
  async detachedDays(): Promise<readonly DetachedDay[]> {
    const { rows } = await this.#client.query<DetachedDay>(sql.DETACHED_DAYS_SQL);
    return rows;
  }

  async drop(day: Day): Promise<void> {
    const [before, after] = [{ in_database: true }, { in_database: false }];
    const change: Change = { action: "ledger.drop", orgId: null, target: day, before, after };
    await changing(this.#client, this.#changes, change, async () => {
      await this.#client.query(`drop table retired.${sql.dayTable(day)}`);
    });
  }

  /**
   * Deletes refused requests that are older than `olderThanDays` days and, if `before` is given,
   * from before that day. Returns their number. They cost nothing, so no sums are recorded.
   */
  async deleteRefused(olderThanDays: number, before: Day | undefined): Promise<number> {
    const values = [olderThanDays, before ?? null];
    const bound = await queryOne<{ before: Day }>(this.#client, sql.REFUSED_BOUND_SQL, values);
    return await deleteRefusedBefore(this.#client, Date.parse(bound.before));
  }

  /** Deletes daily spend of weeks that no cap needs any more. Returns the number of rows. */
  async deletePastSpend(): Promise<number> {
    let deleted = 0;
    for (const text of [sql.DELETE_PAST_SPEND_SQL, sql.DELETE_RETIRED_PAST_SPEND_SQL]) {
      for (let rows = sql.PAST_SPEND_ROWS; rows === sql.PAST_SPEND_ROWS;) {
        rows = (await this.#client.query(text, [sql.PAST_SPEND_ROWS])).rowCount ?? 0;
        deleted += rows;
      }
    }
    return deleted;
  }

  close(): Promise<void> {
    return unlockConnection(this.#client, true);
  }
}

export type RetentionSession = Public<PostgresRetentionSession>;

interface BoundsRow {
  readonly from_id: bigint;
  readonly to_id: bigint;
  readonly bounds: string;
  readonly is_retired: boolean;
  readonly open: bigint;
}

/** The day's requests that also have open attempts, or attempts on other days; null if none. */
interface SharedRow {
  readonly orgs: string[] | null;
  readonly requests: string[] | null;
}

interface SurveyRow {
  readonly provider_id: string | null;
  readonly org_id: string | null;
  readonly unsettled: bigint;
  readonly outside: bigint;
}

const sumColumns = columns<AttemptSums>({
  attempts: big("attempts"),
  debitMicroUsd: micro("debit"),
  overrunMicroUsd: micro("overrun"),
  refundMicroUsd: micro("refund"),
  costPicoUsd: pico("cost_pico"),
  owedPicoUsd: pico("owed_pico"),
});

function collectSums(rows: readonly SurveyRow[]): DaySums {
  let all = ZERO_SUMS;
  const byProvider = new Map<string, AttemptSums>();
  const byOrg = new Map<string, AttemptSums>();
  for (const row of rows) {
    const sums = sumColumns.read(row);
    if (row.provider_id !== null) byProvider.set(row.provider_id, sums);
    else if (row.org_id !== null) byOrg.set(row.org_id, sums);
    else all = sums;
  }
  return { all, byProvider, byOrg };
}
