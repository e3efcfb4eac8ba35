import { Client } from "pg";
import { afterEach, describe, expect, test } from "vitest";
import { createRequestId, type AttemptId, type KeyId } from "../../src/kernel/core/ids.ts";
import { microUsd } from "../../src/kernel/core/money.ts";
import { systemClock } from "../../src/kernel/core/time.ts";
import { beginSession } from "../../src/kernel/storage/connection.ts";
import type { Ledger, ReserveOutcome } from "../../src/ledger/ledger-store.ts";
import { openLedger } from "../../src/ledger/open-ledger.ts";
import { bookQueries } from "../../src/ledger/audit/audit-queries.ts";
import { openRequestsSql } from "../../src/gateway/records/request-rows.ts";
import { openPostgresBackend, type PostgresBackend } from "../../src/app/open-postgres-backend.ts";
import { until } from "../support/books.ts";
import { closeRow, keyOf, orgWithKey, reserveRow, voidRow } from "../support/ledger-rows.ts";
import { withPricedBackend, withLedger } from "../support/postgres.ts";
import { silentLog } from "../support/silent-log.ts";
import { testOperator } from "../support/test-operator.ts";
import { lockWallet } from "../support/sql.ts";

const backend = withPricedBackend();

const ledger = withLedger(backend, "main");
afterEach(expectCleanBooks);

function open(instanceName: string, through: PostgresBackend = backend): Promise<Ledger> {
  const store = through.ledgerBatchStore;
  return openLedger({ store, clock: systemClock, log: silentLog, instanceName });
}

async function expectCleanBooks(): Promise<void> {
  for (const check of await backend.audit()) expect(check).toMatchObject({ violations: 0 });
}

/** Opens another instance with separate connections. */
async function openPeer(): Promise<{ readonly peer: Ledger; readonly close: () => Promise<void> }> {
  const { connectionString } = backend;
  const its = openPostgresBackend({ connectionString, log: silentLog });
  const peer = await open("peer", its);
  const close = async (): Promise<void> => {
    await peer.shutDown();
    await its.close();
  };
  return { peer, close };
}

function count(outcomes: readonly ReserveOutcome[], kind: ReserveOutcome["kind"]): number {
  return outcomes.filter((outcome) => outcome.kind === kind).length;
}

test("a balance for exactly 10 requests admits exactly 10 of 200 simultaneous ones", async () => {
  const org = await orgWithKey(backend, { creditMicroUsd: 10n * 700n + 699n });
  const rows = Array.from({ length: 200 }, () =>
    reserveRow({ ...org, attemptId: ledger.newAttemptId() }, 700n),
  );
  const outcomes = await Promise.all(rows.map((row) => ledger.reserve(row)));
  expect(count(outcomes, "reserved")).toBe(10);
  expect(count(outcomes, "low_balance")).toBe(190);
  expect(outcomes.at(-1)).toEqual({
    kind: "low_balance",
    availableMicroUsd: 699n,
    heldMicroUsd: 7_000n,
  });
  const admitted = rows.filter((_, i) => outcomes[i]?.kind === "reserved");
  const closings = await Promise.all(
    admitted.map((row) => ledger.close(closeRow(row.attemptId, 600n))),
  );
  for (const closing of closings) {
    expect(closing).toEqual({ kind: "closed", debitMicroUsd: 600n, overrun: false });
  }
  const balance = await backend.recordStore.balance(org.orgId);
  expect(balance).toEqual({ settledMicroUsd: 1_699n, heldMicroUsd: 0n });
});

test("a balance that covers two requests exactly admits both beside a third", async () => {
  const org = await orgWithKey(backend, { creditMicroUsd: 100n });
  const amounts = [60n, 40n, 1n];
  const outcomes = await Promise.all(
    amounts.map((amount) =>
      ledger.reserve(reserveRow({ ...org, attemptId: ledger.newAttemptId() }, amount)),
    ),
  );
  expect(outcomes.map(({ kind }) => kind)).toEqual(["reserved", "reserved", "low_balance"]);
});

