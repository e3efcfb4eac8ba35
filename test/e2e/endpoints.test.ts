import { describe, expect, test } from "vitest";
import type { EndpointLimits } from "../../src/gateway/limits/limit-ceilings.ts";
import { until } from "../support/books.ts";
import { chatBody } from "../support/chat-bodies.ts";
import {
  simulatorManifest,
  STANDARD_MANIFESTS,
  textModel,
  withGateway,
  type TestAccount,
} from "../support/gateway.ts";
import { at, bearer, httpCall, listAt, textAt, type HttpAnswer } from "../support/http-call.ts";
import { StoppedClock } from "../support/clocks.ts";
import { PublishedApi } from "../support/openapi.ts";
import { expectRefusal } from "../support/refusals.ts";
import { testOperator } from "../support/test-operator.ts";

/** Queues and windows use this clock, so no test waits and a slow machine changes nothing. */
const clock = new StoppedClock();

const PRIVATE_PROVIDERS = ["one", "two", "three", "four", "seven", "eight", "nine"];

const gateway = withGateway(() => ({
  clock,
  manifests: [
    ...STANDARD_MANIFESTS,
    ...PRIVATE_PROVIDERS.map(privateManifest),
    keyless(),
    staged(),
  ],
}));

function privateManifest(name: string): object {
  return simulatorManifest({
    provider: `private-${name}`,
    dialect: "wire_a",
    isPrivate: true,
    models: [
      textModel(`house/${name}`),
      textModel("test/both"),
      textModel(`house/${name}-capacity`, {
        capacity: [{ type: "request", per: "minute", value: 3 }],
      }),
    ],
  });
}

/** Its key is missing; the model is listed publicly too. */
function keyless(): object {
  const manifest = privateManifest("keyless") as { endpoint: object };
  return { ...manifest, endpoint: { ...manifest.endpoint, api_key_env: "ABSENT_PROVIDER_KEY" } };
}

function staged(): object {
  return simulatorManifest({
    provider: "staged",
    dialect: "wire_a",
    models: [textModel("house/staged", { is_ready: false })],
  });
}

/** An organization that has the private manifest `name` for itself. */
async function ownerOf(name: string, limits: EndpointLimits = {}): Promise<TestAccount> {
  const account = await gateway.account("5.00");
  const { orgId } = account;
  const providerId = `private-${name}`;
  const made = await gateway.backend.rulesStore.createEndpoint(
    { orgId, providerId, limits },
    testOperator,
  );
  if (made === undefined || made === "taken") throw new Error("the endpoint was not made");
  return account;
}

async function chat(account: TestAccount, model: string, more: object = {}): Promise<HttpAnswer> {
  const url = `${gateway.url}/v1/chat/completions`;
  return await httpCall(url, { body: chatBody(model, more), headers: bearer(account.key) });
}

/** An answer without its request id and model id, to compare two answers. */
function reported(answer: HttpAnswer, modelId: string): string {
  return answer.text
    .replaceAll(textAt(answer.json, "request_id"), "id")
    .replaceAll(modelId, "model");
}

