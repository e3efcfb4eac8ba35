import { generateKeyPairSync } from "node:crypto";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import type { Change } from "../../src/kernel/changes/change.ts";
import { exportLines } from "../../src/kernel/changes/change-chain.ts";
import { LEASE_MS } from "../../src/kernel/core/constants.ts";
import { attemptIdMaker } from "../../src/kernel/core/ids.ts";
import { microUsd, picoUsd } from "../../src/kernel/core/money.ts";
import { systemClock } from "../../src/kernel/core/time.ts";
import type { Membership } from "../../src/ledger/ledger-batch-store.ts";
import type { ReserveRow } from "../../src/ledger/ledger-store.ts";
import { readLostChanges, type ReopenRequest } from "../../src/ledger/reopen-books.ts";
import { changesOf } from "../support/change-writes.ts";
import { closeRow, orgWithKey, reserveRow } from "../support/ledger-rows.ts";
import { withPricedBackend } from "../support/postgres.ts";
import { testOperator } from "../support/test-operator.ts";

const REQUEST: ReopenRequest = {
  reason: "the disk was lost",
  openAttempts: "void",
  isNothingLost: false,
  closings: [],
};

const NOTHING_LOST: ReopenRequest = { ...REQUEST, openAttempts: "kept", isNothingLost: true };

const signer = generateKeyPairSync("ed25519");
const backend = withPricedBackend();

beforeAll(() => backend.ledgerBatchStore.maintain());
afterEach(() => backend.query("update instance_lease set lease_until = now()"));
afterAll(async () => {
  const broken = (await backend.audit()).filter(({ violations }) => violations > 0);
  if (broken.length > 0) throw new Error(JSON.stringify(broken));
});

const newOrg = (more: { readonly keyCapMicroUsd?: bigint } = {}): ReturnType<typeof orgWithKey> =>
  orgWithKey(backend, { creditMicroUsd: 100n, ...more });

async function rowOf(member: Membership): Promise<ReserveRow> {
  const attemptId = attemptIdMaker(member.number)(systemClock.nowMs());
  return reserveRow({ ...(await newOrg()), attemptId }, 40n);
}

/** Holds an attempt of a dead instance. */
async function hold(): Promise<ReserveRow> {
  const member = await backend.ledgerBatchStore.join("one", 0);
  const row = await rowOf(member);
  await backend.ledgerBatchStore.hold(member, row);
  return row;
}

/** The attempt's line in the journal, and its wallet's balance and reserved amount. */
async function ended({ attemptId, orgId }: ReserveRow): Promise<unknown> {
  const sql = `select state, outcome, debit::integer, (credits - debits)::integer as balance,
      reserved::integer from journal join account on account_id = 'wallet:' || $2
    where attempt_id = $1`;
  return (await backend.query(sql, [attemptId, orgId]))[0];
}

test("the books are not reopened while an instance may take traffic", async () => {
  await backend.ledgerBatchStore.join("alive", LEASE_MS);
  const reopening = backend.reopenBooks(REQUEST, testOperator);
  await expect(reopening).rejects.toMatchObject({ name: "ReopenFault" });
  await expect(reopening).rejects.toThrow(/^the books were not reopened: .* alive until .*; stop/);
  expect(await backend.query("select life from ledger_life")).toEqual([]);
});

test("an attempt that was open at the restore costs nothing, and its late end changes nothing", async () => {
  const held = await hold();
  const { life, closedAttempts, openJobs } = await backend.reopenBooks(REQUEST, testOperator);
  expect({ life, closedAttempts, openJobs }).toEqual({ life: 2, closedAttempts: 1, openJobs: 0 });
  const voided = { state: "void", outcome: "lost_in_restore", debit: 0, balance: 100, reserved: 0 };
  expect(await ended(held)).toEqual(voided);
  expect(await backend.ledgerBatchStore.closeBatch([closeRow(held.attemptId, 7n)])).toMatchObject([
    { kind: "already_closed", debitMicroUsd: 0n },
  ]);
  expect(await ended(held)).toEqual(voided);
  const made = (await changesOf(backend, "ledger.reopen")).filter(
    ({ target }) => target === "life 2",
  );
  const after = { reason: REQUEST.reason, open_attempts: "void", closed_attempts: 1 };
  expect(made).toMatchObject([{ by: testOperator, before: null, after }]);
});

