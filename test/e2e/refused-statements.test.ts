import { expect, test } from "vitest";

import { until } from "../support/books.ts";
import { chatBody } from "../support/chat-bodies.ts";
import { StoppedClock } from "../support/clocks.ts";
import { withAccount, withGateway, type TestAccount } from "../support/gateway.ts";
import { at, bearer, httpCall, type HttpAnswer } from "../support/http-call.ts";
import { withDatabase } from "../support/postgres.ts";
import { SentStatements } from "../support/sent-statements.ts";
import { urlThrough, withProxyTo } from "../support/tcp-proxy.ts";
import { testOperator } from "../support/test-operator.ts";

/** The number of requests of each kind, the first ones included. */
const REQUESTS = 20;
/** A refusal that the ledger answered is remembered when it was the second in a row. */
const FIRST_REQUESTS = 3;

const statements = new SentStatements();
const database = withDatabase();
const proxy = withProxyTo(database, () => statements.reader());
// A remembered refusal does not age out while a slow machine is at work.
const gateway = withGateway(() => ({
  clock: new StoppedClock(),
  settings: {
    databaseUrl: urlThrough(proxy, database).href,
    orgRequestsPerMinute: 10_000,
    refusalsPerMinute: 10_000,
  },
}));

const rich = withAccount(gateway, "10.00", { requestsPerMinute: 10_000 });

async function send(key: string | undefined, body: unknown): Promise<HttpAnswer> {
  const headers = key === undefined ? {} : bearer(key);
  return await httpCall(`${gateway.url}/v1/chat/completions`, { headers, body });
}

/** The statements that requests cause; leases, probes and the like are the process's own. */
const OF_REQUESTS = /api_key|ledger_batch|refused|pg_notify|attempt/;
/** Days and hours are summed up, dead instances' attempts ended and alerts noticed by themselves. */
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

interface Kind {
  readonly what: string;
  readonly status: number;
  readonly code: string;
  /** Default: the key of an organization with credit. */
  readonly key?: () => Promise<string | undefined>;
  readonly body?: unknown;
}

const keyOf = async (account: Promise<TestAccount>): Promise<string> => (await account).key;

const KINDS: readonly Kind[] = [
  { what: "without a key", status: 401, code: "auth", key: () => Promise.resolve(undefined) },
  {
    what: "with a disabled key",
    status: 401,
    code: "auth",
    key: async () => {
      const { key, keyId } = await gateway.account("1.00");
      await gateway.backend.accountStore.editKeys(
        "anyone",
        [keyId],
        { disable: true },
        testOperator,
      );
      return key;
    },
  },
  { what: "that is no JSON", status: 400, code: "invalid_request", body: "hello" },
  {
    what: "for an unknown model",
    status: 404,
    code: "model_unavailable",
    body: chatBody("no/such-model"),
  },
  {
    what: "over its requests per minute",
    status: 429,
    code: "rate_limit",
    key: () => keyOf(gateway.account("1.00", { requestsPerMinute: 1 })),
  },
  {
    what: "without enough credit",
    status: 429,
    code: "insufficient_quota",
    key: () => keyOf(gateway.account("0.000001")),
  },
  {
    what: "over the cap of its organization",
    status: 429,
    code: "insufficient_quota",
    key: () => keyOf(gateway.account("1.00", { orgCapUsd: "0.000001" })),
  },
];

test.each(KINDS)(
  "a refused request $what costs no statement beyond its bounded rows",
  async ({ status, code, key, body = good }) => {
    const raw = key === undefined ? rich.key : await key();
    for (let n = 0; n < FIRST_REQUESTS; n += 1) await send(raw, body);
    const first = await send(raw, body);
    await rowsWritten();
    statements.take();
    for (let n = 0; n < REQUESTS - FIRST_REQUESTS - 1; n += 1) {
      const answer = await send(raw, body);
      expect(answer).toMatchObject({ status, headers: { "x-tm-error-code": code } });
      expect(at(answer.json, "error")).toEqual(at(first.json, "error"));
    }
    expect(taken().others).toEqual([]);
  },
);

/** Rows of refused requests that are queued at the moment are written, and nothing else is. */
async function rowsWritten(): Promise<void> {
  await until("the rows are written", async () => {
    statements.take();
    await new Promise((resolve) => setTimeout(resolve, 100));
    return taken().rows === 0;
  });
}
