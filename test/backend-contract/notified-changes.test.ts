import { beforeAll, describe, expect, test } from "vitest";

import { createVirtualKey } from "../../src/gateway/accounts/authenticate.ts";
import { openPostgresBackend, type PostgresBackend } from "../../src/app/open-postgres-backend.ts";
import type { OrgId } from "../../src/kernel/core/ids.ts";
import { microUsd } from "../../src/kernel/core/money.ts";
import { orgWithKey } from "../support/ledger-rows.ts";
import { freshDatabase } from "../support/postgres.ts";
import { silentLog } from "../support/silent-log.ts";
import { urlThrough, withProxyTo } from "../support/tcp-proxy.ts";
import { testOperator } from "../support/test-operator.ts";
import { withResource } from "../support/with-resource.ts";

const DOLLAR = microUsd(1_000_000n);

const database = withResource(freshDatabase, (fresh) => fresh.drop());
const proxy = withProxyTo(database);
const backend = withResource<PostgresBackend>(
  () => {
    const connectionString = urlThrough(proxy, database).href;
    return openPostgresBackend({ connectionString, log: silentLog });
  },
  (opened) => opened.close(),
);

/** The backend of another process, which changes the database without this process's knowledge. */
const elsewhere = withResource<PostgresBackend>(
  () => {
    const { connectionString } = database;
    return openPostgresBackend({ connectionString, log: silentLog });
  },
  (opened) => opened.close(),
);

/** The organizations that this process was notified of; undefined means any of them. */
let notified: (OrgId | undefined)[] = [];

beforeAll(async () => {
  await backend.accountNotices.start((orgId) => notified.push(orgId));
  // Only the notice connection exists so far, so only that one is lost, and everything else works.
  proxy.lose();
});

interface Of {
  readonly orgId: OrgId;
  readonly keyId: string;
}

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

const CHANGES: readonly { readonly what: string; run(of: Of): Promise<unknown> }[] = [
  {
    what: "a grant of credit",
    run: ({ orgId }) =>
      backend.creditStore.grant(
        { orgId, amountMicroUsd: DOLLAR, ref: `more ${orgId}` },
        testOperator,
      ),
  },
  { what: "a purchase of credit", run: buyCredit },
  { what: "a new key", run: (of) => backend.accountStore.createKey(newKey(of), testOperator) },
  {
    what: "a new key that a customer makes",
    run: (of) => backend.accountStore.createOwnKey(newKey(of), testOperator),
  },
  {
    what: "an edit of a key",
    run: ({ keyId }) =>
      backend.accountStore.editKeys("anyone", [keyId], { caps: { month: DOLLAR } }, testOperator),
  },
  {
    what: "a new cap of an organization",
    run: ({ orgId }) => backend.accountStore.setOrgCap(orgId, DOLLAR, testOperator),
  },
];

describe("while no database notice arrives", () => {
  test.each(CHANGES)("$what clears its process's caches before it returns", async (change) => {
    const account = await orgWithKey(elsewhere, { creditMicroUsd: 0n });
    notified = [];
    await change.run(account);
    expect(notified).toEqual([undefined]);
  });
});