test("a running job at a provider stays open after a reopening, and another instance adopts its attempt", async () => {
  const held = await hold();
  await backend.ledgerBatchStore.attachJob(held.attemptId, "job");
  expect(await backend.reopenBooks(REQUEST, testOperator)).toMatchObject({
    closedAttempts: 0,
    openJobs: 1,
  });
  const next = await backend.ledgerBatchStore.join("two", LEASE_MS);
  const adopted = await backend.ledgerBatchStore.adoptAttempts(next, 10);
  expect(adopted.map(({ attemptId }) => attemptId)).toEqual([held.attemptId]);
  await backend.ledgerBatchStore.closeBatch([closeRow(held.attemptId, 7n)]);
});

test("no instance from before the reopening or from the lost time can reserve anything again", async () => {
  const before = await backend.ledgerBatchStore.join("one", 0);
  await backend.reopenBooks(REQUEST, testOperator);
  const now = await backend.ledgerBatchStore.join("one", LEASE_MS);
  expect(now.life).toBe(before.life + 1);
  const witness = { beat: 0n, storeNowMs: before.storeNowMs, attemptId: null };
  for (const starts of [0n, 1n, 2n, 1_000n]) {
    const stale = { ...before, epoch: before.epoch + starts };
    const asked = { member: stale, witness, leaseMs: LEASE_MS, goesOn: false };
    expect(await backend.ledgerBatchStore.renewLease(asked)).toEqual({ kind: "taken_over" });
    const entry = { row: await rowOf(stale), close: null };
    expect(await backend.ledgerBatchStore.reserveBatch(stale, [entry])).toMatchObject([
      { kind: "unavailable" },
    ]);
  }
  // The restored database does not know this instance's name.
  const fresh = await backend.ledgerBatchStore.join("first seen in this life", LEASE_MS);
  expect(fresh.epoch).toBeGreaterThan(1_000_000n);
});

test("the lost time begins 15 seconds before the restored instant, and no attempt is closed within it", async () => {
  const held = await hold();
  const restoredToMs = systemClock.nowMs();
  const books = await backend.reopenBooks({ ...REQUEST, restoredToMs }, testOperator);
  expect(books.restoredToMs).toBe(restoredToMs);
  expect(books.lostFromMs).toBe(restoredToMs - 15_000);
  const [row] = await backend.query(
    "select closed_at >= $2 as is_after from attempt where attempt_id = $1",
    [held.attemptId, new Date(books.lostUntilMs)],
  );
  expect(row).toEqual({ is_after: true });
  const tomorrowMs = systemClock.nowMs() + 86_400_000;
  const reopening = backend.reopenBooks({ ...REQUEST, restoredToMs: tomorrowMs }, testOperator);
  await expect(reopening).rejects.toThrow("the books cannot be restored to the future");
});

test("a reopening that lost nothing leaves attempts open, which then end and are debited as usual", async () => {
  const held = await hold();
  expect(await backend.reopenBooks(NOTHING_LOST, testOperator)).toMatchObject({
    closedAttempts: 0,
    endedSessions: 0,
  });
  await backend.ledgerBatchStore.closeBatch([closeRow(held.attemptId, 7n)]);
  expect(await ended(held)).toMatchObject({ state: "settled", debit: 7 });
});

type Made = Pick<Change, "action" | "target"> &
  Partial<Pick<Change, "before" | "after" | "orgId">> & { readonly atMs?: number };

