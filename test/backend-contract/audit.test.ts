import { afterEach, beforeAll, describe, expect, test } from "vitest";
import type { AttemptId, KeyId, OrgId, ProviderId } from "../../src/kernel/core/ids.ts";
import { microUsd, picoUsd } from "../../src/kernel/core/money.ts";
import type { AuditCheck } from "../../src/ledger/audit/ledger-audit.ts";
import { DamagedBooks } from "../support/damaged-books.ts";
import {
  closeRow,
  keyOf,
  marginPinOf,
  orgWithKey,
  pinMargin,
  reserveRow,
  usageOwing,
  voidRow,
} from "../support/ledger-rows.ts";
import { withPricedBackend } from "../support/postgres.ts";
import { testOperator } from "../support/test-operator.ts";

const DEAR = "dear-ai" as ProviderId;
const LEASE_MS = 3_600_000;
const SETTLED = 1;
const OVERRUN = 2;
const VOID = 3;
const ROLLED = 4;
const FAILED_OVER = 5;
const CORRECTED = 6;
const UNKNOWN = 7;
const OPEN = 8;
/** The attempt whose provider is owed more than the customer pays. */
const OWING = 11;

let books: DamagedBooks;
let org: OrgId;
/** The first key has a cap of 500 micro-dollars. */
let keys: readonly [KeyId, KeyId];

const backend = withPricedBackend();

beforeAll(async () => {
  await keepBooks();
  books = new DamagedBooks(backend);
  await books.remember();
});
afterEach(() => books.repair());

/** Makes an attempt in each possible state (ids 1 to 8), an annulled one, and one at a loss. */
async function keepBooks(): Promise<void> {
  const { ledgerBatchStore: store, accountStore } = backend;
  const first = await orgWithKey(backend, { creditMicroUsd: 1_000n, keyCapMicroUsd: 500n });
  org = first.orgId;
  keys = [first.keyId, await keyOf(backend, org)];
  await accountStore.setOrgCap(org, microUsd(600n), testOperator);
  const member = await store.join("one", LEASE_MS);
  const dead = await store.join("two", 0);
  const row = (id: number, key: 0 | 1, reserve: bigint) =>
    reserveRow({ orgId: org, keyId: keys[key], attemptId: BigInt(id) as AttemptId }, reserve);
  const rolled = row(ROLLED, 0, 40n);
  const rows = [row(SETTLED, 0, 100n), row(OVERRUN, 0, 100n), row(VOID, 1, 50n), rolled];
  await store.reserveBatch(
    member,
    rows.map((each) => ({ row: each, close: null })),
  );
  await store.closeBatch([
    closeRow(1n as AttemptId, 60n),
    closeRow(2n as AttemptId, 130n),
    voidRow(3n as AttemptId),
  ]);
  const next = { ...row(FAILED_OVER, 0, 45n), requestId: rolled.requestId, ordinal: 2 };
  await store.reserveBatch(member, [{ row: next, close: voidRow(rolled.attemptId) }]);
  await store.closeBatch([closeRow(next.attemptId, 7n)]);
  for (const lost of [row(CORRECTED, 1, 80n), row(UNKNOWN, 1, 70n)]) {
    await store.hold(dead, lost);
  }
  await store.takeOverDeadInstances();
  await store.recoverOpenAttempts();
  await store.closeBatch([closeRow(6n as AttemptId, 5n)]);
  await store.annul([row(9, 0, 30n)]);
  await accountStore.setOrgCap(org, microUsd(2_000n), testOperator);
  await pinMargin(backend, DEAR);
  const owing = { ...row(OWING, 1, 10n), providerId: DEAR, pricePinId: marginPinOf(DEAR) };
  await store.hold(member, owing);
  const owed = 4_000_001n;
  const margin = { usage: usageOwing(owed), owedPicoUsd: picoUsd(owed) };
  await store.closeBatch([closeRow(owing.attemptId, 0n, margin)]);
  await store.hold(member, row(OPEN, 0, 90n));
}

const ANY = /./;

/** Returns the violated checks, each with the first row that it reports. */
async function broken(): Promise<Record<string, string>> {
  const checks = (await backend.audit()).filter(({ violations }) => violations > 0);
  return Object.fromEntries(checks.map((check) => [check.id, lineOf(check)]));
}

function lineOf({ examples: [first] = [] }: AuditCheck): string {
  return first === undefined ? "no row" : `${first.row}: ${first.found} / ${first.expected}`;
}

