import { randomBytes } from "node:crypto";
import { describe, expect, test } from "vitest";
import type { NewKey } from "../../src/gateway/accounts/key-store.ts";
import { KEYS_PER_ORG_MAX } from "../../src/kernel/core/constants.ts";
import type { OrgId } from "../../src/kernel/core/ids.ts";
import { microUsd } from "../../src/kernel/core/money.ts";
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
  test("shows its cap and whether it was ever funded", async () => {
    const { orgId } = await orgWithKey(backend, { creditMicroUsd: 0n });
    expect(await backend.accountStore.findOrg(orgId)).toMatchObject({
      orgId,
      name: "Acme",
      email: "a@example.com",
      capMicroUsd: null,
      isFunded: false,
      keysMaySetOrgLimits: false,
    });
    await backend.creditStore.grant(
      { orgId, amountMicroUsd: microUsd(5n), ref: `fund ${orgId}` },
      testOperator,
    );
    expect(await backend.accountStore.setOrgCap(orgId, microUsd(7n), testOperator)).toBe(true);
    expect(await backend.accountStore.renameOrg(orgId, "Acme Labs", testOperator)).toBe(true);
    expect(await backend.accountStore.findOrg(orgId)).toMatchObject({
      name: "Acme Labs",
      capMicroUsd: 7n,
      isFunded: true,
    });
    expect((await backend.recordStore.monthSpend(orgId)).capMicroUsd).toBe(7n);
    await backend.accountStore.setOrgCap(orgId, null, testOperator);
    expect((await backend.accountStore.findOrg(orgId))?.capMicroUsd).toBeNull();
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
    const { orgId, keyId: older } = await orgWithKey(backend, { creditMicroUsd: 0n });
    const made = await backend.accountStore.createOwnKey(newKey(orgId), testOperator);
    if (made === "too_many") throw new Error("another one was possible");
    const { keyId } = made;
    expect(await backend.accountStore.findKey(orgId, keyId)).toEqual(made);
    const keys = await backend.accountStore.listOwnKeys(orgId);
    expect(keys.map((key) => key.keyId)).toEqual([keyId, older]);
    const { accountStore } = backend;
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
      const edited = await accountStore.editKeys(orgId, [keyId], change, testOperator);
      expect(edited).toMatchObject([change]);
    }
    const disabled = await accountStore.editKeys(orgId, [keyId], { disable: true }, testOperator);
    expect(disabled?.[0]?.disabledAtMs).not.toBeNull();
    expect(await accountStore.editKeys(orgId, [keyId], { disable: true }, testOperator)).toEqual(
      disabled,
    );
    expect(await accountStore.findKey(orgId, keyId)).toEqual(disabled?.[0]);
  });

  test("is refused beyond the maximum of an organization, even by simultaneous requests", async () => {
    const { orgId } = await orgWithKey(backend, { creditMicroUsd: 0n });
    await backend.query(
      `insert into api_key (key_id, org_id, digest, label, name, origin, rpm_ceiling)
      select 'key_many_' || n, $1, sha256(('many ' || n)::bytea), 'tm', 'many', 'console', 300
      from generate_series(1, $2::integer) as t(n)`,
      [orgId, KEYS_PER_ORG_MAX - 3],
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

test("an organization has one Playground key, which no caller can present", async () => {
  const { orgId } = await orgWithKey(backend, { creditMicroUsd: 0n });
  const asked = await Promise.all(
    Array.from({ length: 5 }, () => backend.accountStore.playgroundKey(orgId)),
  );
  expect(new Set(asked).size).toBe(1);
  const rows = await backend.query(
    "select key_id, rpm_ceiling, label from api_key where org_id = $1 and origin = 'playground'",
    [orgId],
  );
  expect(rows).toEqual([{ key_id: asked[0], rpm_ceiling: 60, label: "playground" }]);
  const [keyId] = asked;
  expect(keyId && (await backend.rulesStore.findKey(keyId))).toMatchObject({
    orgId,
    origin: "playground",
    requestsPerMinuteCeiling: 60,
  });
  const { orgId: other } = await orgWithKey(backend, { creditMicroUsd: 0n });
  expect(await backend.accountStore.playgroundKey(other)).not.toBe(keyId);
});

test("a change of several keys applies to all of them or to none, and logs an entry for each", async () => {
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
  expect(
    await store.editKeys(orgId, [first, another], { ...edit, limit }, testOperator),
  ).toBeUndefined();
  expect(await store.findKey(orgId, first)).toMatchObject({ caps: { day: null }, tags: [] });
  expect(await backend.rulesStore.listLimits(orgId)).toEqual([]);
  expect(await logged()).toBe(before);
  await store.editKeys(orgId, [first, second], { ...edit, limit }, testOperator);
  for (const keyId of [first, second]) {
    expect(await store.findKey(orgId, keyId)).toMatchObject({
      name: "both",
      caps: { day: 7n },
      tags: ["batch"],
    });
  }
  expect(await backend.rulesStore.listLimits(orgId)).toMatchObject([{ requestsPerMinute: 9 }]);
  expect(await logged()).toBe(before + 7);
});
