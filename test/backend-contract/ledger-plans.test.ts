import { beforeAll, describe, expect, test } from "vitest";
import type { AttemptId } from "../../src/kernel/core/ids.ts";
import { LaneConnection, runBatch, runCloseBatch } from "../../src/ledger/ledger-batches.ts";
import type { ReserveRow } from "../../src/ledger/ledger-store.ts";
import { closeRow, orgWithKey, reserveRow, voidRow } from "../support/ledger-rows.ts";
import { withPricedBackend, withMember } from "../support/postgres.ts";
import { silentLog } from "../support/silent-log.ts";
import { withResource } from "../support/with-resource.ts";

/*
 * Counts the rows that a batch reads, in PostgreSQL's own statistics. They must be in proportion to
 * the batch, whatever the planner assumes about the tables: no plan may read a whole table.
 */
const ROLLS = 1_000;
const BATCH = 100;
/**
 * A roll closes one attempt and holds another. It must read fewer rows of each table than this, for
 * the closing, the hold, and the checks of both.
 */
const READS_PER_ROLL = 8;
/** For `account`: all rolls of a batch change one wallet, so each also reads its old versions. */
const READS_PER_WALLET_ROLL = 24;
const HOLDS = 3_000;
const JOURNAL_ROWS = 20_000n;

const backend = withPricedBackend();
const lane = withResource(
  () =>
    new LaneConnection({
      connectionString: backend.connectionString,
      name: "counted",
      statementTimeoutMs: 60_000,
      lockTimeoutMs: 60_000,
      log: silentLog,
    }),
  (opened) => opened.close(),
);

let lastAttempt = 0n;

const member = withMember(backend);
beforeAll(async () => {
  // Autovacuum and index summaries are off, because the server counts the rows that they read too.
  await backend.query(`do $$ declare part regclass; begin
    for part in select relid from pg_partition_tree('attempt') where isleaf loop
      execute format('alter table %s set (autovacuum_enabled = off)', part);
    end loop;
    for part in select relid from pg_partition_tree('attempt_by_closing') where isleaf loop
      execute format('alter index %s set (autosummarize = off)', part);
    end loop; end $$`);
});

type OrgWithKey = Awaited<ReturnType<typeof orgWithKey>>;

function newHolds(org: OrgWithKey, count: number): readonly ReserveRow[] {
  return Array.from({ length: count }, () =>
    reserveRow({ ...org, attemptId: ++lastAttempt as AttemptId }, 1n),
  );
}

async function holdsOf(org: OrgWithKey, count = BATCH): Promise<readonly ReserveRow[]> {
  const holds = newHolds(org, count);
  await runBatch(lane, { member, closings: [], holds });
  return holds;
}

/** Rows that all sessions have read of the ledger's tables so far. */
async function rowsRead(): Promise<ReadonlyMap<string, number>> {
  await lane.run({ name: "flush", text: "select pg_stat_force_next_flush()" }, []);
  await lane.run({ name: "after the flush", text: "select 1" }, []);
  const rows = await backend.query(`
    select regexp_replace(relname, '^attempt_.*', 'attempt') as name,
      sum(seq_tup_read + coalesce(idx_tup_fetch, 0))::integer as read
    from pg_stat_user_tables
    where relname in ('org', 'hold', 'account', 'spend', 'transfer')
      or relname like 'attempt%'
    group by 1`);
  return new Map(rows.map((row) => [String(row["name"]), Number(row["read"])]));
}

async function expectFewReads(work: () => Promise<void>, rows: number): Promise<void> {
  const before = await rowsRead();
  await work();
  for (const [table, read] of await rowsRead()) {
    const most = rows * (table === "account" ? READS_PER_WALLET_ROLL : READS_PER_ROLL);
    expect(read - (before.get(table) ?? 0), `rows read of ${table}`).toBeLessThan(most);
  }
}

/** Runs batches that each end the attempts of the batch before and hold the next ones. */
async function roll(): Promise<void> {
  const org = await orgWithKey(backend, { creditMicroUsd: 1_000_000n });
  let open = await holdsOf(org);
  await expectFewReads(async () => {
    for (let done = 0; done < ROLLS; done += BATCH) {
      const closings = open.map(({ attemptId }) => closeRow(attemptId, 1n));
      const holds = open.map((row) => ({ ...row, attemptId: ++lastAttempt as AttemptId }));
      const answer = await runBatch(lane, { member, closings, holds });
      expect(new Set(answer.outcomes.map(({ kind }) => kind))).toEqual(new Set(["reserved"]));
      expect(new Set(answer.verdicts.map((verdict) => verdict?.kind))).toEqual(new Set(["closed"]));
      open = holds;
    }
  }, ROLLS);
}