/** Exports these changes as a signed change log, as `changes export` does. */
async function exported(changes: readonly Made[], of: object = {}): Promise<string> {
  const rest = { atMs: 0, by: testOperator, orgId: null, before: null, after: null };
  const rows = changes.map((change, at) => ({ ...rest, ...change, position: at + 1 }));
  const blocks = (async function* () {
    yield rows;
  })();
  const filter = { sinceMs: 0, ...of };
  const lines: string[] = [];
  const asked = { filter, nowMs: 0, privateKey: signer.privateKey };
  for await (const line of exportLines(blocks, asked)) lines.push(`${line}\n`);
  return lines.join("");
}

/** Reopens the books, and limits access again as these changes of the lost time did. */
async function reopenWith(changes: readonly Made[], sinceMs = 0): Promise<unknown> {
  const outcome = await readLostChanges(await exported(changes, { sinceMs }), signer.publicKey);
  if (outcome.kind === "unreadable") throw new Error(outcome.problem);
  const { closings, sinceMs: changesSinceMs } = outcome;
  const request = { ...REQUEST, closings, changesSinceMs };
  return (await backend.reopenBooks(request, testOperator)).closedAgain;
}

test("access that was closed in the lost time is closed again, and none is opened", async () => {
  const [a, b] = [await newOrg({ keyCapMicroUsd: 50n }), await newOrg()];
  await backend.accountStore.setOrgCap(a.orgId, microUsd(3_000_000n), testOperator);
  await backend.accountStore.setOrgCap(b.orgId, microUsd(1_000_000n), testOperator);
  const restricted = { kind: "chat", state: "restricted", until: null, reason: "many keys" };
  const closedAgain = await reopenWith([
    { action: "key.disable", target: b.keyId, after: { disabled_at: "2026-11-01T00:00:00Z" } },
    // A cap that was raised keeps its restored value.
    { action: "key.cap", target: a.keyId, after: { cap_usd: "9.00" } },
    // A cap that was lowered twice gets its last value, even if the first one was lower.
    { action: "org.cap", target: a.orgId, after: { cap_usd: "1.00" } },
    { action: "org.cap", target: a.orgId, after: { cap_usd: "2.00" } },
    // A cap that was lowered and then removed keeps its restored value.
    { action: "org.cap", target: b.orgId, after: { cap_usd: "0.50" } },
    { action: "org.cap", target: b.orgId, after: { cap_usd: null } },
    { action: "hold.place", target: a.orgId, after: restricted },
    { action: "hold.place", target: b.orgId, after: restricted },
    {
      action: "hold.lift",
      target: b.orgId,
      before: restricted,
      after: { lifted_because: "a test" },
    },
    { action: "key.disable", target: "key_made_in_the_lost_time", after: {} },
  ]);
  expect(closedAgain).toEqual({
    keysDisabled: 1,
    capsLowered: 1,
    connectionsDisabled: 0,
    holdsPlaced: 1,
    topUpsTurnedOff: 0,
  });
  const caps = "select cap_micro_usd::integer as cap from org where org_id = any ($1) order by cap";
  expect(await backend.query(caps, [[a.orgId, b.orgId]])).toEqual([
    { cap: 1_000_000 },
    { cap: 2_000_000 },
  ]);
  const keys = `select cap_micro_usd::integer as cap, disabled_at is null as is_open from api_key
    where key_id = any ($1) order by cap`;
  expect(await backend.query(keys, [[a.keyId, b.keyId]])).toEqual([
    { cap: 50, is_open: true },
    { cap: null, is_open: false },
  ]);
});