test("two instances with two keys of one organization cannot overspend together", async () => {
  const org = await orgWithKey(backend, { creditMicroUsd: 1_000n });
  const second = await keyOf(backend, org.orgId);
  const { peer, close } = await openPeer();
  const outcomes = await Promise.all(
    Array.from({ length: 120 }, (_, i) => {
      const through = i % 2 === 0 ? ledger : peer;
      const keyId = i % 3 === 0 ? second : org.keyId;
      const attemptId = through.newAttemptId();
      return through.reserve(reserveRow({ ...org, keyId, attemptId }, 90n));
    }),
  );
  expect(count(outcomes, "reserved")).toBe(11);
  await close();
});

test("two instances cannot exceed a cap together", async () => {
  const org = await orgWithKey(backend, { creditMicroUsd: 1_000_000n, keyCapMicroUsd: 1_000n });
  const { peer, close } = await openPeer();
  for (let round = 0; round < 5; round++) {
    const rows = Array.from({ length: 60 }, (_, i) => {
      const through = i % 2 === 0 ? ledger : peer;
      return { through, row: reserveRow({ ...org, attemptId: through.newAttemptId() }, 90n) };
    });
    const outcomes = await Promise.all(rows.map(({ through, row }) => through.reserve(row)));
    expect(count(outcomes, "reserved")).toBe(11);
    expect(count(outcomes, "cap")).toBe(49);
    await Promise.all(rows.map(({ row }) => ledger.close(voidRow(row.attemptId))));
  }
  await close();
});

test("the caps of a key and of its organization limit everything in flight", async () => {
  const org = await orgWithKey(backend, { creditMicroUsd: 1_000_000n, keyCapMicroUsd: 500n });
  const free = await keyOf(backend, org.orgId);
  expect(await backend.accountStore.setOrgCap(org.orgId, microUsd(800n), testOperator)).toBe(true);
  const reserveBy = (keyId: KeyId): Promise<ReserveOutcome> =>
    ledger.reserve(reserveRow({ ...org, keyId, attemptId: ledger.newAttemptId() }, 100n));
  const capped = await Promise.all(Array.from({ length: 40 }, () => reserveBy(org.keyId)));
  expect(count(capped, "reserved")).toBe(5);
  expect(capped.at(-1)).toMatchObject({
    kind: "cap",
    scope: "key",
    capMicroUsd: 500n,
    settledMicroUsd: 0n,
    inFlightMicroUsd: 500n,
  });
  const others = await Promise.all(Array.from({ length: 40 }, () => reserveBy(free)));
  expect(count(others, "reserved")).toBe(3);
  const now = new Date(systemClock.nowMs());
  expect(others.at(-1)).toMatchObject({
    kind: "cap",
    scope: "org",
    inFlightMicroUsd: 800n,
    resetAtMs: Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1),
  });
});

test("a hold of last month counts against this month's cap, and its debit does not", async () => {
  const org = await orgWithKey(backend, { creditMicroUsd: 1_000_000n, keyCapMicroUsd: 500n });
  const old = reserveRow({ ...org, attemptId: ledger.newAttemptId() }, 400n);
  expect(await ledger.reserve(old)).toEqual({ kind: "reserved" });
  for (const table of ["hold", "spend"]) {
    const column = table === "hold" ? "org_id = $1" : "id in ($1, $2)";
    const sql = `update ${table} set month = month - interval '1 month' where ${column}`;
    await backend.query(sql, table === "hold" ? [org.orgId] : [org.orgId, org.keyId]);
  }
  const next = (): Promise<ReserveOutcome> =>
    ledger.reserve(reserveRow({ ...org, attemptId: ledger.newAttemptId() }, 300n));
  expect(await next()).toMatchObject({ kind: "cap", settledMicroUsd: 0n, inFlightMicroUsd: 400n });
  await ledger.close(closeRow(old.attemptId, 400n));
  expect(await next()).toEqual({ kind: "reserved" });
  const spend = await backend.recordStore.monthSpend(org.orgId, org.keyId);
  expect(spend).toMatchObject({ spentMicroUsd: 0n, inFlightMicroUsd: 300n, capMicroUsd: 500n });
});