test("an audit of clean books reports every check once, without a violation", async () => {
  const checks = await backend.audit();
  expect(checks.map(({ id }) => id).join(" ")).toBe(
    "I1 I2 I3 I4 I5 I6 I7 I8 I9 I10 I11 I13 I14 I15 I16 I17 I18 I19 I20 I21 rebuild replay-accounts replay-debits replay-spend",
  );
  for (const check of checks) {
    expect(check).toEqual({ id: check.id, title: expect.any(String), violations: 0 });
  }
});

interface Damage {
  readonly sql: () => string;
  /** The ids of the only checks that must fail, each with a pattern of its first finding. */
  readonly found: Readonly<Record<string, RegExp>>;
}

const UNEXPLAINED = /^account overrun: debits 31, credits 1.* \/ debits 30, credits 0/;
const ONE_SIDED = /^account grants: debits 1001, credits 0.* \/ debits 1000, credits 0/;
const HELD = /^account wallet:org_\w+: .*reserved 91 \/ .*reserved 90$/;
const MOVED = /^account accrual:acme-ai: debits 0, credits 202.* \/ debits 0, credits 142/;
const REPLAYED_DEARER = /^account accrual:acme-ai: .*credits 202, .* \/ .*credits 203, /;
const MONTH = "spend of (org|key) \\w+ in \\d{4}-\\d\\d: settled";
const TWICE = /^request [0-9a-f-]+: key_\w+ of org_\w+, attempts 1 1 \/ one key of/;

/** Returns, by check, the finding for a stored held amount that is not the sum of the holds. */
function heldOf(counted: string, held: string): Damage["found"] {
  const wallet = new RegExp(`^account wallet:.*${counted} / .*${held}$`);
  const month = new RegExp(`${MONTH} \\d+, ${counted} / settled \\d+, ${held}$`);
  const byAccount = { I3: wallet, rebuild: wallet, "replay-accounts": wallet };
  return { ...byAccount, I7: month, "replay-spend": month };
}

