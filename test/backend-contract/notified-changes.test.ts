import { beforeAll, describe, expect, onTestFinished, test } from "vitest";

import { createVirtualKey } from "../../src/gateway/accounts/authenticate.ts";
import { openPostgresBackend, type PostgresBackend } from "../../src/app/open-postgres-backend.ts";
import type { OrgId } from "../../src/kernel/core/ids.ts";
import { microUsd } from "../../src/kernel/core/money.ts";
import { orgWithKey } from "../support/ledger-rows.ts";
import { freshDatabase } from "../support/postgres.ts";
import { silentLog } from "../support/silent-log.ts";
import { startTcpProxy, urlThrough, withProxyTo } from "../support/tcp-proxy.ts";
import { testOperator } from "../support/test-operator.ts";
import { withResource } from "../support/with-resource.ts";

const DOLLAR = microUsd(1_000_000n);

const database = withResource(freshDatabase, (fresh) => fresh.drop());
const proxy = withProxyTo(database);
const open = (connectionString: string): PostgresBackend =>
  openPostgresBackend({ connectionString, log: silentLog });
const backend = withResource(() => open(urlThrough(proxy, database).href));
/** The backend of another process, which changes the database without this process's knowledge. */
const elsewhere = withResource(() => open(database.connectionString));

/** The organizations that this process was notified of; undefined means any of them. */
let notified: (OrgId | undefined)[] = [];

beforeAll(async () => {
  await backend.accountNotices.start((orgId) => notified.push(orgId));
  // Only the notice connection exists so far, so only that one is lost, and everything else works.
  proxy.lose();
});

type Of = Awaited<ReturnType<typeof orgWithKey>>;

function newKey({ orgId }: Of) {
  const { digest, label } = createVirtualKey();
  const limits = { requestsPerMinuteCeiling: 300 };
  return { orgId, name: "new", origin: "console", digest, label, ...limits } as const;
}

async function buyCredit({ orgId }: Of): Promise<boolean> {
  const { purchaseStore } = backend;
  const purchaseId = `purchase of ${orgId}`;
  const bounds = { nowMs: 0, expiresAtMs: 0, purchasesMax: 1, countedFromMs: 0 };
  const purchase = { purchaseId, orgId, amountMicroUsd: DOLLAR, isTestMoney: true };
  await purchaseStore.create({ ...purchase, ...bounds }, testOperator);
  return await purchaseStore.grant({ purchaseId, paymentId: null, receiptUrl: null });
}

const caps = { caps: { month: DOLLAR } };
const CHANGES: Readonly<Record<string, (of: Of) => Promise<unknown>>> = {
  "a grant of credit": ({ orgId }) => {
    const grant = { orgId, amountMicroUsd: DOLLAR, ref: `more ${orgId}` };
    return backend.creditStore.grant(grant, testOperator);
  },
  "a purchase of credit": buyCredit,
  "a new key": (of) => backend.accountStore.createKey(newKey(of), testOperator),
  "a new key that a customer makes": (of) =>
    backend.accountStore.createOwnKey(newKey(of), testOperator),
  "an edit of a key": ({ keyId }) =>
    backend.accountStore.editKeys("anyone", [keyId], caps, testOperator),
  "a new cap of an organization": ({ orgId }) =>
    backend.accountStore.setOrgCap(orgId, DOLLAR, testOperator),
};

describe("while no database notice arrives", () => {
  test.each(Object.entries(CHANGES))(
    "%s clears its process's caches before it returns",
    async (_what, change) => {
      const account = await orgWithKey(elsewhere, { creditMicroUsd: 0n });
      notified = [];
      await change(account);
      expect(notified).toEqual([undefined]);
    },
  );
});

test("a connection for notices whose server falls silent as it begins is replaced in seconds", async () => {
  const { hostname: host, port } = new URL(database.connectionString);
  let listens = 0;
  const losing = await startTcpProxy({ host, port: Number(port) }, () => (piece) => {
    if (piece.includes("listen ") && ++listens === 1) losing.lose();
  });
  const behind = open(urlThrough(losing, database).href);
  onTestFinished(async () => {
    await losing.close();
    await behind.close();
  });
  const told: unknown[] = [];
  await behind.accountNotices.start((orgId) => told.push(orgId));
  await expect.poll(() => told).toEqual([undefined]);
  expect(listens).toBeGreaterThan(1);
});
