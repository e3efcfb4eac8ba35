import { afterEach, describe, expect, test } from "vitest";

import { type RouteContract, ROUTES } from "../../../src/account/console-api/contract.ts";
import type { CallPorts } from "../../../src/gateway/call/ports.ts";
import { gatewayRoutes, type StoredDeps } from "../../../src/gateway/http/gateway-routes.ts";
import { createRequestId } from "../../../src/kernel/core/ids.ts";
import { until } from "../../support/books.ts";
import { chatBody } from "../../support/chat-bodies.ts";
import { at, bearer, httpCall, type HttpAnswer } from "../../support/http-call.ts";
import { withDatabase } from "../../support/postgres.ts";
import { readSql } from "../../support/sql.ts";
import { urlThrough, withProxyTo } from "../../support/tcp-proxy.ts";
import { withResource } from "../../support/with-resource.ts";
import { withPerson, withProviderConsole } from "../console/provider-fixture.ts";

const database = withDatabase();
const proxy = withProxyTo(database);
const fixture = withProviderConsole(() => ({
  settings: { databaseUrl: urlThrough(proxy, database).href },
  // A key that was read once stays cached, however long the database is unavailable.
  keyCacheMs: 3_600_000,
}));
const account = withResource(() => fixture.gateway.account("10"));
const ann = withPerson(fixture, "ann");

afterEach(() => proxy.set("up"));

interface Walked {
  readonly path?: string;
  readonly body?: object;
  /** True if the route answers from memory, without the database. */
  readonly isFree?: true;
  /** The status of a refusal for the model or the body, before the database is queried. */
  readonly status?: number;
  /** True if the route sums up a whole journal, which may take long. */
  readonly mayTakeLong?: true;
}

const CHAT = { body: chatBody("test/a") };
const ID = createRequestId(Date.UTC(2026, 0, 1));
const JOB_PATH = `/v1/videos/video_${"0".repeat(32)}`;

/** Requests for every route; the walk fails for a new route that has no line here. */
const WALK: Readonly<Record<string, readonly Walked[]>> = {
  "POST /v1/chat/completions": [CHAT],
  "POST /v1/messages": [{ body: chatBody("test/b") }],
  "POST /v1/messages/count_tokens": [{ ...CHAT, isFree: true }],
  "POST /v1/images/generations": [{ body: { model: "no/image", prompt: "x" }, status: 404 }],
  "POST /images/generations": [{ body: { model: "no/image", prompt: "x" }, status: 404 }],
  "POST /v1/videos": [{ body: { model: "no/video", prompt: "x" }, status: 404 }],
  "GET /v1/videos/{id}": [{ path: JOB_PATH }],
  "GET /v1/videos/{id}/content": [{ path: `${JOB_PATH}/content` }],
  "POST /v1/decisions": [{ body: { model: "no/decision", questions: [] }, status: 400 }],
  "POST /v1/route": [{ path: "/v1/route?for=chat", ...CHAT }],
  "GET /v1/models": [{ isFree: true }],
  "GET /v1/models/{id}": [{ path: "/v1/models/test/a", isFree: true }],
  "GET /v1/usage": [
    {},
    { path: "/v1/usage?group_by=day" },
    { path: "/v1/usage?format=csv" },
    { path: "/v1/usage?format=csv&group_by=model", mayTakeLong: true },
  ],
  "GET /v1/limits": [{}, { path: "/v1/limits?model=test/a" }],
  "POST /api/admission-limits": [{ body: { scope: "key", rpm: 100 } }],
  "GET /v1/generation": [{ path: `/v1/generation?id=${ID}` }],
};

const routes = gatewayRoutes({} as CallPorts, { videos: {} } as StoredDeps).routes;

function call(name: string, walked: Walked): Promise<HttpAnswer> {
  const [method = "", path = ""] = name.split(" ");
  return httpCall(fixture.gateway.url + (walked.path ?? path), {
    method,
    headers: bearer(account.key),
    ...(walked.body === undefined ? {} : { body: walked.body }),
  });
}

