import { generateKeyPairSync } from "node:crypto";
import { beforeAll, afterEach, describe, expect, test } from "vitest";
import type { AttemptId, KeyId, OrgId } from "../../src/kernel/core/ids.ts";
import { microUsd } from "../../src/kernel/core/money.ts";
import type { AuditOutcome } from "../../src/ledger/audit/audit.ts";
import type { Membership } from "../../src/ledger/ledger-batch-store.ts";
import { changesOf } from "../support/change-writes.ts";
import { quickOrDeep } from "../support/depth.ts";
import { DamagedBooks } from "../support/damaged-books.ts";
import { closeRow, orgWithKey, reserveRow, voidRow } from "../support/ledger-rows.ts";
import { unknownRow } from "../support/old-days.ts";
import { withPricedBackend, tamper } from "../support/postgres.ts";
import { testOperator } from "../support/test-operator.ts";

const FIRST = "2026-03-30";
const SECOND = "2026-03-31";
const THIRD = "2026-04-01";
const DAYS = [FIRST, SECOND, THIRD];

const key = generateKeyPairSync("ed25519");
const backend = withPricedBackend();
let books: DamagedBooks;
let member: Membership;
let org: { readonly orgId: OrgId; readonly keyId: KeyId };
let other: { readonly orgId: OrgId; readonly keyId: KeyId };
/** The ids of the attempts, by a word that says what became of each. */
const ids: Record<string, AttemptId> = {};

beforeAll(async () => {
  for (const day of DAYS) await backend.query("select ensure_attempt_partition($1)", [day]);
  member = await backend.ledgerBatchStore.join("one", 3_600_000);
  org = await orgWithKey(backend, { creditMicroUsd: 100_000n, keyCapMicroUsd: 50_000n });
  other = await orgWithKey(backend, { creditMicroUsd: 100_000n });
  await traffic(FIRST, "first");
  await close(FIRST);
  ids["late"] = await hold(SECOND, 1_000n);
  ids["lost"] = await hold(SECOND, 900n);
  await end(SECOND, unknownRow(ids["lost"]));
  await traffic(SECOND, "second");
  // The late attempt is held on the second day and ends on the third.
  await traffic(THIRD, "third");
  await end(THIRD, closeRow(ids["late"], 400n));
  await close(SECOND);
  await end(THIRD, closeRow(ids["lost"], 7n));
  await backend.accountStore.setOrgCap(org.orgId, microUsd(90_000n), testOperator);
  ids["open"] = await hold(THIRD, 800n);
  books = new DamagedBooks(backend);
  await books.remember();
});
afterEach(() => books.repair());

let made = 0n;

async function hold(day: string, reserve: bigint, of = org): Promise<AttemptId> {
  const [row] = await backend.query("select attempt_id_at($1::timestamptz)::text as id", [
    `${day}T12:00:00Z`,
  ]);
  made += 1n;
  const attemptId = (BigInt(String(row?.["id"])) + made) as AttemptId;
  await backend.ledgerBatchStore.hold(member, reserveRow({ ...of, attemptId }, reserve));
  return attemptId;
}

/** Closes these attempts and dates their ends to `day`. */
async function end(day: string, ...rows: ReturnType<typeof closeRow>[]): Promise<void> {
  await backend.ledgerBatchStore.closeBatch(rows);
  for (const column of ["closed_at", "corrected_at"]) {
    await tamper(
      backend,
      `update attempt set ${column} = $1 where ${column} > now() - interval '1 hour'`,
      [`${day}T12:00:01Z`],
    );
  }
}

async function traffic(day: string, name: string): Promise<void> {
  const settled = await hold(day, 2_000n);
  const over = await hold(day, 100n);
  const nothing = await hold(day, 50n);
  const others = await hold(day, 500n, other);
  ids[name] = settled;
  ids[`${name} over`] = over;
  const rows = [closeRow(settled, 600n), closeRow(over, 130n)];
  await end(day, ...rows, voidRow(nothing), closeRow(others, 450n));
}

async function close(day: string): Promise<void> {
  const { checkpoint, checks } = await backend.closeDay(day, { key, jobs: 2 }, testOperator);
  expect(brokenOf({ checks })).toEqual([]);
  expect(checkpoint?.day).toBe(day);
}

const since = (): Promise<AuditOutcome> =>
  backend.auditBooks({ trustedKey: key.publicKey, jobs: 2 });