describe("a dedicated endpoint", () => {
  test("that cannot serve its model leaves no request to a public provider of that model", async () => {
    const owner = await ownerOf("keyless");
    expectRefusal(await chat(owner, "test/both"), { status: 404, code: "model_unavailable" });
    expect((await chat(await gateway.account("5.00"), "test/both")).status).toBe(200);
  });

  test("serves only its organization's requests, for its models, on both wires", async () => {
    const owner = await ownerOf("one");
    const stranger = await gateway.account("5.00");
    const served = await chat(owner, "house/one");
    expect(served.status).toBe(200);
    expect(served.headers["x-tm-provider"]).toBe("private-one");
    const messages = await httpCall(`${gateway.url}/v1/messages`, {
      body: chatBody("house/one"),
      headers: bearer(owner.key),
    });
    expect(messages.status).toBe(200);
    expect(messages.headers["x-tm-provider"]).toBe("private-one");
    // Without limits of its own, the endpoint reports no remaining amounts.
    expect(served.headers).not.toHaveProperty("x-tm-remaining-rpm");
    const refused = await chat(stranger, "house/one");
    const unknown = await chat(stranger, "house/none");
    expectRefusal(refused, { status: 404, code: "model_unavailable" });
    expect(reported(refused, "house/one")).toBe(reported(unknown, "house/none"));
  });

  test("serves a model that is also public without failover to the public providers", async () => {
    const owner = await ownerOf("two");
    expect((await chat(owner, "test/both")).headers["x-tm-provider"]).toBe("private-two");
    const failing = { messages: [{ role: "user", content: "[[fault:status:503]] Hello" }] };
    const failed = await chat(owner, "test/both", failing);
    expect(failed.status).toBe(503);
    expect(failed.headers["x-tm-attempts"]).toBe("1");
  });

  test("is hidden from other organizations in lists, limits and dry runs, and so is a staged listing", async () => {
    const stranger = await gateway.account("5.00");
    const headers = bearer(stranger.key);
    const list = await httpCall(`${gateway.url}/v1/models`, { headers });
    expect(listAt(list.json, "data").length).toBeGreaterThan(0);
    const publicIds = await fetch(`${gateway.running.consoleUrl}/api/models.json`);
    for (const text of [list.text, await publicIds.text()]) {
      expect(text).not.toMatch(/private-|house\//);
    }
    for (const id of ["house/one", "house/staged"]) {
      const entry = await httpCall(`${gateway.url}/v1/models/${encodeURIComponent(id)}`, {
        headers,
      });
      expect(entry.status).toBe(404);
      const limits = await httpCall(`${gateway.url}/v1/limits?model=${id}`, { headers });
      expect(limits.status).toBe(404);
      const route = await httpCall(`${gateway.url}/v1/route?for=chat`, {
        body: chatBody(id),
        headers,
      });
      expect(at(route.json, "refusal.code")).toBe("model_unavailable");
      expect(route.text).not.toContain("private-");
    }
  });

  test("replaces the default limits with its own, and refusals have the scope endpoint", async () => {
    const owner = await ownerOf("three", { requestsPerMinute: 2, tokensPerMinute: 50_000 });
    const first = await chat(owner, "house/three");
    expect(first.headers["x-tm-remaining-rpm"]).toBe("1");
    expect((await chat(owner, "house/three")).status).toBe(200);
    const refused = await chat(owner, "house/three");
    expectRefusal(refused, { status: 429, code: "rate_limit" });
    expect(refused.headers).toMatchObject({
      "x-tm-error-origin": "gateway_admission",
      "x-tm-limit-scope": "endpoint",
      "x-tm-limit-kind": "rpm",
      "x-tm-limit-id": expect.stringMatching(/^endpoint:\w+$/),
    });
    // Requests to other models use the default limits, which are unused so far.
    expect((await chat(owner, "test/a")).headers["x-tm-remaining-rpm"]).toBe("299");
  });

  test("gives its organization the whole capacity of its manifest", async () => {
    const owner = await ownerOf("eight");
    for (let n = 0; n < 3; n += 1) {
      expect((await chat(owner, "house/eight-capacity")).status).toBe(200);
    }
    const refused = await chat(owner, "house/eight-capacity");
    expectRefusal(refused, { status: 429, code: "rate_limit" });
    expect(refused.headers["x-tm-error-origin"]).toBe("upstream_quota");
  });
});

describe("an endpoint with a rate", () => {
  test("of less than one request per second is shown as the published document says", async () => {
    const owner = await ownerOf("four", { paced: { perSecond: 0.5, waitMsMax: 1_000 } });
    const url = `${gateway.url}/v1/limits?model=house/four`;
    const limits = await httpCall(url, { headers: bearer(owner.key) });
    const paced = { per_second: 0.5, wait_ms_max: 1_000 };
    expect(listAt(limits.json, "scopes")).toContainEqual(expect.objectContaining({ paced }));
    expect(new PublishedApi().problemsOf("GET /v1/limits", limits)).toEqual([]);
  });

  test("refuses a request with a 504 if its queue slot is after the routing deadline", async () => {
    const paced = { perSecond: 0.05, waitMsMax: 60_000 };
    const owner = await ownerOf("nine", { paced });
    expect(
      await gateway.backend.rulesStore.setPolicy(owner.orgId, { timeoutMs: 2_000 }, testOperator),
    ).toBe(true);
    // Of two requests, the second would wait twenty seconds, which is too long.
    const answers = await Promise.all([1, 2].map(() => chat(owner, "house/nine")));
    const refused = answers.find(({ status }) => status !== 200);
    if (refused === undefined) throw new Error("both were served");
    expectRefusal(refused, { status: 504, code: "gateway_error", message: "2000 ms" });
    expect(refused.headers["x-tm-error-origin"]).toBe("gateway_infrastructure");
    expect(refused.headers).not.toHaveProperty("x-tm-attempts");
  });

  test("frees the queue slot of a client that disconnects, and sends and holds nothing for it", async () => {
    const paced = { perSecond: 0.2, waitMsMax: 7_000 };
    const owner = await ownerOf("seven", { paced, concurrent: 50 });
    expect((await chat(owner, "house/seven")).status).toBe(200);
    const sent = gateway.simulator.counts().total;
    const leaving = new AbortController();
    const waiting = fetch(`${gateway.url}/v1/chat/completions`, {
      method: "POST",
      headers: { ...bearer(owner.key), "content-type": "application/json" },
      body: JSON.stringify(chatBody("house/seven")),
      signal: leaving.signal,
    }).catch(() => undefined);
    const inFlight = async (): Promise<unknown> => {
      const url = `${gateway.url}/v1/limits?model=house/seven`;
      const limits = await httpCall(url, { headers: bearer(owner.key) });
      return at(limits.json, "effective.concurrency.in_use");
    };
    await until("it is in the queue", async () => (await inFlight()) === 1);
    // The queue has one slot, so another request is refused while the first one waits.
    const full = await chat(owner, "house/seven");
    expect(full.headers).toMatchObject({
      "x-tm-error-origin": "gateway_admission",
      "x-tm-limit-scope": "endpoint",
      "x-tm-limit-kind": "rps_queue",
      "retry-after": expect.stringMatching(/^[1-9]\d*$/),
    });
    leaving.abort();
    expect(await waiting).toBeUndefined();
    await until("its place is free", async () => (await inFlight()) === 0);
    const next = chat(owner, "house/seven");
    await until("the next one is in the queue", async () => (await inFlight()) === 1);
    clock.moveOn(5_000);
    const { status, headers } = await next;
    expect([status, headers["x-tm-queue-ms"]]).toEqual([200, "5000"]);
    expect(gateway.simulator.counts().total).toBe(sent + 1);
    const usage = await httpCall(`${gateway.url}/v1/usage`, { headers: bearer(owner.key) });
    expect(at(usage.json, "balance.held_usd")).toBe(0);
  });
});
