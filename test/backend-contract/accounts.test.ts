import { randomBytes } from "node:crypto";
import { describe, expect, test } from "vitest";
import { PLAIN_RULES } from "../../src/gateway/accounts/account-rules.ts";
import type { NewKey } from "../../src/gateway/accounts/key-store.ts";
import { KEYS_PER_ORG_MAX } from "../../src/kernel/core/constants.ts";
import type { OrgId } from "../../src/kernel/core/ids.ts";
import { microUsd } from "../../src/kernel/core/money.ts";
import { systemClock } from "../../src/kernel/core/time.ts";
import { CreditFault } from "../../src/ledger/postgres-credit-store.ts";
import { addOrg } from "../support/add-key.ts";
import { brokenBooks, until } from "../support/books.ts";
import { findKey } from "../support/find-key.ts";
import { keyOf, orgWithKey } from "../support/ledger-rows.ts";
import { withBackend } from "../support/postgres.ts";
import { testOperator } from "../support/test-operator.ts";

const backend = withBackend();

function newKey(orgId: OrgId, change: Partial<NewKey> = {}): NewKey {
  return {
    orgId,
    name: "batch job",
    origin: "console",
    digest: randomBytes(32),
    label: "tm_vk_012345",
    requestsPerMinuteCeiling: 300,
    ...change,
  };
}

describe("an organization", () => {
  test("starts with an empty wallet, and shows its cap and whether it was ever funded", async () => {
    const { accountStore, creditStore, recordStore } = backend;
    const before = systemClock.nowMs();
    const made = { name: "Acme", email: "ops@example.com" };
    const org = await accountStore.createOrg(made, testOperator);
    const plain = { capMicroUsd: null, isFunded: false, keysMaySetOrgLimits: false };
    expect(org).toMatchObject({ ...made, ...plain, balanceMicroUsd: 0n, heldMicroUsd: 0n });
    expect(org.createdAtMs).toBeGreaterThan(before - 60_000);
    const { orgId } = org;
    expect(await accountStore.findOrg(orgId)).toEqual(org);
    expect(await accountStore.listOrgs()).toContainEqual(org);
    const grant = { orgId, amountMicroUsd: microUsd(5n), ref: `fund ${orgId}` };
    await creditStore.grant(grant, testOperator);
    expect(await accountStore.setOrgCap(orgId, microUsd(7n), testOperator)).toBe(true);
    expect(await accountStore.renameOrg(orgId, "Acme Labs", testOperator)).toBe(true);
    const changed = { name: "Acme Labs", capMicroUsd: 7n, isFunded: true };
    expect(await accountStore.findOrg(orgId)).toMatchObject(changed);
    expect((await recordStore.monthSpend(orgId)).capMicroUsd).toBe(7n);
    await accountStore.setOrgCap(orgId, null, testOperator);
    expect((await accountStore.findOrg(orgId))?.capMicroUsd).toBeNull();
  });

  test("that is unknown is not found and cannot be changed", async () => {
    const nobody = "org_nobody" as OrgId;
    expect(await backend.accountStore.findOrg(nobody)).toBeUndefined();
    expect(await backend.accountStore.renameOrg(nobody, "x", testOperator)).toBe(false);
    expect(await backend.accountStore.setOrgCap(nobody, null, testOperator)).toBe(false);
    expect(await backend.accountStore.listOwnKeys(nobody)).toEqual([]);
  });
});

describe("a key", () => {
  test("can be created, renamed, capped, given an expiry and permanently disabled", async () => {
    const { accountStore } = backend;
    const { orgId, keyId: older } = await orgWithKey(backend, { creditMicroUsd: 0n });
    const made = await accountStore.createOwnKey(newKey(orgId), testOperator);
    if (made === "too_many") throw new Error("another one was possible");
    const { keyId } = made;
    expect(await accountStore.findKey(orgId, keyId)).toEqual(made);
    const keys = await accountStore.listOwnKeys(orgId);
    expect(keys.map((key) => key.keyId)).toEqual([keyId, older]);
    const edit = (change: Parameters<typeof accountStore.editKeys>[2]) =>
      accountStore.editKeys(orgId, [keyId], change, testOperator);
    const expiresAtMs = Date.parse("2099-01-31T00:00:00Z");
    for (const change of [
      { name: "nightly" },
      { caps: { month: microUsd(9n) } },
      { caps: { month: null } },
      { expiresAtMs },
      { expiresAtMs: null },
      { models: ["acme/b", "acme/a"] },
      { models: null },
    ]) {
      expect(await edit(change)).toMatchObject([change]);
    }
    const disabled = await edit({ disable: true });
    expect(disabled?.[0]?.disabledAtMs).not.toBeNull();
    expect(await edit({ disable: true })).toEqual(disabled);
    expect(await accountStore.findKey(orgId, keyId)).toEqual(disabled?.[0]);
  });

  test("is refused beyond the maximum number of keys of its organization, even for simultaneous requests", async () => {
    const orgId = await addOrg(backend);
    await backend.query(
      `insert into api_key (key_id, org_id, digest, label, name, origin, rpm_ceiling)
      select 'key_many_' || n, $1, sha256(('many ' || n)::bytea), 'tm', 'many', 'console', 300
      from generate_series(1, $2::integer) as t(n)`,
      [orgId, KEYS_PER_ORG_MAX - 2],
    );
    const asked = await Promise.all(
      Array.from({ length: 6 }, () =>
        backend.accountStore.createOwnKey(newKey(orgId), testOperator),
      ),
    );
    expect(asked.filter((made) => made === "too_many")).toHaveLength(4);
    expect(await backend.accountStore.listOwnKeys(orgId)).toHaveLength(KEYS_PER_ORG_MAX);
  });
});

