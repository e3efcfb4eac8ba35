import { expect, test } from "vitest";

import { openPostgresBackend, type PostgresBackend } from "../../src/app/open-postgres-backend.ts";
import { createVirtualKey } from "../../src/gateway/accounts/authenticate.ts";
import { microUsd } from "../../src/kernel/core/money.ts";
import { addKey } from "../support/add-key.ts";
import { until } from "../support/books.ts";
import { chatBody } from "../support/chat-bodies.ts";
import { StoppedClock } from "../support/clocks.ts";
import { withAccount, withGateway, type TestAccount } from "../support/gateway.ts";
import { at, bearer, httpCall, textAt, type HttpAnswer } from "../support/http-call.ts";
import { asAdmin, withDatabase } from "../support/postgres.ts";
import { SentStatements } from "../support/sent-statements.ts";
import { silentLog } from "../support/silent-log.ts";
import { inSession } from "../support/sql.ts";
import { urlThrough, withProxyTo } from "../support/tcp-proxy.ts";
import { testOperator } from "../support/test-operator.ts";
import { withResource } from "../support/with-resource.ts";

/** The number of requests of each kind, the first ones included. */
const REQUESTS = 20;
/** How many requests may query the ledger before its refusal is remembered, at the second one. */
const FIRST_REQUESTS = 3;

const statements = new SentStatements();
const database = withDatabase();
const proxy = withProxyTo(database, () => statements.reader());
/** Only a test moves this clock, so remembered refusals do not expire by themselves. */
const clock = new StoppedClock();
const gateway = withGateway(() => ({
  clock,
  settings: {
    databaseUrl: urlThrough(proxy, database).href,
    orgRequestsPerMinute: 10_000,
    refusalsPerMinute: 10_000,
  },
}));

const rich = withAccount(gateway, "10.00", { requestsPerMinute: 10_000 });

async function send(
  key: string | undefined,
  body: unknown,
  path = "chat/completions",
): Promise<HttpAnswer> {
  const headers = key === undefined ? {} : bearer(key);
  return await httpCall(`${gateway.url}/v1/${path}`, { headers, body });
}

/** The statements that requests cause; leases, probes and the like are the process's own. */
const OF_REQUESTS = /api_key|ledger_batch|refused|pg_notify|attempt/;
/** The process sums up days and hours, ends dead instances' attempts and finds due alerts. */
const OF_THE_PROCESS =
  /usage_day|usage_rolled|usage_is_watched|pg_inherits|lease|listing_(?:hour|day)|alert_/;
const OF_BOUNDED_ROWS = /refused_request/;

function taken(): { readonly others: readonly string[]; readonly rows: number } {
  const ofRequests = statements
    .take()
    .filter((text) => OF_REQUESTS.test(text) && !OF_THE_PROCESS.test(text));
  const others = ofRequests.filter((text) => !OF_BOUNDED_ROWS.test(text));
  return { others, rows: ofRequests.length - others.length };
}

const good = chatBody("test/a");

type Limits = Parameters<typeof gateway.account>[1];

const richKey = async (): Promise<string> => rich.key;
const keyOf = (usd: string, limits?: Limits) => async (): Promise<string> =>
  (await gateway.account(usd, limits)).key;

async function disabledKey(): Promise<string> {
  const { key, keyId } = await gateway.account("1.00");
  const { accountStore } = gateway.backend;
  await accountStore.editKeys("anyone", [keyId], { disable: true }, testOperator);
  return key;
}

const TOO_LITTLE = "0.000001";

test.each<[string, number, string, () => Promise<string | undefined>, unknown]>([
  ["without a key", 401, "auth", async () => undefined, good],
  ["with a disabled key", 401, "auth", disabledKey, good],
  ["that is not JSON", 400, "invalid_request", richKey, "hello"],
  ["for an unknown model", 404, "model_unavailable", richKey, chatBody("no/such-model")],
  [
    "over its requests per minute",
    429,
    "rate_limit",
    keyOf("1.00", { requestsPerMinute: 1 }),
    good,
  ],
  ["without enough credit", 429, "insufficient_quota", keyOf(TOO_LITTLE), good],
  [
    "over the cap of its organization",
    429,
    "insufficient_quota",
    keyOf("1.00", { orgCapUsd: TOO_LITTLE }),
    good,
  ],
])(
  "a repeatedly refused request %s runs no statement but those of its bounded rows",
  async (_what, status, code, newKey, body) => {
    const key = await newKey();
    for (let n = 0; n < FIRST_REQUESTS; n += 1) await send(key, body);
    const first = await send(key, body);
    await rowsWritten();
    statements.take();
    for (let n = 0; n < REQUESTS - FIRST_REQUESTS - 1; n += 1) {
      const answer = await send(key, body);
      expect(answer).toMatchObject({ status, headers: { "x-tm-error-code": code } });
      expect(at(answer.json, "error")).toEqual(at(first.json, "error"));
    }
    expect(taken().others).toEqual([]);
  },
);

