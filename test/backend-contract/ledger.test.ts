import { describe, expect, onTestFinished, test } from "vitest";
import { createRequestId, type AttemptId } from "../../src/kernel/core/ids.ts";
import { systemClock } from "../../src/kernel/core/time.ts";
import { beginSession } from "../../src/kernel/storage/connection.ts";
import type { Ledger, ReserveRow } from "../../src/ledger/ledger-store.ts";
import { openLedger } from "../../src/ledger/open-ledger.ts";
import { bookQueries } from "../../src/ledger/audit/audit-queries.ts";
import { openRequestsSql } from "../../src/gateway/records/request-rows.ts";
import { until } from "../support/books.ts";
import { closeRow, orgWithKey, reserveRow, voidRow } from "../support/ledger-rows.ts";
import { withPricedBackend, withLedger } from "../support/postgres.ts";
import { silentLog } from "../support/silent-log.ts";
import { testOperator } from "../support/test-operator.ts";
import { inSession, lockWallet } from "../support/sql.ts";

const backend = withPricedBackend();

const ledger = withLedger(backend, "main");

function open(instanceName: string, clock = systemClock): Promise<Ledger> {
  return openLedger({ store: backend.ledgerBatchStore, clock, log: silentLog, instanceName });
}

/** A row of a new attempt. */
function rowOf(org: Awaited<ReturnType<typeof orgWithKey>>, reserveMicroUsd: bigint): ReserveRow {
  return reserveRow({ ...org, attemptId: ledger.newAttemptId() }, reserveMicroUsd);
}

test("a request whose last hold was annulled keeps the cost of its earlier attempts", async () => {
  const org = await orgWithKey(backend, { creditMicroUsd: 500n });
  const first = rowOf(org, 500n);
  await ledger.reserve(first);
  await ledger.close(closeRow(first.attemptId, 10n));
  const lost = { ...first, attemptId: ledger.newAttemptId(), ordinal: 2 };
  await backend.ledgerBatchStore.annul([lost]);
  const range = { orgId: org.orgId, fromMs: 0, toMs: systemClock.nowMs() + 60_000 };
  const { rows } = await backend.usageReports.requests(range, { limit: 9 });
  expect(rows).toMatchObject([{ attempts: 2, debitMicroUsd: 10n, status: "failed" }]);
});

describe("in a journal with many other requests", () => {
  const DAY_OF_IDS = 86_400_000n << 22n;
  /**
   * Adds 300 open attempts, and 2,000 finished ones of each of two days, because PostgreSQL rightly
   * reads a small day as a whole. The last 300 of each day are second attempts of their requests.
   */
  const OTHERS_SQL = `
    with attempts as (
      insert into attempt select (jsonb_populate_record(a, jsonb_build_object(
        'attempt_id', attempt_id - day * ${DAY_OF_IDS} + n, 'request_id', gen_random_uuid(),
        'org_id', 'others', 'ordinal', 1 + (n > 1700)::integer))).*
      from attempt a, generate_series(0, 1) day, generate_series(1, 2000) n
      where attempt_id = (select max(attempt_id) from attempt)
      returning *
    )
    insert into hold (attempt_id, request_id, ordinal, org_id, key_id, model_id, provider_id,
      upstream_model_id, price_pin_id, route, stream, instance_id, epoch, estimated_tokens, reserve,
      month, opened_position)
    select attempt_id + 2000, gen_random_uuid(), 1, org_id, key_id, model_id, provider_id,
      upstream_model_id, price_pin_id, route, stream, instance_id, epoch, 1, 0, month, 1
    from attempts order by attempt_id limit 300`;

  test("finding a request, the requests in flight or an audit's days reads few rows of other requests", async () => {
    const org = await orgWithKey(backend, { creditMicroUsd: 500n });
    const row = rowOf(org, 500n);
    const { requestId, attemptId } = row;
    await ledger.reserve(row);
    await ledger.close(closeRow(attemptId, 10n));
    const since = { position: 0n, fromAttempt: attemptId + 1_701n, day: "2025-01-01" };
    const audit = bookQueries(since).find(({ id }) => id === "I21")?.sql ?? "";
    const joined = "select join_attempts(array[$1], array[$2::uuid], $3, $3)";
    await inSession(backend.connectionString, async (client) => {
      await beginSession(client, { statementTimeoutMs: 0 });
      await client.query("begin");
      await client.query(OTHERS_SQL);
      await client.query("analyze attempt");
      await client.query("analyze hold");
      const rowsRead = async (): Promise<number> => {
        const { rows } = await client.query<{ n: number }>(
          `select coalesce(sum(seq_tup_read + idx_tup_fetch), 0)::integer as n
          from pg_stat_xact_user_tables where relname like 'attempt%'`,
        );
        return rows[0]?.n ?? 0;
      };
      for (const [text, values, rowsMax] of [
        [joined, [org.orgId, requestId, attemptId], 10],
        [openRequestsSql("true"), ["others"], 10],
        [audit, [], 1_000],
      ] as const) {
        const before = await rowsRead();
        await client.query(text, [...values]);
        expect((await rowsRead()) - before, text).toBeLessThan(rowsMax);
      }
      await client.query("rollback");
    });
  });

  test("a request is looked up in the days around it, however long the journal is", async () => {
    await backend.query(`select ensure_attempt_partition(current_date - n)
      from generate_series(2, 20) n`);
    const id = ledger.newAttemptId();
    const rows = await backend.query(
      `with joined as materialized (select join_attempts(array['org'], array[$1::uuid], $2, $2)),
      locks as materialized (
        select relation from joined cross join lateral (
          select relation from pg_locks where pid = pg_backend_pid() and joined is not null offset 0
        ) held)
      select count(*)::integer as days from locks
      join pg_inherits on inhrelid = relation and inhparent = 'attempt'::regclass`,
      [createRequestId(systemClock.nowMs()), id],
    );
    expect(rows[0]?.["days"]).toBeLessThan(6);
  });
});