test("access is closed again only once, to the lower of two caps and with the end of each restriction", async () => {
  const [raised, uncapped, held] = [await newOrg(), await newOrg(), await newOrg()];
  await backend.accountStore.setOrgCap(raised.orgId, microUsd(1_000_000n), testOperator);
  await backend.query(
    `insert into connection (connection_id, org_id, provider_id, name, label, sealed_key) values
      ('con_closed', $1, 'one', '', '', ''), ('con_open', $1, 'two', '', '', '')`,
    [held.orgId],
  );
  // A restriction without an end, one that ends a day too early, and one that was lifted.
  await backend.query(
    `insert into usage_hold (org_id, family, state, reason, until_at, lifted_at) values
      ($1, 'chat', 'restricted', 'kept', null, null),
      ($1, 'images', 'limited', 'kept', '2999-01-01Z', null),
      ($1, 'videos', 'restricted', 'kept', null, now())`,
    [held.orgId],
  );
  const placed = (kind: string, state: string, until: string | null): Made => {
    const after = { kind, state, until, reason: "again" };
    return { action: "hold.place", target: held.orgId, after };
  };
  const changes = [
    { action: "org.cap", target: raised.orgId, after: { cap_usd: "4.00" } },
    { action: "org.cap", target: uncapped.orgId, after: { cap_usd: "1.50" } },
    { action: "key.cap", target: uncapped.keyId, after: { cap_usd: "0.25" } },
    { action: "connection.disable", target: "con_closed", after: {} },
    { action: "key.disable", target: "con_open", after: {} },
    placed("chat", "restricted", null),
    placed("images", "limited", "2999-01-02T00:00:00.000Z"),
    placed("videos", "restricted", null),
    placed("decisions", "limited", "2025-02-01T00:00:00.000Z"),
  ] as const;
  expect(await reopenWith(changes)).toEqual({
    keysDisabled: 0,
    capsLowered: 2,
    connectionsDisabled: 1,
    holdsPlaced: 2,
    topUpsTurnedOff: 0,
  });
  const caps = `select cap_micro_usd::integer as cap from org where org_id = any ($1)
    union all select cap_micro_usd::integer from api_key where key_id = $2 order by cap`;
  expect(await backend.query(caps, [[raised.orgId, uncapped.orgId], uncapped.keyId])).toEqual([
    { cap: 250_000 },
    { cap: 1_000_000 },
    { cap: 1_500_000 },
  ]);
  const open = "select connection_id from connection where org_id = $1 and disabled_at is null";
  expect(await backend.query(open, [held.orgId])).toEqual([{ connection_id: "con_open" }]);
  const holds = `select family, state, reason, until_at from usage_hold
    where org_id = $1 and lifted_at is null order by family, until_at`;
  const until = (day: string): Date => new Date(`${day}T00:00:00Z`);
  expect(await backend.query(holds, [held.orgId])).toEqual([
    { family: "chat", state: "restricted", reason: "kept", until_at: null },
    { family: "images", state: "limited", reason: "kept", until_at: until("2999-01-01") },
    { family: "images", state: "limited", reason: "again", until_at: until("2999-01-02") },
    { family: "videos", state: "restricted", reason: "again", until_at: null },
  ]);
  // A second time, everything is closed already, so nothing changes.
  expect(Object.values((await reopenWith(changes)) as object)).toEqual([0, 0, 0, 0, 0]);
});

test("a key rotated in the lost time expires when its old secret would have", async () => {
  const [leaked, graced, twice] = [await newOrg(), await newOrg(), await newOrg()];
  const [kept, before] = [await newOrg(), await newOrg()];
  const atMs = Date.now();
  const rotated = ({ keyId }: typeof leaked, until: string | null, ms = atMs): Made => {
    const after = { old_works_until: until };
    return { action: "key.rotate", target: keyId, after, atMs: ms };
  };
  // The restored books have this key's rotation, and so its new secret.
  await backend.query(
    `insert into change (position, at, actor_kind, actor_id, action, target)
    values (nextval('change_position'), $1, 'operator', 'one', 'key.rotate', $2)`,
    [new Date(atMs), kept.keyId],
  );
  const changes = [
    rotated(leaked, null),
    rotated(graced, "2999-01-01T00:00:00.000Z"),
    rotated(kept, null),
    rotated(before, null, Date.UTC(2025, 0, 1)),
    // The second rotation ended the first secret, which the restored books have again.
    rotated(twice, "2999-01-01T00:00:00.000Z"),
    rotated(twice, "2999-01-02T00:00:00.000Z", atMs + 1),
  ];
  expect(await reopenWith(changes)).toMatchObject({ keysDisabled: 3 });
  const ends = async ({ keyId }: typeof leaked): Promise<unknown> => {
    const sql = "select case when expires_at <= now() then 'ended' else expires_at::text end as is";
    return (await backend.query(`${sql} from api_key where key_id = $1`, [keyId]))[0]?.["is"];
  };
  expect(await Promise.all([leaked, graced, kept, before, twice].map(ends))).toEqual([
    "ended",
    expect.stringMatching(/^2999-01-01/),
    null,
    null,
    "ended",
  ]);
  expect(await reopenWith(changes)).toMatchObject({ keysDisabled: 0 });
});

