import { expect, test } from "vitest";

import { createVirtualKey } from "../../src/gateway/accounts/authenticate.ts";
import { openPostgresBackend, type PostgresBackend } from "../../src/app/open-postgres-backend.ts";
import { microUsd } from "../../src/kernel/core/money.ts";
import { addKey } from "../support/add-key.ts";
import { until } from "../support/books.ts";
import { chatBody } from "../support/chat-bodies.ts";
import { StoppedClock } from "../support/clocks.ts";
import { withGateway, type TestAccount } from "../support/gateway.ts";
import { at, bearer, httpCall, textAt, type HttpAnswer } from "../support/http-call.ts";
import { asAdmin, withDatabase } from "../support/postgres.ts";
import { silentLog } from "../support/silent-log.ts";
import { testOperator } from "../support/test-operator.ts";
import { withResource } from "../support/with-resource.ts";
import { inSession } from "../support/sql.ts";

const database = withDatabase();
/** Moves only when a test moves it: what is remembered does not age out by itself. */
const clock = new StoppedClock();
const gateway = withGateway(() => ({
  clock,
  settings: { databaseUrl: database.connectionString, orgRequestsPerMinute: 10_000 },
}));
/** The stores of another process on the same database, a command for example. */
const elsewhere = withResource<PostgresBackend>(
  () => {
    const { connectionString } = database;
    return Promise.resolve(openPostgresBackend({ connectionString, log: silentLog }));
  },
  (backend) => backend.close(),
);

const TOO_LITTLE = "0.000001";
const DOLLAR = microUsd(1_000_000n);
const SHORTFALL_LASTS_MS = 250;

async function send(
  key: string,
  more: object = {},
  path = "chat/completions",
): Promise<HttpAnswer> {
  const body = chatBody("test/a", more);
  return await httpCall(`${gateway.url}/v1/${path}`, { headers: bearer(key), body });
}

/** An account whose refusal by the ledger is remembered. */
async function refusedAccount(
  limits: { readonly keyCapUsd?: string; readonly orgCapUsd?: string } = {},
): Promise<TestAccount> {
  const isCapped = Object.keys(limits).length > 0;
  const account = await gateway.account(isCapped ? "1.00" : TOO_LITTLE, limits);
  for (let n = 0; n < 3; n += 1) {
    const answer = await send(account.key);
    expect(answer).toMatchObject({
      status: 429,
      headers: { "x-tm-error-code": "insufficient_quota" },
    });
  }
  return account;
}

const CAPPED = { keyCapUsd: TOO_LITTLE };
const ORG_CAPPED = { orgCapUsd: TOO_LITTLE };

interface Change {
  readonly what: string;
  readonly limits?: { readonly keyCapUsd?: string; readonly orgCapUsd?: string };
  readonly change: (backend: PostgresBackend, account: TestAccount) => Promise<unknown>;
}

const CHANGES: readonly Change[] = [
  {
    what: "granted credit",
    change: ({ creditStore }, { orgId }) =>
      creditStore.grant({ orgId, amountMicroUsd: DOLLAR, ref: `more ${orgId}` }, testOperator),
  },
  {
    what: "a cap of the key that its customer took away",
    limits: CAPPED,
    change: ({ accountStore }, { orgId, keyId }) =>
      accountStore.editKeys(orgId, [keyId], { caps: { month: null } }, testOperator),
  },
  {
    what: "a raised cap of the organization",
    limits: ORG_CAPPED,
    change: ({ accountStore }, { orgId }) => accountStore.setOrgCap(orgId, DOLLAR, testOperator),
  },
];

test.each(CHANGES)(
  "$what is usable at once in the process that made it, and soon in another",
  async ({ limits, change }) => {
    const account = await refusedAccount(limits);
    await change(gateway.backend, account);
    expect(await send(account.key)).toMatchObject({ status: 200 });
    const other = await refusedAccount(limits);
    await change(elsewhere, other);
    const isUsable = async (): Promise<boolean> => (await send(other.key)).status === 200;
    expect(await until("it is usable", isUsable)).toBe(true);
  },
);

test("money that a running request held is usable when that request has ended", async () => {
  // The credit covers one request at a time.
  const { key } = await gateway.account("0.001");
  const running = send(key, { messages: [{ role: "user", content: "[[fault:hold]] Hello" }] });
  await until("it is at the provider", () => gateway.simulator.counts().open === 1);
  for (let n = 0; n < 4; n += 1) {
    const answer = await send(key);
    expect(answer.status).toBe(429);
    expect(textAt(answer.json, "error.message")).toContain("is held by running requests");
    expect(at(answer.json, "error.metadata.retryable")).toBe(true);
  }
  gateway.simulator.release();
  expect(await running).toMatchObject({ status: 200 });
  expect(await send(key)).toMatchObject({ status: 200 });
});

test("a dry run is refused by the same remembered shortfall as a call, which lasts 250 ms", async () => {
  const account = await refusedAccount();
  // No notice arrives: as if the connection for notices were away.
  await inSession(await asAdmin(database), async (client) => {
    await client.query("set session_replication_role = replica");
    const sql = "update account set credits = credits + $2 where account_id = $1";
    await client.query(sql, [`wallet:${account.orgId}`, DOLLAR]);
  });
  const wouldAdmit = async (): Promise<unknown> =>
    at((await send(account.key, {}, "route?for=chat")).json, "would_admit");
  clock.moveOn(SHORTFALL_LASTS_MS - 1);
  expect(await wouldAdmit()).toBe(false);
  expect(await send(account.key)).toMatchObject({ status: 429 });
  clock.moveOn(1);
  expect(await wouldAdmit()).toBe(true);
  expect(await send(account.key)).toMatchObject({ status: 200 });
});

test("a key that was used before it existed works at once here, and soon in another process", async () => {
  const sentBefore = async (backend: PostgresBackend): Promise<string> => {
    const { orgId } = await gateway.account("1.00");
    const fresh = createVirtualKey();
    for (let n = 0; n < 2; n += 1) expect(await send(fresh.raw)).toMatchObject({ status: 401 });
    await addKey(backend, orgId, {}, fresh);
    return fresh.raw;
  };
  expect(await send(await sentBefore(gateway.backend))).toMatchObject({ status: 200 });
  const raw = await sentBefore(elsewhere);
  await until("it works", async () => (await send(raw)).status === 200);
});