const full = (): Promise<AuditOutcome> =>
  backend.auditBooks({ isFull: true, trustedKey: key.publicKey, jobs: 2 });

function brokenOf({ checks }: Pick<AuditOutcome, "checks">): readonly string[] {
  return checks.filter(({ violations }) => violations > 0).map(({ id }) => id);
}

test("an incremental audit begins at the last closed day, runs every check, and finds no fault in clean books", async () => {
  const [short, whole] = [await since(), await full()];
  expect(short).toMatchObject({ sinceDay: SECOND, reason: undefined });
  expect(whole).toMatchObject({ sinceDay: undefined });
  expect([brokenOf(short), brokenOf(whole)]).toEqual([[], []]);
  expect(short.checks.map(({ id }) => id)).toEqual(whole.checks.map(({ id }) => id));
});

test("closing a day writes one entry to the change log, and a refused closing writes none", async () => {
  await expect(backend.closeDay(FIRST, { key }, testOperator)).rejects.toThrow();
  const sha256 = expect.stringMatching(/^[0-9a-f]{64}$/) as unknown;
  const position = expect.stringMatching(/^\d+$/) as unknown;
  const of = { by: testOperator, before: null, after: { position, sha256 } };
  expect(await changesOf(backend, "ledger.close-day")).toMatchObject([
    { ...of, target: FIRST },
    { ...of, target: SECOND },
  ]);
});

/** All kinds of damage in a deep run, the first three in a quick one, as each costs two audits. */
function someOf<T>(all: Readonly<Record<string, T>>): readonly (readonly [string, T])[] {
  const QUICK = 3;
  return Object.entries(all).slice(0, quickOrDeep(QUICK, Number.POSITIVE_INFINITY));
}

/** Damage after the last closed day, or in older rows that an audit since that day reads. */
const later: Readonly<Record<string, () => string>> = {
  "a changed transfer": () =>
    `update transfer set amount = amount + 1 where attempt_id = ${ids["third"]}`,
  "an added transfer of an old attempt": () =>
    `insert into transfer (position, attempt_id, kind, debit_account, credit_account, amount)
     values (nextval('ledger_position'), ${ids["first"]}, 'margin', 'accrual:acme-ai', 'grants', 1)`,
  "a missing attempt": () => `delete from attempt where attempt_id = ${ids["third"]}`,
  "a missing attempt that was in flight over midnight": () =>
    `delete from attempt where attempt_id = ${ids["late"]}`,
  "a missing transfer of an attempt that was in flight over midnight": () =>
    `delete from transfer where attempt_id = ${ids["late"]}`,
  "a wrong balance of a wallet": () =>
    `update account set debits = debits + 1 where account_id = 'wallet:${org.orgId}'`,
  "a wrong balance of a platform account": () =>
    "update account set credits = credits - 1 where account_id = 'accrual:acme-ai'",
  "a wrong hold": () => `update hold set reserve = reserve + 1 where attempt_id = ${ids["open"]}`,
  "a changed debit of an attempt that was corrected after its day was closed": () =>
    `update attempt set debit = debit + 1 where attempt_id = ${ids["lost"]}`,
  "a correction without its refund": () =>
    `delete from transfer where attempt_id = ${ids["lost"]} and kind = 'refund'`,
  "monthly spend that no attempt explains": () =>
    `update spend set settled = settled + 1 where id = '${org.keyId}'`,
  "a debit that is not the floor of its cost": () =>
    `update attempt set cost_pico = cost_pico + 1000000 where attempt_id = ${ids["third"]}`,
  "an admission over its cap": () =>
    `update cap_change set cap_micro_usd = 1 where scope = 'org';
     update org set cap_micro_usd = 1 where cap_micro_usd is not null`,
  "a missing account that was charged before": () =>
    "delete from account where account_id = 'overrun'",
};

describe("an incremental and a full audit both find damage after the last closed day:", () => {
  test.each(someOf(later))("%s", async (_, sql) => {
    await books.damage(sql());
    const short = await since();
    expect(short.sinceDay).toBe(SECOND);
    expect(brokenOf(short)).not.toEqual([]);
    expect(brokenOf(await full())).not.toEqual([]);
  });
});