const rule = (on: boolean, facts: object = {}): Omit<Made, "target"> => {
  const amounts = { below_usd: "2.00", amount_usd: "10.00", month_max_usd: "50.00" };
  return { action: "topup.rule", after: { on, ...amounts, ...facts } };
};
const pause = { action: "topup.pause", after: { on: false, reason: "operator" } } as const;

test.each([
  ["turned off", [rule(false)], false],
  ["paused", [rule(true, { month_max_usd: "90.00" }), pause], false],
  ["given a lower limit of the month", [rule(true, { month_max_usd: "40.00" })], false],
  ["given a lower amount", [rule(true, { amount_usd: "5.00" })], false],
  ["given a lower limit, and then changed", [rule(true, { below_usd: "1.00" }), rule(true)], true],
  ["turned off, and on again", [rule(false), pause, rule(true)], true],
  ["given a higher limit", [rule(true, { month_max_usd: "90.00" })], true],
] as const)(
  "an automatic top-up that was %s in the lost time buys nothing that its last rule would not",
  async (_, made, isOn) => {
    const { orgId } = await newOrg();
    await backend.query(
      `insert into top_up_rule (org_id, is_on, below, amount, month_max)
      values ($1, true, 2000000, 10000000, 50000000)`,
      [orgId],
    );
    const changes = made.map((change) => ({ ...change, target: orgId }));
    expect(await reopenWith(changes)).toMatchObject({ topUpsTurnedOff: isOn ? 0 : 1 });
    const sql = "select is_on from top_up_rule where org_id = $1";
    expect(await backend.query(sql, [orgId])).toEqual([{ is_on: isOn }]);
  },
);

test.each([
  ["in the lost time, and is in the books again, is not charged by itself", "pm_1", 1],
  ["before the restored time, is not in the books, and its removal turns nothing off", "pm_2", 0],
] as const)(
  "a card that was removed %s, although another one was saved",
  async (_, card, topUpsTurnedOff) => {
    const { orgId } = await newOrg();
    await backend.query("insert into top_up_rule values ($1, true, 2000000, 10000000, 50000000)", [
      orgId,
    ]);
    await backend.query(
      `insert into payment_customer values
        ($1, false, 'cus_1', $2, 'visa', '4242', 1, 2030, now(), now(), null)`,
      [orgId, card],
    );
    const changes = [
      { action: "card.remove", target: "pm_1", orgId, before: { card: "4242" } },
      { action: "card.save", target: "pm_2", orgId, after: { card: "5555" } },
      { ...rule(true), target: orgId },
    ] as const;
    expect(await reopenWith(changes)).toMatchObject({ topUpsTurnedOff });
  },
);

test("a change log that begins after the restored time is refused, and the books stay closed", async () => {
  const { keyId } = await newOrg();
  const disabled = { action: "key.disable", target: keyId, after: {} } as const;
  const lives = () => backend.query("select life from ledger_life");
  const before = await lives();
  await expect(reopenWith([disabled], Date.UTC(2999, 0))).rejects.toMatchObject({
    name: "ReopenFault",
    message: expect.stringMatching(/begins at 2999-01-01T00:00:00.000Z, .*; name one/) as unknown,
  });
  expect(await lives()).toEqual(before);
  expect(await reopenWith([disabled])).toMatchObject({ keysDisabled: 1 });
});

