import { describe, expect, test } from "vitest";
import type { RoutingPolicy } from "../../src/gateway/accounts/account-rules.ts";
import { until, untilTaken } from "../support/books.ts";
import { chatBody } from "../support/chat-bodies.ts";
import {
  simulatorManifest,
  textModel,
  tokenPrices,
  withAccount,
  withGateway,
  type TestAccount,
} from "../support/gateway.ts";
import { at, bearer, httpCall, type HttpAnswer } from "../support/http-call.ts";
import { expectRefusal } from "../support/refusals.ts";
import { testOperator } from "../support/test-operator.ts";

const gateway = withGateway(() => ({
  settings: { platformConcurrentRequests: 3 },
  manifests: [
    provider("first", 0),
    provider("second", 1),
    provider("keeper", 2),
    equal("cheap", "1"),
    equal("dear", "2"),
  ],
}));
const account = withAccount(gateway, "5.00");

function provider(name: string, priority: number): object {
  return simulatorManifest({
    provider: name,
    dialect: "wire_a",
    priority,
    models: [textModel("route/all")],
  });
}

/** A manifest of one of two providers of equal priority; the cheaper is tried first. */
function equal(name: string, price: string): object {
  const pricing = tokenPrices({ prompt: price, completion: price });
  const models = [textModel("route/equal", { pricing })];
  return simulatorManifest({ provider: name, dialect: "wire_a", models });
}

async function chat(more: object = {}, who: TestAccount = account): Promise<HttpAnswer> {
  const url = `${gateway.url}/v1/chat/completions`;
  return await httpCall(url, { body: chatBody("route/all", more), headers: bearer(who.key) });
}

async function servedBy(controls: object, who: TestAccount = account): Promise<unknown> {
  const answer = await chat({ provider: controls }, who);
  expect({ status: answer.status, text: answer.text }).toMatchObject({ status: 200 });
  return answer.headers["x-tm-provider"];
}

describe("the provider object of a request", () => {
  test.each([
    [{ order: ["keeper"], ignore: ["keeper"] }, "first"],
    [{ allow_fallbacks: false, order: ["second"] }, "second"],
  ])("%j is served by %s", async (controls, expected) => {
    expect(await servedBy(controls)).toBe(expected);
  });

  test("with allow_fallbacks false sends one attempt, and the client gets its failure", async () => {
    const messages = [{ role: "user", content: "[[fault:status:503]] Hello" }];
    const answer = await chat({ messages, provider: { allow_fallbacks: false } });
    expectRefusal(answer, { status: 503, code: "upstream_error" });
    expect(answer.headers["x-tm-attempts"]).toBe("1");
  });
});

test("an organization's routing policy applies unless the request's own controls override it", async () => {
  const careful = await gateway.account("5.00");
  const policy: RoutingPolicy = { only: ["second", "keeper"], ignore: ["second"] };
  const { rulesStore } = gateway.backend;
  expect(await rulesStore.setPolicy(careful.orgId, policy, testOperator)).toBe(true);
  expect(await servedBy({}, careful)).toBe("keeper");
  expect(await servedBy({ ignore: [] }, careful)).toBe("second");
});

test("a gateway at the platform's concurrency limit answers 503, sends nothing, and serves again later", async () => {
  const others = await Promise.all(Array.from({ length: 3 }, () => gateway.account("1.00")));
  const messages = [{ role: "user", content: "[[fault:hold]] Hello" }];
  const before = gateway.simulator.counts().total;
  const running = others.map((who) => untilTaken(() => chat({ messages }, who)));
  await until("all are at the provider", () => gateway.simulator.counts().total === before + 3);
  const refused = await chat();
  expectRefusal(refused, { status: 503, code: "gateway_error" });
  expect(refused.headers).toMatchObject({
    "x-tm-error-origin": "gateway_infrastructure",
    "x-tm-limit-scope": "platform",
    "x-tm-limit-kind": "concurrency",
    "retry-after": "1",
  });
  expect(refused.headers).not.toHaveProperty("x-tm-attempts");
  expect(gateway.simulator.counts().total).toBe(before + 3);
  gateway.simulator.release();
  for (const answer of await Promise.all(running)) expect(answer.status).toBe(200);
  expect((await chat()).status).toBe(200);
});

describe("a conversation among providers of equal priority", () => {
  const history = (topic: string): object => ({
    messages: [{ role: "user", content: `${topic} ${"is long enough ".repeat(100)}` }],
  });

  async function served(more: object): Promise<unknown> {
    const answer = await chat({ model: "route/equal", ...more });
    expect({ status: answer.status, text: answer.text }).toMatchObject({ status: 200 });
    return answer.headers["x-tm-provider"];
  }

  async function dryRun(more: object): Promise<HttpAnswer> {
    const url = `${gateway.url}/v1/route?for=chat`;
    const body = chatBody("route/equal", more);
    return await httpCall(url, { body, headers: bearer(account.key) });
  }

  test.each([
    ["has a prompt_cache_key", { prompt_cache_key: "moved" }, { prompt_cache_key: "other" }],
    ["is known by how its messages begin", history("moved"), history("other")],
  ])(
    "that %s stays with the provider to which a 429 moved it, and no other moves",
    async (_, moved, other) => {
      expect(await served(moved)).toBe("cheap");
      const fault = "status:429;retry_after:1";
      gateway.simulator.script({ model: "route/equal", fault, times: 1 });
      expect(await served(moved)).toBe("dear");
      await until("the cheap one is no longer paused", async () => {
        const route = await dryRun(other);
        return at(route.json, "candidates.0.pool.has_capacity");
      });
      expect(await served(other)).toBe("cheap");
      expect(await served(moved)).toBe("dear");
      expect(await served({ ...moved, provider: { order: ["cheap"] } })).toBe("cheap");
    },
  );

  test("is served by the provider that the dry run names, with the reason", async () => {
    expect(await served({ session_id: "dry", provider: { only: ["dear"] } })).toBe("dear");
    const route = await dryRun({ session_id: "dry" });
    expect(at(route.json, "candidates")).toMatchObject([
      {
        provider: "dear",
        reasons: ["its priority is 0", "of equals it served this conversation last"],
      },
      { provider: "cheap", reasons: ["its priority is 0"] },
    ]);
    expect(await served({ session_id: "dry" })).toBe("dear");
  });
});