/** Runs a batch whose holds are checked one by one, because the balance covers only half of them. */
async function shortOfCredit(): Promise<void> {
  const org = await orgWithKey(backend, { creditMicroUsd: BigInt(BATCH / 2) });
  await expectFewReads(async () => {
    const holds = newHolds(org, BATCH);
    const { outcomes } = await runBatch(lane, { member, closings: [], holds });
    const refused = outcomes.filter(({ kind }) => kind === "low_balance");
    expect(refused).toHaveLength(BATCH / 2);
  }, BATCH);
}

/** Closes attempts late: as lost in a crash, then as observed, then once more. */
async function closeLate(): Promise<void> {
  const org = await orgWithKey(backend, { creditMicroUsd: 1_000_000n });
  const open = await holdsOf(org);
  const crashed = open.map(({ attemptId }) => voidRow(attemptId, { basis: "unknown_after_crash" }));
  const observed = open.map(({ attemptId }) => closeRow(attemptId, 1n));
  await expectFewReads(async () => {
    for (const [rows, kind] of [
      [crashed, "closed"],
      [observed, "corrected"],
      [observed, "already_closed"],
    ] as const) {
      const verdicts = await runCloseBatch(lane, rows);
      expect(new Set(verdicts.map((verdict) => verdict.kind))).toEqual(new Set([kind]));
    }
  }, 3 * BATCH);
}

async function annul(): Promise<void> {
  const org = await orgWithKey(backend, { creditMicroUsd: 1_000_000n });
  const holds = await holdsOf(org);
  await expectFewReads(() => backend.ledgerBatchStore.annul(holds), BATCH);
}

/** Fills the tables with attempts, organizations, wallets and sums that no batch needs. */
async function fill(): Promise<void> {
  const org = await orgWithKey(backend, { creditMicroUsd: 1_000_000n });
  for (let made = 0; made < HOLDS; made += 500) await holdsOf(org, 500);
  // Uses the ledger connection, whose counts of rows read are flushed before they are compared.
  const text = `insert into attempt (attempt_id, request_id, ordinal, org_id, key_id, model_id, provider_id,
      upstream_model_id, price_pin_id, route, stream, instance_id, epoch, estimated_tokens,
      reserve, month, state, outcome, basis, final, opened_position, closed_position, closed_at)
    select ${(lastAttempt += JOURNAL_ROWS)} - n, gen_random_uuid(), 1, $1, $2, 'm', 'acme-ai',
      'm', 'pin-1', '/', false, 'gone', 0, 1, 1, '2025-01-01', 'void', 'failed', 'none', true, 0,
      0, now()
    from generate_series(0, ${JOURNAL_ROWS - 1n}) as n`;
  await lane.run({ name: `fill behind ${lastAttempt}`, text }, [org.orgId, org.keyId]);
  const others = `
    with other as (
      insert into org (org_id, name, email, email_verified)
      select 'other-' || ${lastAttempt} || '-' || n, 'other', 'other@example.com', true
      from generate_series(1, ${HOLDS}) as n returning org_id
    ), wallet as (
      insert into account (account_id, org_id) select 'wallet:' || org_id, org_id from other
    )
    insert into spend (scope, id, month)
    select scope, org_id, date_trunc('month', now() at time zone 'utc')
    from other cross join (values ('org'), ('key')) as t(scope)`;
  await lane.run({ name: `others behind ${lastAttempt}`, text: others }, []);
}

describe("with plans made for empty tables that have filled up since", () => {
  beforeAll(async () => {
    await backend.query("vacuum analyze");
    // Makes the plans, which are kept: those of an empty batch as an instance does when it starts.
    await runBatch(lane, { member, closings: [], holds: [] });
    await shortOfCredit();
    await closeLate();
    await fill();
  });
  test("a thousand rolls, of a closing and a hold each, read a few rows each", roll);
  test("holds that are checked one by one read a few rows each", shortOfCredit);
  test("late closings and corrections read a few rows each", closeLate);
  test("annulments read a few rows each", annul);
});

describe("with planner statistics of a long journal and many holds", () => {
  beforeAll(async () => {
    await fill();
    await backend.query("analyze");
  });
  test("a thousand rolls, of a closing and a hold each, read a few rows each", roll);
  test("holds that are checked one by one read a few rows each", shortOfCredit);
  test("late closings and corrections read a few rows each", closeLate);
  test("annulments read a few rows each", annul);
});