test("a closing and a hold that wait together share one commit, and the hold uses the freed money", async () => {
  const org = await orgWithKey(backend, { creditMicroUsd: 500n });
  const first = rowOf(org, 500n);
  const second = { ...first, attemptId: ledger.newAttemptId(), ordinal: 2 };
  expect(await ledger.reserve(first)).toEqual({ kind: "reserved" });
  const answers = [ledger.reserve(second), ledger.close(voidRow(first.attemptId))];
  expect(await Promise.all(answers)).toMatchObject([{ kind: "reserved" }, { kind: "closed" }]);
  const commits = await backend.query(
    `select xmin::text from hold where attempt_id = $1
    union all select xmin::text from attempt where attempt_id = $2`,
    [second.attemptId, first.attemptId],
  );
  expect(commits).toHaveLength(2);
  expect(new Set(commits.map(({ xmin }) => xmin)).size).toBe(1);
});

test("a hold with an id that is already taken fails alone, and the rest of its batch is reserved", async () => {
  const org = await orgWithKey(backend, { creditMicroUsd: 10_000n });
  const taken = rowOf(org, 1n);
  await ledger.reserve(taken);
  const rows = Array.from({ length: 20 }, (_, i) =>
    reserveRow({ ...org, attemptId: i === 13 ? taken.attemptId : ledger.newAttemptId() }, 1n),
  );
  const outcomes = await Promise.all(rows.map((row) => ledger.reserve(row)));
  expect(outcomes.map((outcome) => outcome.kind)).toEqual(
    rows.map((_, i) => (i === 13 ? "unavailable" : "reserved")),
  );
});

test("a hold whose day has no table is refused, because its end could not be written", async () => {
  const org = await orgWithKey(backend, { creditMicroUsd: 1_000n });
  const [{ id }] = (await backend.query(
    "select attempt_id_at(now() + interval '400 days') as id",
  )) as [{ id: bigint }];
  const rows = [ledger.newAttemptId(), id as AttemptId].map((attemptId) =>
    reserveRow({ ...org, attemptId }, 100n),
  );
  const outcomes = await Promise.all(rows.map((row) => ledger.reserve(row)));
  expect(outcomes).toMatchObject([{ kind: "reserved" }, { kind: "unavailable" }]);
  await ledger.close(voidRow(rows[0]?.attemptId as AttemptId));
});

test("a lost connection makes a reserve unavailable and leaves nothing held", async () => {
  const org = await orgWithKey(backend, { creditMicroUsd: 1_000n });
  const blocker = await lockWallet(backend, org);
  const row = rowOf(org, 100n);
  const answer = ledger.reserve(row);
  await expect
    .poll(() =>
      backend.query(`select pg_terminate_backend(pid) from pg_stat_activity
        where application_name = 'tokenmarket ledger' and wait_event_type = 'Lock'
          and datname = current_database()`),
    )
    .toHaveLength(1);
  expect(await answer).toMatchObject({ kind: "unavailable" });
  await blocker.end();
  await expect
    .poll(() => backend.query("select state from journal where attempt_id = $1", [row.attemptId]))
    .toEqual([{ state: "void" }]);
  const again = rowOf(org, 1_000n);
  expect(await ledger.reserve(again)).toEqual({ kind: "reserved" });
  const closed = await ledger.close(closeRow(again.attemptId, 1_000n));
  expect(closed).toMatchObject({ kind: "closed" });
});