const damages: Readonly<Record<string, Damage>> = {
  "debits and credits that no transfer explains": {
    sql: () =>
      "update account set debits = debits + 1, credits = credits + 1 where account_id = 'overrun'",
    found: { I1: UNEXPLAINED, rebuild: UNEXPLAINED, "replay-accounts": UNEXPLAINED },
  },
  "a debit without its credit": {
    sql: () => "update account set debits = debits + 1 where account_id = 'grants'",
    found: {
      I1: ONE_SIDED,
      I2: /^all accounts: debits 1432 \/ credits 1431$/,
      rebuild: ONE_SIDED,
      "replay-accounts": ONE_SIDED,
    },
  },
  "a held amount of no attempt": {
    sql: () => `update account set reserved = reserved + 1 where org_id = '${org}'`,
    found: { I3: HELD, rebuild: HELD, "replay-accounts": HELD },
  },
  "a wallet that may be overdrawn": {
    sql: () => `update account set must_cover = false where org_id = '${org}'`,
    found: { I4: /^account wallet:org_\w+: debits 317, reserved 90, must cover f \/ at most/ },
  },
  "a transfer with a changed amount": {
    sql: () => "update transfer set amount = amount - 60 + 1 where attempt_id = 1",
    found: {
      I1: ANY,
      I5: /^attempt 1 settle: 1 from wallet:\w+ to accrual:acme-ai \/ 60 from/,
      rebuild: ANY,
    },
  },
  "a transfer to another account": {
    sql: () => "update transfer set credit_account = 'accrual:other' where attempt_id = 1",
    found: { I1: MOVED, I5: /^attempt 1 settle: 60 from \S+ to accrual:other \//, rebuild: MOVED },
  },
  "a correction without its refund": {
    sql: () => "delete from transfer where attempt_id = 6 and kind = 'refund'",
    found: {
      I1: ANY,
      I5: /^attempt 6 refund: none \/ 75 from unknown:acme-ai to wallet:/,
      rebuild: ANY,
    },
  },
  "a charge for a void attempt": {
    sql: () => `insert into transfer (position, attempt_id, kind, debit_account, credit_account, amount)
      values (nextval('ledger_position'), 3, 'settle', 'wallet:${org}', 'accrual:acme-ai', 2)`,
    found: { I1: ANY, I5: /^attempt 3 settle: 2 from \S+ to \S+ \/ none$/, rebuild: ANY },
  },
  "a debit that is not the floor of its cost": {
    sql: () => "update attempt set cost_pico = cost_pico + 1000000 where attempt_id = 1",
    found: {
      I6: /^attempt 1: .*cost in pico-dollars 61500000: debit 60, overrun 0 \/ debit 61, overrun 0$/,
      "replay-debits": /^attempt 1: closed, debit 60, overrun 0 \/ closed, debit 61, overrun 0$/,
      "replay-accounts": REPLAYED_DEARER,
      "replay-spend": new RegExp(`${MONTH} 242, reserved 90 / settled 243, reserved 90$`),
    },
  },
  "a corrected attempt with a changed debit": {
    sql: () => "update attempt set debit = debit + 1 where attempt_id = 6",
    found: {
      I11: /^account accrual:acme-ai: balance 202 \/ balance 203$/,
      I5: /^attempt 6 correct: 5 from /,
      I6: /^attempt 6: unknown_after_crash, .*: debit 6, overrun 0 \/ debit 5, overrun 0$/,
      I7: new RegExp(`${MONTH} 75, reserved 0 / settled 76, reserved 0$`),
      "replay-debits":
        /^attempt 6: corrected, debit 6, overrun 0 \/ corrected, debit 5, overrun 0$/,
    },
  },
  "an attempt with a doubled overrun": {
    sql: () => "update attempt set overrun = 2 * overrun where attempt_id = 2",
    found: {
      I11: /^account accrual:acme-ai: balance 202 \/ balance 232$/,
      I5: /^attempt 2 overrun: 30 from overrun to accrual:acme-ai \/ 60 from/,
      I6: /^attempt 2: .*: debit 100, overrun 60 \/ debit 100, overrun 30$/,
      "replay-debits":
        /^attempt 2: closed, debit 100, overrun 60 \/ closed, debit 100, overrun 30$/,
    },
  },
  "monthly spend of no attempt": {
    sql: () => `update spend set settled = settled + 1 where id = '${keys[0]}'`,
    found: {
      I7: new RegExp(`${MONTH} 168, reserved 90 / settled 167, reserved 90$`),
      "replay-spend": new RegExp(`${MONTH} 168, reserved 90 / settled 167, reserved 90$`),
    },
  },
  "a day's spend that its key did not have": {
    sql: () => `insert into spend_day select '${keys[0]}', (now() at time zone 'utc')::date + 1, 1`,
    found: { I20: /settled 1 \/ settled 0$/ },
  },
  "an attempt marked as the last of its request although another one follows": {
    sql: () => "update attempt set final = true where attempt_id = 4",
    found: { I21: /^attempt 4: t nothing earlier \/ f nothing earlier$/ },
  },
  "a last attempt that records a higher cost of the earlier attempts than they had": {
    sql: () => "update attempt set earlier.debit = (earlier).debit + 1 where attempt_id = 5",
    found: { I21: /^attempt 5: t \(1,.*,1,34,\) \/ t \(1,.*,0,34,\)$/ },
  },
  "an admission over the cap of its key": {
    sql: () =>
      "update cap_change set cap_micro_usd = 230 where scope = 'key'; update api_key set cap_micro_usd = 230 where cap_micro_usd is not null",
    found: {
      I8: /^attempt \d of key key_\w+ of org_\w+: reserve \d+ \/ cap of the key 230, settled 0, in flight \d+$/,
    },
  },
  "an admission over the cap that its organization had then": {
    sql: () =>
      "update cap_change set cap_micro_usd = 300 where scope = 'org' and cap_micro_usd = 600",
    found: {
      I8: /^attempt 7 of key key_\w+ of org_\w+: reserve 70 \/ cap of the org 300, settled 167, in flight 80$/,
    },
  },
  "an admission before the credit for it was granted": {
    sql: () => "update transfer set position = position + 1000000 where kind = 'grant'",
    found: {
      I8: /^attempt \d of key \w+ of org_\w+: reserve \d+ \/ at most the balance available, 0$/,
    },
  },
  "a cap that differs from its recorded changes": {
    sql: () => `update org set cap_micro_usd = 7 where org_id = '${org}'`,
    found: { I8: /^cap of org org_\w+: 7 \/ 2000$/ },
  },
  "an open attempt from an earlier epoch of its instance": {
    sql: () => `update hold set epoch = epoch - 1, created_at = now() - interval '2 minutes'
      where attempt_id = 8`,
    found: { I9: /^attempt 8: open since .* in epoch 0 of one \/ epoch 1$/ },
  },
  "a request on two keys": {
    sql: () => `update attempt set key_id = '${keys[1]}' where attempt_id = 4`,
    found: {
      I10: /^request [0-9a-f-]+: key_\w+ of org_\w+, key_\w+ of org_\w+, attempts 1 2 \/ one key of/,
    },
  },
  "ended attempts that are in no period of their provider": {
    sql: () => "insert into provider_progress values ('acme-ai', 'infinity')",
    found: { I11: /^period of acme-ai from , admitted on 2025-01-01: 0 attempts/ },
  },
  "an attempt at prices that were not recorded": {
    sql: () => "update attempt set price_pin_id = 'none' where attempt_id = 4",
    found: { I13: /^attempt 4: prices none of no provider \/ prices of acme-ai$/ },
  },
  "an attempt at another provider's prices": {
    sql: () => "update price_pin set provider_id = 'other'",
    found: { I13: /^attempt 1: prices pin-1 of other \/ prices of acme-ai$/ },
  },
  "a cost that is not its tokens at the recorded prices": {
    sql: () => "insert into price_sheet values ('pin-1', 0, 'pin-1')",
    found: { I17: /^attempt 1: cost in pico-dollars 60500000 \/ 70000000000021 by sheet pin-1$/ },
  },
  "a granted purchase that was never credited to its wallet": {
    sql: () => `insert into purchase (purchase_id, org_id, micro_usd, cents, state, is_test_money,
        created_at, expires_at, granted_at, receipt_series, receipt_number, buyer, seller)
      values ('pur_1', '${org}', 10000, 1, 'granted', false, now(), now(), now(), 'live:', 1, '{}', '{}')`,
    found: { I14: /^transfer purchase:pur_1: none \/ 10000 from cash:stripe to wallet:org_/ },
  },
  "an account whose debits are above the maximum": {
    sql: () => `insert into account (account_id, debits) values ('overrun', 5000000000000000000)
      on conflict (account_id) do update set debits = excluded.debits`,
    found: {
      I1: ANY,
      I2: ANY,
      I15: /^account overrun: debits 5000000000000000000, credits 0 \/ at most 4611686018427387903$/,
      rebuild: ANY,
      "replay-accounts": ANY,
    },
  },
  "an attempt that a running instance never closed": {
    sql: () =>
      "update hold set created_at = now() - interval '1 day 1 minute' where attempt_id = 8",
    found: { I15: /^attempt 8: open since .* of one \/ closed within a day$/ },
  },
  "an open attempt whose day has no table in the journal": {
    sql: () => "update hold set attempt_id = attempt_id_at('2031-03-05') where attempt_id = 8",
    found: { I15: /^attempt \d+: no table of 2031-03-05 \/ a table of its day$/ },
  },
  "a hold that was lost": {
    sql: () => "delete from hold where attempt_id = 8",
    found: heldOf("reserved 90", "reserved 0"),
  },
  "a hold that its wallet does not count": {
    sql: () => `update account set reserved = 0 where org_id = '${org}';
      update spend set reserved = 0 where reserved > 0`,
    found: heldOf("reserved 0", "reserved 90"),
  },
  "a hold whose reserve differs from the amount that its wallet counts": {
    sql: () => "update hold set reserve = reserve + 1 where attempt_id = 8",
    found: heldOf("reserved 90", "reserved 91"),
  },
  "an attempt that is open and has ended": {
    sql: () => `insert into hold select (jsonb_populate_record(null::hold,
      to_jsonb(a) || '{"reserve": 0, "annulled": false}')).* from attempt a where attempt_id = 3`,
    found: { I10: TWICE, I16: /^attempt 3: open and void \/ one of both$/ },
  },
  "an attempt that ended twice": {
    sql: () => `insert into attempt
      select (jsonb_populate_record(a, '{"attempt_id": 30}')).* from attempt a where attempt_id = 3`,
    found: { I10: TWICE },
  },
  "an annulled attempt without its void row in the journal": {
    sql: () => "delete from attempt where attempt_id = 9",
    found: { I16: /^attempt 9: annulled and in no journal \/ annulled and void$/ },
  },
  "an annulled attempt that was charged": {
    sql: () => "update hold set attempt_id = 5 where annulled",
    found: { I16: /^attempt 5: annulled and settled \/ annulled and void$/ },
  },
  "an owed amount that is not the tokens at the provider's prices": {
    sql: () => `update attempt set owed_pico = 5000001 where attempt_id = ${OWING}`,
    found: {
      I5: /^attempt 11 margin: 4 from margin:dear-ai to accrual:dear-ai \/ 5 from /,
      I11: /^account accrual:dear-ai: balance 4 \/ balance 5$/,
      I18: /^attempt 11: owed in pico-dollars 5000001 \/ 4000001 by sheet dear-ai owed$/,
      "replay-accounts": /^account accrual:dear-ai: debits 0, credits 4, .* credits 5, /,
    },
  },
  "an owed amount that is not the cost, for a listing without separate provider prices": {
    sql: () => `update attempt set owed_pico = 59000000 where attempt_id = ${SETTLED}`,
    found: {
      I5: /^attempt 1 margin: none \/ 1 from accrual:acme-ai to margin:acme-ai$/,
      I11: /^account accrual:acme-ai: balance 202 \/ balance 201$/,
      I18: /^attempt 1: owed in pico-dollars 59000000 \/ the cost$/,
      "replay-accounts": /^account accrual:acme-ai: debits 0, .* \/ debits 1, /,
    },
  },
  "recorded provider prices that changed after they were used": {
    sql: () => "update price_pin set cache_write_1h_pico = 5 where pin_id = 'dear-ai owed'",
    found: { I18: /^attempt 11: .* \/ 4000016 by sheet dear-ai owed$/ },
  },
  "more one-hour cache writes than cache writes": {
    sql: () => `update attempt set cache_write_1h = 3 where attempt_id = ${SETTLED}`,
    found: { I17: /^attempt 1: cache writes of an hour: 3 \/ of cache writes: 2$/ },
  },
  "a charge for an attempt that was lost in a restore": {
    sql: () => `update attempt set outcome = 'lost_in_restore' where attempt_id = ${SETTLED}`,
    found: { I19: /^attempt 1: settled, debit 60 \/ void in a later life of the books$/ },
  },
  "an attempt that was closed before it was opened": {
    sql: () => "update attempt set closed_position = opened_position - 1 where attempt_id = 1",
    found: {
      "replay-debits": /^attempt 1: closed, debit 60, overrun 0 \/ unknown, debit 0, overrun 0$/,
      "replay-accounts": MOVED,
      "replay-spend": new RegExp(`${MONTH} 242, reserved 90 / settled 182, reserved 190$`),
    },
  },
};

describe("an audit reports damage by exactly the expected checks, with the damaged row:", () => {
  test.each(Object.entries(damages))("%s", async (_, { sql, found }) => {
    await books.damage(sql());
    expect(await broken()).toEqual(matching(found));
  });

  test("every check of the audit finds at least one kind of damage in this file", async () => {
    const seen = new Set(Object.values(damages).flatMap(({ found }) => Object.keys(found)));
    expect((await backend.audit()).map(({ id }) => id).filter((id) => !seen.has(id))).toEqual([]);
  });
});

test("an audit finds an overdrawn wallet if the database constraint against it is missing", async () => {
  const rule = "account_covers_its_holds";
  const [{ text } = {}] = await backend.query(
    `select pg_get_constraintdef(oid) as text from pg_constraint where conname = '${rule}'`,
  );
  await backend.query(`alter table account drop constraint ${rule}`);
  try {
    await books.damage(
      "update transfer set amount = 3 where kind = 'grant'",
      `update account set credits = credits - 997 where org_id = '${org}'`,
      "update account set debits = 3 where account_id = 'grants'",
    );
    const found = {
      I4: /^account wallet:org_\w+: debits 317, reserved 90, must cover t \/ at most credits 78/,
      I8: /^attempt \d of key \w+ of \w+: reserve \d+ \/ at most the balance available, 3$/,
    };
    expect(await broken()).toEqual(matching(found));
  } finally {
    await books.repair();
    await backend.query(`alter table account add constraint ${rule} ${String(text)}`);
  }
});

function matching(found: Damage["found"]): unknown {
  const lines = Object.entries(found).map(([id, line]) => [id, expect.stringMatching(line)]);
  return Object.fromEntries(lines);
}

test("an audit counts all broken rows and prints the first ten", async () => {
  await books.damage(`insert into spend (scope, id, month, settled)
    select 'key', 'key_' || n, '2026-01-01', n from generate_series(1, 12) as t(n)`);
  for (const id of ["I7", "replay-spend"]) {
    const check = (await backend.audit()).find((each) => each.id === id);
    expect(check).toMatchObject({ violations: 12, examples: { length: 10 } });
  }
});