/** Damage in closed days, which only a whole audit reads again. */
const earlier: Readonly<Record<string, () => string>> = {
  "a changed transfer": () =>
    `update transfer set amount = amount + 1 where attempt_id = ${ids["first"]}`,
  "a missing attempt": () => `delete from attempt where attempt_id = ${ids["first"]}`,
  "two changed transfers with the same sum as before": () =>
    `update transfer set amount = case attempt_id when ${ids["first"]} then amount + 1
       else amount - 1 end
     where attempt_id in (${ids["first"]}, ${ids["second"]})`,
};

describe("a full audit finds damage before the last closed day:", () => {
  test.each(someOf(earlier))("%s", async (_, sql) => {
    await books.damage(sql());
    expect(brokenOf(await full())).not.toEqual([]);
  });
});

describe("a checkpoint is trusted only as it was signed:", () => {
  const tampered: Readonly<Record<string, string>> = {
    "a changed balance": `update audit_checkpoint_account set debits = debits + 1
      where day = '${SECOND}' and account_id = 'overrun'`,
    "a missing account": `delete from audit_checkpoint_account
      where day = '${SECOND}' and account_id = 'overrun'`,
    "changed spend": `update audit_checkpoint_spend set settled = settled + 1 where day = '${FIRST}'`,
    "a changed position": "update audit_checkpoint set position = position - 1",
    "a changed next attempt id": `update audit_checkpoint set from_attempt = from_attempt + 1`,
    "a changed text": "update audit_checkpoint set document = replace(document, '30', '29')",
    "a missing earlier checkpoint": `delete from audit_checkpoint where day = '${FIRST}'`,
  };

  test.each(someOf(tampered))("%s makes the audit read the whole journal", async (_, sql) => {
    await books.damage(sql);
    const short = await since();
    expect(brokenOf(short)).toContain("checkpoint");
    expect(short).toMatchObject({
      sinceDay: undefined,
      reason: "a checkpoint is not what was signed",
    });
    expect(brokenOf(await full())).toContain("checkpoint");
  });

  test("a checkpoint signed with another key is reported, and the audit reads the whole journal", async () => {
    const { publicKey } = generateKeyPairSync("ed25519");
    const outcome = await backend.auditBooks({ trustedKey: publicKey });
    expect(outcome.sinceDay).toBeUndefined();
    expect(outcome.checks.find(({ id }) => id === "checkpoint")?.examples?.[0]).toMatchObject({
      row: `checkpoint of ${FIRST}`,
      found: "signed by another key",
    });
    expect(await backend.auditBooks({})).toMatchObject({
      sinceDay: undefined,
      reason: "the key that checkpoints are signed with is not here",
    });
  });

  test("a full audit finds a checkpoint whose signed balances differ from the journal", async () => {
    await books.damage(
      `update transfer set amount = amount + 5 where attempt_id = ${ids["first over"]} and kind = 'overrun'`,
      "update account set debits = debits + 5 where account_id = 'overrun'",
      "update account set credits = credits + 5 where account_id = 'accrual:acme-ai'",
    );
    expect(brokenOf(await full())).toContain("checkpoint");
  });
});

describe("a day", () => {
  test.each([
    ["a second time", SECOND, /was closed before/],
    ["after a later day was closed", FIRST, /was closed before/],
    ["while its attempts are open", THIRD, /1 attempts of 2026-04-01 or earlier days are open/],
    ["before it is over", "2999-01-01", /is not over yet/],
  ])("cannot be closed %s", async (_when, day, reason) => {
    await expect(backend.closeDay(day, { key }, testOperator)).rejects.toThrow(reason);
  });

  test("is not closed and gets no checkpoint while the audit finds the books broken", async () => {
    await books.damage(
      `delete from hold where attempt_id = ${ids["open"]}`,
      "update account set debits = debits + 1 where account_id = 'grants'",
    );
    const outcome = await backend.closeDay(THIRD, { key }, testOperator);
    expect(outcome.checkpoint).toBeUndefined();
    const sql = `select day from audit_checkpoint where day > '${SECOND}'`;
    expect(await backend.query(sql)).toEqual([]);
  });

  test("keeps its checkpoint, whose rows can be neither changed nor deleted", async () => {
    for (const table of ["checkpoint", "checkpoint_account", "checkpoint_spend"]) {
      for (const change of ["update %s set day = day", "delete from %s", "truncate %s"]) {
        const sql = change.replace("%s", `audit_${table}`);
        await expect(backend.query(sql), sql).rejects.toThrow(/never changed or deleted/);
      }
    }
  });
});