test("a change log that was edited, signed with another key or filtered is refused", async () => {
  const two = [
    { action: "key.disable", target: "key_1", after: {} },
    { action: "key.disable", target: "key_3", after: {} },
  ] as const;
  const text = await exported(two);
  for (const read of [text, text.replaceAll("\n", "\r\n")]) {
    const outcome = await readLostChanges(read, signer.publicKey);
    expect(outcome).toMatchObject({ kind: "read", changes: 2 });
  }
  const another = generateKeyPairSync("ed25519").publicKey;
  for (const [refused, publicKey, problem] of [
    [text.replace("key_1", "key_2"), signer.publicKey, /^line 1: .*edited/],
    [text, another, /^line 3: it is not signed by this key$/],
    [await exported(two, { actionPrefix: "key." }), signer.publicKey, /^it is a part/],
    [await exported(two, { orgId: "org_1" }), signer.publicKey, /^it is a part/],
  ] as const) {
    expect(await readLostChanges(refused, publicKey)).toMatchObject({
      kind: "unreadable",
      problem: expect.stringMatching(problem) as unknown,
    });
  }
});

test("every browser is signed out for good, unless nothing was lost", async () => {
  const { orgId } = await newOrg();
  await backend.query(
    `insert into console_account (account_id, org_id, email, email_norm, created_at)
      values ('acc', $1, 'a@b.c', 'a@b.c', now())`,
    [orgId],
  );
  await backend.query(`insert into console_session (session_id, account_id, issuer, subject,
      started_at, expires_at, last_seen_at, idp_checked_at, idp_tried_at)
    values (sha256('one'), 'acc', 'i', 's', now(), now() + interval '1 day', now(), now(), now())`);
  const soon = "now() + interval '1 day'";
  await backend.query(`insert into console_reveal values (sha256('one'), '', '', '', ${soon})`);
  await backend.query(`insert into local_claim (token_hash, expires_at)
    values (sha256('link'), ${soon})`);
  const left = `select (select count(*) from console_session where ended_at is null) as sessions,
    (select count(*) from console_reveal) as reveals, (select count(*) from local_claim) as claims`;
  expect(await backend.reopenBooks(NOTHING_LOST, testOperator)).toMatchObject({ endedSessions: 0 });
  expect(await backend.query(left)).toEqual([{ sessions: "1", reveals: "1", claims: "1" }]);
  expect(await backend.reopenBooks(REQUEST, testOperator)).toMatchObject({ endedSessions: 1 });
  expect(await backend.query(left)).toEqual([{ sessions: "0", reveals: "0", claims: "0" }]);
});

test.each([
  ["attempt", (held: ReserveRow) => String(held.attemptId)],
  ["request", (held: ReserveRow) => held.requestId],
] as const)(
  "a voided attempt, billed by the id of its %s, is owed to its provider once, and no customer pays for it",
  async (of, idOf) => {
    const held = await hold();
    await backend.reopenBooks(REQUEST, testOperator);
    const { providerId } = held;
    const line = { of, id: idOf(held), costPicoUsd: picoUsd(9_500_000n) } as const;
    const claim = { lines: [line], longestMs: 0 };
    const bear = () => backend.settlementStore.bearLost(providerId, claim, testOperator);
    const accrued = async () =>
      (await backend.settlementStore.balances(providerId))[0]?.accruedMicroUsd ?? 0n;
    const before = await accrued();
    expect(await bear()).toMatchObject([{ verdict: "borne" }]);
    expect(await bear()).toMatchObject([{ verdict: "borne_before" }]);
    expect(await accrued()).toBe(before + 9n);
    expect(await ended(held)).toMatchObject({ state: "void", debit: 0, balance: 100 });
  },
);