test("an organization has exactly one Playground key, which it can neither find nor edit", async () => {
  const { accountStore, rulesStore } = backend;
  const orgId = await addOrg(backend);
  const asked = await Promise.all(
    Array.from({ length: 5 }, () => accountStore.playgroundKey(orgId)),
  );
  const [keyId = ""] = asked;
  expect(new Set(asked).size).toBe(1);
  const rows = await backend.query("select key_id, label from api_key where org_id = $1", [orgId]);
  expect(rows).toEqual([{ key_id: keyId, label: "playground" }]);
  const limits = { requestsPerMinuteCeiling: 60 };
  expect(await rulesStore.findKey(keyId)).toMatchObject({ orgId, origin: "playground", ...limits });
  expect(await accountStore.findKey(orgId, keyId)).toBeUndefined();
  const edit = { name: "x", disable: true } as const;
  expect(await accountStore.editKeys(orgId, [keyId], edit, testOperator)).toBeUndefined();
  expect(await accountStore.playgroundKey(await addOrg(backend))).not.toBe(keyId);
});

test("an edit of several keys applies to all of them or to none, and logs each changed value", async () => {
  const { orgId, keyId: first } = await orgWithKey(backend, { creditMicroUsd: 0n });
  const { keyId: another } = await orgWithKey(backend, { creditMicroUsd: 0n });
  const second = await keyOf(backend, orgId);
  const store = backend.accountStore;
  const edit = { caps: { day: microUsd(7n) }, tags: ["batch"], name: "both" };
  const limit = {
    target: { source: "self", scope: "key", keyId: first },
    change: { requestsPerMinute: 9 },
  } as const;
  const logged = async (): Promise<number> => {
    const sql = "select count(*)::integer as n from change where org_id = $1";
    return Number((await backend.query(sql, [orgId]))[0]?.["n"]);
  };
  const before = await logged();
  const wrong = [first, another];
  expect(await store.editKeys(orgId, wrong, { ...edit, limit }, testOperator)).toBeUndefined();
  expect(await store.findKey(orgId, first)).toMatchObject({ caps: { day: null }, tags: [] });
  expect(await backend.rulesStore.listLimits(orgId)).toEqual([]);
  expect(await logged()).toBe(before);
  await store.editKeys(orgId, [first, second], { ...edit, limit }, testOperator);
  for (const keyId of [first, second]) {
    expect(await store.findKey(orgId, keyId)).toMatchObject(edit);
  }
  expect(await backend.rulesStore.listLimits(orgId)).toMatchObject([{ requestsPerMinute: 9 }]);
  expect(await logged()).toBe(before + 7);
});

describe("a write to the table of console accounts", () => {
  /** Makes an account with its organization, but without a membership row. */
  async function plainAccount(name: string): Promise<void> {
    const email = `${name}@example.com`;
    await backend.query(
      "insert into org (org_id, name, email, email_verified) values ($1, $2, $3, true)",
      [`org_${name}`, name, email],
    );
    await backend.query(
      `insert into console_account
        (account_id, org_id, email, email_norm, email_verified_at, name, created_at)
      values ($1, $2, $3, $3, now(), null, '2026-01-02T03:04:05Z')`,
      [`acct_${name}`, `org_${name}`, email],
    );
  }
  const membershipsOf = (accountId: string): Promise<unknown> =>
    backend.query("select org_id, role from org_member where account_id = $1", [accountId]);

  test("keeps an account a member of its current organization only", async () => {
    await plainAccount("cid");
    expect(await membershipsOf("acct_cid")).toEqual([{ org_id: "org_cid", role: "owner" }]);
    // The account moves into an organization that an operator made, and leaves its former one.
    const orgId = await addOrg(backend);
    await backend.query("update console_account set org_id = $1 where account_id = 'acct_cid'", [
      orgId,
    ]);
    expect(await membershipsOf("acct_cid")).toEqual([{ org_id: orgId, role: "owner" }]);
    await backend.query("delete from console_account where account_id = 'acct_cid'");
    expect(await membershipsOf("acct_cid")).toEqual([]);
  });

  test("does not add a removed member again if the account stays in its organization", async () => {
    await plainAccount("dan");
    await backend.query("delete from org_member where account_id = 'acct_dan'");
    await backend.query("update console_account set name = 'Dan' where account_id = 'acct_dan'");
    await backend.query("update console_account set org_id = org_id where account_id = 'acct_dan'");
    expect(await membershipsOf("acct_dan")).toEqual([]);
  });
});