test("closings that wait for a locked wallet do not delay another organization's holds", async () => {
  const org = await orgWithKey(backend, { creditMicroUsd: 1_000n });
  const other = await orgWithKey(backend, { creditMicroUsd: 1_000n });
  const rows = [1, 2].map(() => rowOf(org, 100n));
  for (const row of rows) expect(await ledger.reserve(row)).toEqual({ kind: "reserved" });
  const blocker = await lockWallet(backend, org);
  const [first, second] = rows.map(({ attemptId }) => closeRow(attemptId, 60n));
  if (first === undefined || second === undefined) throw new Error("two closings");
  const closings = [ledger.close(first)];
  const isLate = `select from pg_stat_activity where datname = current_database()
    and application_name = 'tokenmarket late closings' and wait_event_type = 'Lock'`;
  await until("it is a late one", async () => (await backend.query(isLate)).length === 1);
  closings.push(ledger.close(second));
  const held = rowOf(other, 100n);
  expect(await ledger.reserve(held)).toEqual({ kind: "reserved" });
  await blocker.end();
  await Promise.all(closings);
  await expect
    .poll(() => backend.recordStore.balance(org.orgId), { timeout: 10_000 })
    .toEqual({ settledMicroUsd: 880n, heldMicroUsd: 0n });
  expect(await ledger.close(voidRow(held.attemptId))).toMatchObject({ kind: "closed" });
});

test("a wallet that a hung process has locked takes holds again after seconds", async () => {
  const org = await orgWithKey(backend, { creditMicroUsd: 1_000n });
  let goOn = (): void => undefined;
  onTestFinished(() => goOn());
  let isLocked = false;
  const hung = backend.changeLog.write(testOperator, async (client) => {
    await client.query("select lock_wallets($1)", [[org.orgId]]);
    isLocked = true;
    await new Promise<void>((resolve) => (goOn = resolve));
  });
  await until("the wallet is locked", () => isLocked);
  const reserve = async (): Promise<string> => (await ledger.reserve(rowOf(org, 1n))).kind;
  expect(await reserve()).toBe("unavailable");
  await expect.poll(reserve, { timeout: 15_000, interval: 100 }).toBe("reserved");
  goOn();
  await expect(hung).rejects.toThrow();
});

test("attempt ids increase over restarts, even when the clock was set back", async () => {
  const org = await orgWithKey(backend, { creditMicroUsd: 10n });
  const row = rowOf(org, 1n);
  await ledger.reserve(row);
  await ledger.close(voidRow(row.attemptId));
  const past = { ...systemClock, nowMs: () => systemClock.nowMs() - 86_400_000 };
  const reborn = await open("past", past);
  expect(reborn.newAttemptId()).toBeGreaterThan(row.attemptId);
  await reborn.shutDown();
});

test("a ledger admits nothing after it has shut down", async () => {
  const org = await orgWithKey(backend, { creditMicroUsd: 10n });
  const brief = await open("brief");
  expect(brief.healthy).toBe(true);
  const row = reserveRow({ ...org, attemptId: brief.newAttemptId() }, 1n);
  const held = brief.reserve(row);
  await brief.shutDown();
  expect(await held).toEqual({ kind: "reserved" });
  expect(brief.healthy).toBe(false);
  expect(await brief.reserve({ ...row, attemptId: brief.newAttemptId() })).toMatchObject({
    kind: "unavailable",
  });
  await ledger.close(voidRow(row.attemptId));
});

test("the database refuses changed attempts and price pins, and a wallet that does not cover its holds", async () => {
  const org = await orgWithKey(backend, { creditMicroUsd: 10n });
  const row = rowOf(org, 2n);
  await ledger.reserve(row);
  await ledger.close(closeRow(row.attemptId, 2n));
  const debit = `update attempt set debit = 0 where attempt_id = ${row.attemptId}`;
  for (const sql of [debit, "update price_pin set prompt_pico = 0"])
    await expect(backend.query(sql)).rejects.toThrow("never changed");
  const wallet = `update account set reserved = 9 where account_id = 'wallet:${org.orgId}'`;
  await expect(backend.query(wallet)).rejects.toThrow("account_covers_its_holds");
});

test("the books balance after all tests", async () => {
  for (const check of await backend.audit()) expect(check).toMatchObject({ violations: 0 });
});