/** The important parts of an answer, on one line. */
function reported({ status, headers, text }: HttpAnswer): string {
  if (status < 500) return `${status}`;
  expect(text).not.toMatch(/postgres|sql|127\.0\.0\.1|ECONN/i);
  const retryable = /"retryable":\s*true/.test(text) ? "retryable" : "final";
  const code = String(headers["x-tm-error-code"]);
  return `${status} ${code} after ${headers["retry-after"]} ${retryable}`;
}

/** The console's routes that answer from memory. */
const FREE = new Set([
  "GET /api/models.json",
  "GET /api/catalog.json",
  "GET /api/providers.json",
  // This one does as long as the operator publishes no figures.
  "GET /api/listing-figures.json",
  "POST /api/manifest-check",
]);

const OF_CONSOLE = [
  ...Object.entries<RouteContract>(ROUTES)
    // Operator routes do not exist without an operator, whatever the database does.
    .filter(([, { access }]) => access !== "operator")
    .map(
      ([name]) => [name, name === "POST /api/manifest-check" ? { manifest: "{}" } : {}] as const,
    ),
  ["POST /auth/sign-out", {}] as const,
  ["GET /playground/v1/limits", {}] as const,
  ["POST /playground/v1/chat/completions", chatBody("test/a")] as const,
];
const AWAY = "503 gateway_error after 2: the database is not responding; try again in 2 seconds";

async function expectConsoleAway(): Promise<void> {
  const answers = await Promise.all(
    OF_CONSOLE.map(async ([route, body]) => {
      const { status, headers, json, text } = await ann.ask(route.replaceAll(/:\w+/g, "some-id"), {
        body,
      });
      if (status < 500) return [route, `${status}`];
      expect(text).not.toMatch(/postgres|sql|127\.0\.0\.1|ECONN/i);
      expect(at(json, "request_id")).toBe(headers["x-request-id"]);
      const { code, message } = at(json, "error") as Readonly<Record<string, string>>;
      return [route, `${status} ${code} after ${headers["retry-after"]}: ${message}`];
    }),
  );
  expect(answers).toEqual(OF_CONSOLE.map(([route]) => [route, FREE.has(route) ? "200" : AWAY]));
}

const TRANSLATED = "503 gateway_error after 2 retryable";

function due({ status, isFree }: Walked): string {
  return isFree === true ? "200" : (status?.toString() ?? TRANSLATED);
}

const LISTENERS_SQL = `select count(*) filter (where state = 'idle' and query like 'listen %') as ready,
    count(*) as of_all
  from pg_stat_activity
  where datname = current_database() and application_name = 'tokenmarket notices'`;

async function servesAgain(): Promise<void> {
  proxy.set("up");
  // All cached keys are dropped when notices arrive again; a key that is read after that stays.
  await until("changes are heard on one connection", async () => {
    const [row] = await readSql(fixture.gateway, LISTENERS_SQL, []).catch(() => []);
    return Number(row?.["ready"]) === 1 && Number(row?.["of_all"]) === 1;
  });
  await until("the gateway serves again", async () => {
    return (await call("POST /v1/chat/completions", CHAT)).status === 200;
  });
}

describe("every route that needs the database, the console's included, answers 503 with retry-after", () => {
  const walks = routes.flatMap(({ method, path }) => {
    const name = `${method} ${path}`;
    return (WALK[name] ?? [undefined]).map((walked) => [name, walked] as const);
  });
  async function expectWalk(of: typeof walks): Promise<void> {
    const answers = of.map(async ([name, walked = {}]) => {
      return [name, walked.path, reported(await call(name, walked))];
    });
    const expected = of.map(([name, walked]) => [
      name,
      walked?.path,
      walked === undefined ? "a request of this test" : due(walked),
    ]);
    expect(await Promise.all(answers)).toEqual(expected);
  }

  // This test is first, because all keys are read again after the notice connection was lost.
  test("when every answer of the database takes 2.5 s", async () => {
    await servesAgain();
    proxy.set({ delayMs: 2_500 });
    await expectWalk(walks.filter(([, walked]) => walked?.mayTakeLong !== true));
    await expectConsoleAway();
    proxy.set("up");
    await until("nothing is on its way any more", () => proxy.underWay === 0);
    await servesAgain();
  });

  test("when the database cannot be reached", async () => {
    await servesAgain();
    proxy.set("down");
    await expectWalk(walks);
    await expectConsoleAway();
  });
});