test("a key is found by its digest, which no other key can have, with everything that the gateway needs", async () => {
  const { accountStore, keyStore } = backend;
  const orgId = await addOrg(backend);
  const wanted = newKey(orgId, { origin: "trial", caps: { month: microUsd(5n) } });
  const key = await accountStore.createKey(wanted, testOperator);
  expect(await findKey(keyStore, wanted.digest)).toEqual({
    keyId: key.keyId,
    orgId,
    origin: "trial",
    name: "batch job",
    requestsPerMinuteCeiling: 300,
    disabled: false,
    emailVerified: true,
    funded: false,
    rules: { ...PLAIN_RULES, isTrial: true },
  });
  expect(await findKey(keyStore, Buffer.alloc(32, 7))).toBeUndefined();
  const again = accountStore.createKey({ ...wanted, origin: "console" }, testOperator);
  await expect(again).rejects.toThrow("api_key_digest_key");
  expect(await accountStore.listKeys(orgId)).toEqual([key]);
});

test("a grant happens once per reference, however often it is repeated", async () => {
  const orgId = await addOrg(backend);
  const grant = { orgId, amountMicroUsd: microUsd(25_000_000n), ref: "invoice 1" };
  const outcomes = await Promise.all(
    Array.from({ length: 8 }, () => backend.creditStore.grant(grant, testOperator)),
  );
  expect(outcomes.filter((outcome) => outcome.created)).toHaveLength(1);
  for (const { balanceMicroUsd } of outcomes) expect(balanceMicroUsd).toBe(25_000_000n);
  expect(await backend.creditStore.ledgerEntries(orgId)).toMatchObject([
    { kind: "grant", ref: "invoice 1", amountMicroUsd: 25_000_000n },
  ]);
});

test("a grant that reuses a reference with other terms, or names an unknown organization, is refused", async () => {
  const { creditStore, recordStore } = backend;
  const [orgId, other] = [await addOrg(backend), await addOrg(backend)];
  const once = { orgId, amountMicroUsd: microUsd(7n), ref: "once" };
  await creditStore.grant(once, testOperator);
  for (const change of [
    { orgId: other },
    { amountMicroUsd: microUsd(8n) },
    { orgId: "org_unknown" as OrgId, ref: "new" },
  ]) {
    const wrong = creditStore.grant({ ...once, ...change }, testOperator);
    await expect(wrong).rejects.toThrow(CreditFault);
  }
  expect((await recordStore.balance(orgId)).settledMicroUsd).toBe(7n);
  expect((await recordStore.balance(other)).settledMicroUsd).toBe(0n);
  expect(await brokenBooks({ backend })).toEqual([]);
});

test("after a database switch-over, account notices reconnect and report that anything may have changed", async () => {
  const listeners = `select pid from pg_stat_activity
    where datname = current_database() and application_name = 'tokenmarket notices'`;
  const heard: (OrgId | undefined)[] = [];
  await backend.accountNotices.start((orgId) => heard.push(orgId));
  const [old] = await backend.query(listeners);
  await backend.ledgerBatchStore.closeBatch([]);
  // Ends only the database session of the late closings, as a switch-over may do. The session that
  // listens for changes survives.
  await backend.query(`select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and application_name = 'tokenmarket late closings'`);
  await until("the lane has a new connection", () =>
    backend.ledgerBatchStore.closeBatch([]).then(
      () => true,
      () => false,
    ),
  );
  await until("it listens on a new one", async () => {
    const pids = await backend.query(listeners);
    return pids.length === 1 && pids[0]?.["pid"] !== old?.["pid"];
  });
  // Each time listening begins, undefined is reported: any organization may have changed.
  await until("everything is forgotten", () => heard.length === 2);
  expect(heard).toEqual([undefined, undefined]);
});
