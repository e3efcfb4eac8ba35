import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { PLAIN_RULES } from "../../src/gateway/accounts/account-rules.ts";
import type { OrgId } from "../../src/kernel/core/ids.ts";
import { microUsd } from "../../src/kernel/core/money.ts";
import { systemClock } from "../../src/kernel/core/time.ts";
import { CreditFault } from "../../src/ledger/postgres-credit-store.ts";
import { until } from "../support/books.ts";
import { findKey } from "../support/find-key.ts";
import { orgWithKey } from "../support/ledger-rows.ts";
import { withBackend } from "../support/postgres.ts";
import { testOperator } from "../support/test-operator.ts";

const backend = withBackend();

test("an organization made by an operator has an empty wallet and a verified address", async () => {
  const { accountStore } = backend;
  const before = systemClock.nowMs();
  const org = await accountStore.createOrg(
    { name: "Acme", email: "ops@example.com" },
    testOperator,
  );
  expect(org).toMatchObject({
    name: "Acme",
    email: "ops@example.com",
    balanceMicroUsd: 0n,
    heldMicroUsd: 0n,
  });
  expect(org.createdAtMs).toBeGreaterThan(before - 60_000);
  expect(await accountStore.findOrg(org.orgId)).toEqual(org);
  expect(await accountStore.listOrgs()).toContainEqual(org);
  expect(await accountStore.findOrg("org_unknown")).toBeUndefined();
});

test("a key is found by its digest with everything that the gateway needs", async () => {
  const { accountStore, creditStore, keyStore } = backend;
  const org = await accountStore.createOrg(
    { name: "Acme", email: "ops@example.com" },
    testOperator,
  );
  const digest = createHash("sha256").update("tm-secret").digest();
  const key = await accountStore.createKey(
    {
      orgId: org.orgId,
      name: "ci",
      origin: "trial",
      digest,
      label: "tm-secret-00",
      requestsPerMinuteCeiling: 20,
      caps: { month: microUsd(5n) },
    },
    testOperator,
  );
  const record = {
    keyId: key.keyId,
    orgId: org.orgId,
    origin: "trial",
    name: "ci",
    requestsPerMinuteCeiling: 20,
    disabled: false,
    emailVerified: true,
    funded: false,
    rules: { ...PLAIN_RULES, isTrial: true },
  };
  expect(await findKey(keyStore, digest)).toEqual(record);
  await creditStore.grant(
    { orgId: org.orgId, amountMicroUsd: microUsd(1n), ref: "first" },
    testOperator,
  );
  const bought = { ...record, funded: true, rules: PLAIN_RULES };
  expect(await findKey(keyStore, digest)).toEqual(bought);
  expect(await findKey(keyStore, Buffer.alloc(32, 7))).toBeUndefined();
  expect(await accountStore.listKeys(org.orgId)).toEqual([key]);
});

test("two keys cannot share a digest", async () => {
  const { orgId } = await orgWithKey(backend, { creditMicroUsd: 0n });
  const key = {
    orgId,
    name: "twin",
    origin: "console" as const,
    digest: Buffer.alloc(32, 9),
    label: "tm-twin-0000",
    requestsPerMinuteCeiling: 300,
  };
  await backend.accountStore.createKey(key, testOperator);
  await expect(backend.accountStore.createKey(key, testOperator)).rejects.toThrow(
    "api_key_digest_key",
  );
});

test("a grant happens once per reference, however often it is repeated", async () => {
  const { orgId } = await orgWithKey(backend, { creditMicroUsd: 0n });
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

test("a reference that is reused with other terms is refused and changes nothing", async () => {
  const { orgId } = await orgWithKey(backend, { creditMicroUsd: 0n });
  const other = await orgWithKey(backend, { creditMicroUsd: 0n });
  const amountMicroUsd = microUsd(7n);
  await backend.creditStore.grant({ orgId, amountMicroUsd, ref: "once" }, testOperator);
  const wrong = [
    { orgId: other.orgId, amountMicroUsd, ref: "once" },
    { orgId, amountMicroUsd: microUsd(8n), ref: "once" },
    { orgId: "org_unknown" as OrgId, amountMicroUsd, ref: "new" },
  ];
  for (const grant of wrong) {
    await expect(backend.creditStore.grant(grant, testOperator)).rejects.toThrow(CreditFault);
  }
  const balances = await Promise.all(
    [orgId, other.orgId].map((id) => backend.recordStore.balance(id)),
  );
  expect(balances.map((balance) => balance.settledMicroUsd)).toEqual([7n, 0n]);
  for (const check of await backend.audit()) expect(check).toMatchObject({ violations: 0 });
});

test("changes are received from the new server after a switch-over with old sessions", async () => {
  const listeners = `select pid from pg_stat_activity
    where datname = current_database() and application_name = 'tokenmarket notices'`;
  const heard: (OrgId | undefined)[] = [];
  await backend.accountNotices.start((orgId) => heard.push(orgId));
  const [old] = await backend.query(listeners);
  await backend.ledgerBatchStore.closeBatch([]);
  // Ends only the lane's session, as a server does that fences it off; the listener's session
  // stays.
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
  // Each start of listening reports that any organization may have changed, and there were two.
  await until("everything is forgotten", () => heard.length === 2);
  expect(heard).toEqual([undefined, undefined]);
});