/** Waits until all queued rows of refused requests are written. */
async function rowsWritten(): Promise<void> {
  await until("the rows are written", async () => {
    statements.take();
    await new Promise((resolve) => setTimeout(resolve, 100));
    return taken().rows === 0;
  });
}

/** The stores of another process on the same database, a command for example. */
const elsewhere = withResource<PostgresBackend>(
  () => {
    const { connectionString } = database;
    return Promise.resolve(openPostgresBackend({ connectionString, log: silentLog }));
  },
  (backend) => backend.close(),
);

const DOLLAR = microUsd(1_000_000n);
const SHORTFALL_LASTS_MS = 250;

function chat(key: string, more: object = {}): Promise<HttpAnswer> {
  return send(key, chatBody("test/a", more));
}

/** An account whose refusal by the ledger is remembered. */
async function refusedAccount(limits?: Limits): Promise<TestAccount> {
  const account = await gateway.account(limits === undefined ? TOO_LITTLE : "1.00", limits);
  for (let n = 0; n < 3; n += 1) {
    expect(await chat(account.key)).toMatchObject({
      status: 429,
      headers: { "x-tm-error-code": "insufficient_quota" },
    });
  }
  return account;
}

type Change = (backend: PostgresBackend, account: TestAccount) => Promise<unknown>;

test.each<[string, Limits, Change]>([
  [
    "a grant of credit",
    undefined,
    ({ creditStore }, { orgId }) =>
      creditStore.grant({ orgId, amountMicroUsd: DOLLAR, ref: `more ${orgId}` }, testOperator),
  ],
  [
    "the removal of a key's cap",
    { keyCapUsd: TOO_LITTLE },
    ({ accountStore }, { orgId, keyId }) =>
      accountStore.editKeys(orgId, [keyId], { caps: { month: null } }, testOperator),
  ],
  [
    "a raised cap of an organization",
    { orgCapUsd: TOO_LITTLE },
    ({ accountStore }, { orgId }) => accountStore.setOrgCap(orgId, DOLLAR, testOperator),
  ],
])(
  "%s takes effect at once in the process that made it, and soon in another",
  async (_what, limits, change) => {
    const account = await refusedAccount(limits);
    await change(gateway.backend, account);
    expect(await chat(account.key)).toMatchObject({ status: 200 });
    const other = await refusedAccount(limits);
    await change(elsewhere, other);
    const isUsable = async (): Promise<boolean> => (await chat(other.key)).status === 200;
    expect(await until("it is usable", isUsable)).toBe(true);
  },
);

test("money that a running request held is usable as soon as the request has ended", async () => {
  // The credit covers one request at a time.
  const { key } = await gateway.account("0.001");
  const running = chat(key, { messages: [{ role: "user", content: "[[fault:hold]] Hello" }] });
  await until("it is at the provider", () => gateway.simulator.counts().open === 1);
  for (let n = 0; n < 4; n += 1) {
    const answer = await chat(key);
    expect(answer.status).toBe(429);
    expect(textAt(answer.json, "error.message")).toContain("is held by running requests");
    expect(at(answer.json, "error.metadata.retryable")).toBe(true);
  }
  gateway.simulator.release();
  expect(await running).toMatchObject({ status: 200 });
  expect(await chat(key)).toMatchObject({ status: 200 });
});

test("a remembered shortfall refuses calls and dry runs for 250 ms", async () => {
  const account = await refusedAccount();
  // The change sends no notice, as if the connection for notices were lost.
  await inSession(await asAdmin(database), async (client) => {
    await client.query("set session_replication_role = replica");
    const sql = "update account set credits = credits + $2 where account_id = $1";
    await client.query(sql, [`wallet:${account.orgId}`, DOLLAR]);
  });
  const wouldAdmit = async (): Promise<unknown> =>
    at((await send(account.key, good, "route?for=chat")).json, "would_admit");
  clock.moveOn(SHORTFALL_LASTS_MS - 1);
  expect(await wouldAdmit()).toBe(false);
  expect(await chat(account.key)).toMatchObject({ status: 429 });
  clock.moveOn(1);
  expect(await wouldAdmit()).toBe(true);
  expect(await chat(account.key)).toMatchObject({ status: 200 });
});

test("a key that was refused before it was created works once it is created, here or elsewhere", async () => {
  const sentBefore = async (backend: PostgresBackend): Promise<string> => {
    const { orgId } = await gateway.account("1.00");
    const fresh = createVirtualKey();
    for (let n = 0; n < 2; n += 1) expect(await chat(fresh.raw)).toMatchObject({ status: 401 });
    await addKey(backend, orgId, {}, fresh);
    return fresh.raw;
  };
  expect(await chat(await sentBefore(gateway.backend))).toMatchObject({ status: 200 });
  const raw = await sentBefore(elsewhere);
  await until("it works", async () => (await chat(raw)).status === 200);
});
