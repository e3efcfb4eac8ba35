import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { type RouteContract, ROUTES } from "../../../src/account/console-api/contract.ts";
import { chatBody } from "../../support/chat-bodies.ts";
import { at, type HttpAnswer } from "../../support/http-call.ts";
import { withDatabase } from "../../support/postgres.ts";
import { urlThrough, withProxyTo } from "../../support/tcp-proxy.ts";
import { withResource } from "../../support/with-resource.ts";
import { newcomer, openProviderFixture, type Person } from "./provider-fixture.ts";

const database = withDatabase();
const proxy = withProxyTo(database);
const fixture = withResource(() =>
  openProviderFixture({ settings: { databaseUrl: urlThrough(proxy, database).href } }),
);
let ann: Person;

beforeAll(async () => {
  ann = await fixture.signIn(newcomer("ann"));
});
afterAll(() => proxy.set("up"));

/** Answered from memory. */
const FREE = new Set([
  "GET /api/models.json",
  "GET /api/catalog.json",
  "GET /api/providers.json",
  // While the operator shows none.
  "GET /api/listing-figures.json",
  "POST /api/manifest-check",
]);

const ALL = [
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

/** The important parts of an answer, on one line. */
function reported({ status, headers, json, text }: HttpAnswer): string {
  if (status < 500) return `${status}`;
  expect(text).not.toMatch(/postgres|sql|127\.0\.0\.1|ECONN/i);
  expect(at(json, "request_id")).toBe(headers["x-request-id"]);
  const { code, message } = at(json, "error") as Readonly<Record<string, string>>;
  return `${status} ${code} after ${headers["retry-after"]}: ${message}`;
}

const AWAY = "503 gateway_error after 2: the database is not responding; try again in 2 seconds";

describe("a database that does not answer is a 503 with retry-after on the console's routes", () => {
  test.each([
    ["away", "down"],
    ["too slow", { delayMs: 2_500 }],
  ] as const)("when it is %s", async (_what, state) => {
    proxy.set(state);
    const answers = await Promise.all(
      ALL.map(async ([route, body]) => {
        const path = route.replaceAll(/:\w+/g, "some-id");
        return [route, reported(await ann.ask(path, { body }))];
      }),
    );
    proxy.set("up");
    expect(answers).toEqual(ALL.map(([route]) => [route, FREE.has(route) ? "200" : AWAY]));
  });
});