test("an attempt is closed once by its first closing, even within one batch", async () => {
  const org = await orgWithKey(backend, { creditMicroUsd: 1_000n });
  const row = reserveRow({ ...org, attemptId: ledger.newAttemptId() }, 500n);
  await ledger.reserve(row);
  const both = await Promise.all([
    ledger.close(closeRow(row.attemptId, 123n)),
    ledger.close(closeRow(row.attemptId, 400n)),
  ]);
  expect(both).toEqual([
    { kind: "closed", debitMicroUsd: 123n, overrun: false },
    { kind: "already_closed", debitMicroUsd: 123n },
  ]);
  const again = await ledger.close(voidRow(row.attemptId));
  expect(again).toEqual({ kind: "already_closed", debitMicroUsd: 123n });
  expect(await backend.recordStore.balance(org.orgId)).toEqual({
    settledMicroUsd: 877n,
    heldMicroUsd: 0n,
  });
});

test("a cost above the reserve is charged to the platform, never to the customer", async () => {
  const org = await orgWithKey(backend, { creditMicroUsd: 1_000n });
  const row = reserveRow({ ...org, attemptId: ledger.newAttemptId() }, 500n);
  await ledger.reserve(row);
  const outcome = await ledger.close(closeRow(row.attemptId, 720n));
  expect(outcome).toEqual({ kind: "closed", debitMicroUsd: 500n, overrun: true });
  const [loss] = await backend.query("select debits from account where account_id = 'overrun'");
  expect(loss).toEqual({ debits: "220" });
});

test("a failover closes one attempt and holds the next in one step", async () => {
  const org = await orgWithKey(backend, { creditMicroUsd: 500n });
  const first = reserveRow({ ...org, attemptId: ledger.newAttemptId() }, 500n);
  const second = { ...first, attemptId: ledger.newAttemptId(), ordinal: 2 };
  expect(await ledger.reserve(first)).toEqual({ kind: "reserved" });
  const rolled = await ledger.roll(voidRow(first.attemptId, { final: false }), second);
  expect(rolled).toEqual({ kind: "reserved" });
  const third = { ...first, attemptId: ledger.newAttemptId(), ordinal: 3 };
  const charged = await ledger.roll(closeRow(second.attemptId, 10n, { final: false }), third);
  expect(charged).toMatchObject({ kind: "low_balance", availableMicroUsd: 490n });
  const record = await backend.recordStore.generation(org.orgId, first.requestId);
  expect(record?.attempts.map((attempt) => [attempt.ordinal, attempt.debitMicroUsd])).toEqual([
    [1, 0n],
    [2, 10n],
  ]);
});

test("a request whose last hold was annulled keeps the cost of its earlier attempts", async () => {
  const org = await orgWithKey(backend, { creditMicroUsd: 500n });
  const first = reserveRow({ ...org, attemptId: ledger.newAttemptId() }, 500n);
  await ledger.reserve(first);
  await ledger.close(closeRow(first.attemptId, 10n));
  const lost = { ...first, attemptId: ledger.newAttemptId(), ordinal: 2 };
  await backend.ledgerBatchStore.annul([lost]);
  const range = { orgId: org.orgId, fromMs: 0, toMs: systemClock.nowMs() + 60_000 };
  const { rows } = await backend.usageReports.requests(range, { limit: 9 });
  expect(rows).toMatchObject([{ attempts: 2, debitMicroUsd: 10n, status: "failed" }]);
});

describe("in a journal with many other requests", () => {
  /**
   * How many rows of attempts a statement reads beside 300 open attempts and 2,000 finished ones a
   * day. Both days have them, because a day with few rows is read whole, and rightly.
   */
  async function readBy(text: string, values: readonly unknown[]): Promise<number> {
    const client = new Client({ connectionString: backend.connectionString });
    await client.connect();
    await beginSession(client, { statementTimeoutMs: 0 });
    const read = async (): Promise<number> => {
      const { rows } = await client.query<{ n: number }>(
        `select coalesce(sum(seq_tup_read + idx_tup_fetch), 0)::integer as n
        from pg_stat_xact_user_tables where relname like 'attempt%'`,
      );
      return rows[0]?.n ?? 0;
    };
    try {
      await client.query("begin");
      await client.query(OTHERS_SQL);
      await client.query("analyze attempt");
      await client.query("analyze hold");
      const before = await read();
      await client.query(text, [...values]);
      return (await read()) - before;
    } finally {
      await client.query("rollback");
      await client.end();
    }
  }

  const DAY_OF_IDS = 86_400_000n << 22n;
  /** The last 300 of each day are second attempts of their requests. */
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

  test("the row of a request is found without reading the attempts of its days", async () => {
    const org = await orgWithKey(backend, { creditMicroUsd: 500n });
    const row = reserveRow({ ...org, attemptId: ledger.newAttemptId() }, 500n);
    await ledger.reserve(row);
    await ledger.close(closeRow(row.attemptId, 10n));
    const joined = "select join_attempts(array[$1], array[$2::uuid], $3, $3)";
    expect(await readBy(joined, [org.orgId, row.requestId, row.attemptId])).toBeLessThan(10);
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

  test("an audit from a checkpoint does not read what precedes it", async () => {
    const [last] = await backend.query("select max(attempt_id)::text as id from attempt");
    const fromAttempt = BigInt(String(last?.["id"])) + 1_701n;
    const queries = bookQueries({ position: 0n, fromAttempt, day: "2025-01-01" });
    const query = queries.find(({ id }) => id === "I21");
    expect(await readBy(query?.sql ?? "", [])).toBeLessThan(1_000);
  });

  test("the requests in flight are found without reading those that have ended", async () => {
    const text = openRequestsSql("$1", "true");
    expect(await readBy(text, ["others"])).toBeLessThan(10);
  });
});

test("a closing and a hold that wait together commit at once, with the freed money", async () => {
  const org = await orgWithKey(backend, { creditMicroUsd: 500n });
  const first = reserveRow({ ...org, attemptId: ledger.newAttemptId() }, 500n);
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

test("one row that breaks the books does not fail the rest of its batch", async () => {
  const org = await orgWithKey(backend, { creditMicroUsd: 10_000n });
  const taken = reserveRow({ ...org, attemptId: ledger.newAttemptId() }, 1n);
  await ledger.reserve(taken);
  const rows = Array.from({ length: 20 }, (_, i) =>
    reserveRow({ ...org, attemptId: i === 13 ? taken.attemptId : ledger.newAttemptId() }, 1n),
  );
  const outcomes = await Promise.all(rows.map((row) => ledger.reserve(row)));
  expect(outcomes.map((outcome) => outcome.kind)).toEqual(
    rows.map((_, i) => (i === 13 ? "unavailable" : "reserved")),
  );
});

test("a key of another organization reserves nothing", async () => {
  const rich = await orgWithKey(backend, { creditMicroUsd: 10_000n });
  const poor = await orgWithKey(backend, { creditMicroUsd: 0n });
  const row = reserveRow(
    { orgId: rich.orgId, keyId: poor.keyId, attemptId: ledger.newAttemptId() },
    1n,
  );
  expect(await ledger.reserve(row)).toMatchObject({ kind: "unavailable" });
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
  await expectCleanBooks();
});

test("attempts of a crashed instance are charged their reserve once, by any number of peers", async () => {
  const org = await orgWithKey(backend, { creditMicroUsd: 1_000n });
  const dead = await backend.ledgerBatchStore.join("crashing", 10_000);
  const rows = [100n, 250n].map((reserve) =>
    reserveRow({ ...org, attemptId: ledger.newAttemptId() }, reserve),
  );
  const entries = rows.map((row) => ({ row, close: null }));
  await backend.ledgerBatchStore.reserveBatch(dead, entries);
  const living = reserveRow({ ...org, attemptId: ledger.newAttemptId() }, 30n);
  await ledger.reserve(living);
  const reborn = await open("crashing");
  const counts = await Promise.all(
    Array.from({ length: 4 }, () => backend.ledgerBatchStore.recoverOpenAttempts()),
  );
  expect(counts).toEqual([0, 0, 0, 0]);
  expect(await backend.recordStore.balance(org.orgId)).toEqual({
    settledMicroUsd: 650n,
    heldMicroUsd: 30n,
  });
  await ledger.close(voidRow(living.attemptId));
  const [row] = rows;
  if (row === undefined) throw new Error("no row");
  const record = await backend.recordStore.generation(org.orgId, row.requestId);
  expect(record).toMatchObject({
    outcome: "unknown_after_crash",
    attempts: [{ debitMicroUsd: 100n, basis: "unknown_after_crash" }],
  });
  // The zombie can hold nothing any more.
  const zombie = reserveRow({ ...org, attemptId: ledger.newAttemptId() }, 1n);
  const fenced = await backend.ledgerBatchStore.reserveBatch(dead, [{ row: zombie, close: null }]);
  expect(fenced).toEqual([{ kind: "unavailable", reason: "fenced" }]);
  await reborn.shutDown();
});

describe("stores without a running ledger", () => {
  // A running ledger takes over dead instances too, whenever it renews its lease.
  const alone = withPricedBackend();

  test("let only one peer take over an instance whose lease has ended", async () => {
    const org = await orgWithKey(alone, { creditMicroUsd: 1_000n });
    const dead = await alone.ledgerBatchStore.join("elsewhere", 0);
    const row = reserveRow({ ...org, attemptId: 77n as AttemptId }, 300n);
    await alone.ledgerBatchStore.reserveBatch(dead, [{ row, close: null }]);
    const taken = await Promise.all(
      Array.from({ length: 5 }, () => alone.ledgerBatchStore.takeOverDeadInstances()),
    );
    expect(taken.flat()).toEqual(["elsewhere"]);
    const closed = await Promise.all(
      Array.from({ length: 5 }, () => alone.ledgerBatchStore.recoverOpenAttempts()),
    );
    expect(closed.reduce((sum, one) => sum + one, 0)).toBe(1);
    const witness = { beat: 0n, storeNowMs: dead.storeNowMs, attemptId: null };
    const renewal = { member: dead, witness, leaseMs: 10_000, goesOn: false };
    expect(await alone.ledgerBatchStore.renewLease(renewal)).toEqual({ kind: "taken_over" });
  });
});

test("a lost connection makes a reserve unavailable and leaves nothing held", async () => {
  const org = await orgWithKey(backend, { creditMicroUsd: 1_000n });
  const blocker = await lockWallet(backend, org);
  const row = reserveRow({ ...org, attemptId: ledger.newAttemptId() }, 100n);
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
  const again = reserveRow({ ...org, attemptId: ledger.newAttemptId() }, 1_000n);
  expect(await ledger.reserve(again)).toEqual({ kind: "reserved" });
  const closed = await ledger.close(closeRow(again.attemptId, 1_000n));
  expect(closed).toMatchObject({ kind: "closed" });
});

test("a closing that cannot commit is pending, and commits later by itself", async () => {
  const org = await orgWithKey(backend, { creditMicroUsd: 1_000n });
  const row = reserveRow({ ...org, attemptId: ledger.newAttemptId() }, 100n);
  await ledger.reserve(row);
  const blocker = await lockWallet(backend, org);
  expect(await ledger.close(closeRow(row.attemptId, 60n))).toEqual({ kind: "pending" });
  await blocker.end();
  await expect
    .poll(() => backend.recordStore.balance(org.orgId), { timeout: 10_000 })
    .toEqual({ settledMicroUsd: 940n, heldMicroUsd: 0n });
});

test("closings that wait for a locked wallet do not delay another organization's holds", async () => {
  const org = await orgWithKey(backend, { creditMicroUsd: 1_000n });
  const other = await orgWithKey(backend, { creditMicroUsd: 1_000n });
  const rows = [1, 2].map(() => reserveRow({ ...org, attemptId: ledger.newAttemptId() }, 100n));
  for (const row of rows) expect(await ledger.reserve(row)).toEqual({ kind: "reserved" });
  const blocker = await lockWallet(backend, org);
  const [first, second] = rows.map(({ attemptId }) => closeRow(attemptId, 60n));
  if (first === undefined || second === undefined) throw new Error("two closings");
  const closings = [ledger.close(first)];
  const isLate = `select from pg_stat_activity where datname = current_database()
    and application_name = 'tokenmarket late closings' and wait_event_type = 'Lock'`;
  await until("it is a late one", async () => (await backend.query(isLate)).length === 1);
  closings.push(ledger.close(second));
  const held = reserveRow({ ...other, attemptId: ledger.newAttemptId() }, 100n);
  expect(await ledger.reserve(held)).toEqual({ kind: "reserved" });
  await blocker.end();
  await Promise.all(closings);
  await expect
    .poll(() => backend.recordStore.balance(org.orgId), { timeout: 10_000 })
    .toEqual({ settledMicroUsd: 880n, heldMicroUsd: 0n });
  expect(await ledger.close(voidRow(held.attemptId))).toMatchObject({ kind: "closed" });
});

test("a refused request is found by its id, but only by its organization", async () => {
  const org = await orgWithKey(backend, { creditMicroUsd: 0n });
  const other = await orgWithKey(backend, { creditMicroUsd: 0n });
  const requestId = createRequestId(systemClock.nowMs());
  ledger.recordRefused({
    ...org,
    requestId,
    modelId: 'a "quoted" {model}\0',
    route: "/v1/messages",
    stream: true,
    errorClass: "insufficient_quota",
    createdAtMs: systemClock.nowMs(),
  });
  await expect
    .poll(() => backend.recordStore.generation(org.orgId, requestId))
    .toMatchObject({ outcome: "refused", attempts: [], modelId: 'a "quoted" {model}' });
  expect(await backend.recordStore.generation(other.orgId, requestId)).toBeUndefined();
});

test("attempt ids increase over restarts, even when the clock was set back", async () => {
  const org = await orgWithKey(backend, { creditMicroUsd: 10n });
  const row = reserveRow({ ...org, attemptId: ledger.newAttemptId() }, 1n);
  await ledger.reserve(row);
  await ledger.close(voidRow(row.attemptId));
  const past = { ...systemClock, nowMs: () => systemClock.nowMs() - 86_400_000 };
  const store = backend.ledgerBatchStore;
  const options = { store, clock: past, log: silentLog, instanceName: "past" };
  const reborn = await openLedger(options);
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

test("the database refuses to change or delete transfers and attempts", async () => {
  const org = await orgWithKey(backend, { creditMicroUsd: 10n });
  const row = reserveRow({ ...org, attemptId: ledger.newAttemptId() }, 2n);
  await ledger.reserve(row);
  await ledger.close(closeRow(row.attemptId, 2n));
  const attempts = [
    "update transfer set amount = 1",
    "delete from transfer",
    "truncate transfer cascade",
    `update attempt set debit = 0 where attempt_id = ${row.attemptId}`,
    "update price_pin set prompt_pico = 0",
  ];
  for (const sql of attempts) await expect(backend.query(sql)).rejects.toThrow("never changed");
  const wallet = `update account set reserved = 9 where account_id = 'wallet:${org.orgId}'`;
  await expect(backend.query(wallet)).rejects.toThrow("account_covers_its_holds");
});
