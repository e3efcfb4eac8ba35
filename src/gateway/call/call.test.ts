import { expect, describe, test } from "vitest";

import { simulatorManifest, textModel } from "../../../test/support/gateway.ts";
import {
  openRecipe,
  promisesOnly,
  RECIPE_PRINCIPAL,
  RecordedExchange,
  type Dispatched,
  type TestRecipe,
} from "../../../test/support/recipe.ts";
import { NO_ABUSE_MONITOR, type UsageEvent } from "../abuse/unusual-use.ts";
import type { Principal } from "../accounts/principal.ts";
import { ZERO_MICRO_USD } from "../../kernel/core/money.ts";
import { refusal, refused } from "../../kernel/core/refusals.ts";
import type { CloseRow, Ledger, ReserveOutcome } from "../../ledger/ledger-store.ts";
import { PoolBoard } from "../limits/pool-board.ts";
import { chatOn } from "../../formats/modality/chat/index.ts";
import { wires } from "../../formats/wire/wires.ts";
import type { ParsedChatRequest } from "../../formats/modality/chat/parse-request.ts";
import type { CallKind } from "./call-kind.ts";
import { serveCall } from "./call.ts";
import { DetachedReadLimit } from "./detached-read-limit.ts";

const PROVIDERS = ["first", "second", "third", "fourth", "fifth"];
const MANIFESTS = PROVIDERS.map((provider, priority) =>
  simulatorManifest({
    provider,
    dialect: "wire_a",
    priority,
    baseUrl: `https://${provider}.example/v1`,
    models: [textModel("m/five")],
  }),
);
const BODY = { model: "m/five", max_tokens: 8, messages: [{ role: "user", content: "hi" }] };
const ANSWER = JSON.stringify({
  id: "c1",
  object: "chat.completion",
  created: 1,
  model: "m/five",
  choices: [{ index: 0, message: { role: "assistant", content: "hello" }, finish_reason: "stop" }],
  usage: { prompt_tokens: 3, completion_tokens: 1, total_tokens: 4 },
});

interface Running extends TestRecipe {
  readonly clock: { ms: number };
  readonly client: RecordedExchange;
}

interface Started {
  readonly change?: (recipe: TestRecipe, clock: { ms: number }) => Partial<TestRecipe["deps"]>;
  readonly principal?: Principal;
  /** Members of the request. */
  readonly body?: object;
  readonly kind?: CallKind<ParsedChatRequest>;
}

const CHAT = chatOn(wires.get("wire_a"), wires);

function openOn(clock: { readonly ms: number }): TestRecipe {
  const nowMs = (): number => 1_767_225_600_000 + clock.ms;
  return openRecipe({ nowMs, monotonicMs: () => clock.ms }, MANIFESTS);
}

/** Starts a call on a clock that only the test moves. */
function start({ change, principal, body, kind = CHAT }: Started = {}): Running {
  const clock = { ms: 0 };
  const recipe = openOn(clock);
  const deps = { ...recipe.deps, ...change?.(recipe, clock) };
  const client = new RecordedExchange({ ...BODY, ...body }, principal);
  void serveCall(deps, client, kind);
  return { deps, sent: recipe.sent, clock, client };
}

function last({ sent }: TestRecipe): Dispatched {
  const call = sent.at(-1);
  if (call === undefined) throw new Error("nothing was dispatched");
  return call;
}

function triedBy({ sent }: TestRecipe): string[] {
  return sent.map(({ deployment }) => deployment.providerId);
}

test("the next candidate is tried at once after a failed attempt, without a timer", async () => {
  const running = start();
  await promisesOnly();
  const failures: ((call: Dispatched) => void)[] = [
    (call) => call.breaks("ECONNREFUSED"),
    (call) => call.answer(500, "{}"),
    // A provider that answers with `retry-after` is not tried again, and the call does not wait.
    (call) => call.answer(429, "{}", { "retry-after": "30" }),
    (call) => call.answer(401, "{}"),
  ];
  for (const [at, fail] of failures.entries()) {
    expect(triedBy(running)).toEqual(PROVIDERS.slice(0, at + 1));
    fail(last(running));
    await promisesOnly();
  }
  expect(triedBy(running)).toEqual(PROVIDERS);
  last(running).answer(200, ANSWER);
  await promisesOnly();
  expect(running.client).toMatchObject({ refusal: undefined, attempts: 5 });
  expect(running.client.text).toContain("hello");
});

describe("a call that ends between its claims and its hold", () => {
  const capacity = [{ type: "request", per: "minute", value: 100 }];
  const limited = simulatorManifest({
    provider: "limited",
    dialect: "wire_a",
    baseUrl: "https://limited.example/v1",
    models: [{ ...textModel("m/five"), capacity }],
  });
  const fault = (): never => {
    throw new Error("a bug");
  };

  test.each<[string, number, Partial<Ledger>]>([
    ["its deadline has passed", 450_001, {}],
    ["the gateway has a fault", 0, { newAttemptId: fault }],
  ])("undoes all of its claims if %s", async (_why, tookMs, broken) => {
    const clock = { ms: 0 };
    const recipe = openRecipe({ nowMs: Date.now, monotonicMs: () => clock.ms }, [limited]);
    const called: string[] = [];
    const limits = new Proxy(recipe.deps.limits, {
      get:
        (store, name) =>
        (...input: unknown[]) => {
          called.push(String(name));
          if (name === "claim") clock.ms += tookMs;
          return (Reflect.get(store, name) as (...input: unknown[]) => unknown).apply(store, input);
        },
    });
    const ledger = { ...recipe.deps.ledger, ...broken };
    const pools = new PoolBoard({ limits });
    const client = new RecordedExchange(BODY);
    await serveCall({ ...recipe.deps, limits, ledger, pools }, client, CHAT).catch(() => undefined);
    expect(recipe.sent).toEqual([]);
    expect(called.toSorted()).toEqual(["claim", "claim", "undo", "undo"]);
  });
});

test("after the client left, nothing is held for or sent to the next candidate", async () => {
  const rolled: unknown[] = [];
  const running = start({
    change: ({ deps: { ledger } }) => {
      const roll: Ledger["roll"] = (...input) => {
        rolled.push(input);
        return ledger.roll(...input);
      };
      return { ledger: { ...ledger, roll } };
    },
  });
  await promisesOnly();
  running.client.gone = true;
  last(running).answer(500, "{}");
  await promisesOnly();
  expect(triedBy(running)).toEqual(["first"]);
  expect(rolled).toEqual([]);
});

test.each([
  ["is counted when the next candidate is sent the call", "reserved", ["first|upstream_error"]],
  ["is not counted if the ledger refuses the hold of the next candidate", "low_balance", []],
] as const)("a failover %s", async (_what, kind, counted) => {
  const none = { availableMicroUsd: ZERO_MICRO_USD, heldMicroUsd: ZERO_MICRO_USD };
  const rolled: ReserveOutcome = kind === "reserved" ? { kind } : { kind, ...none };
  const running = start({
    change: ({ deps: { ledger } }) => ({
      ledger: { ...ledger, roll: () => Promise.resolve(rolled) },
    }),
  });
  await promisesOnly();
  last(running).answer(500, "{}");
  await promisesOnly();
  expect([...running.deps.metrics.failovers.keys()]).toEqual(counted);
  expect(triedBy(running)).toEqual(PROVIDERS.slice(0, 1 + counted.length));
});

describe("a call that fails is counted for its caller in the unusual use", () => {
  const unwritten = refused(refusal("gateway_error", "the job could not be written down"));

  test.each<[string, string, (running: Running) => void, Partial<CallKind<ParsedChatRequest>>]>([
    ["failed if its provider refuses it", "failed", (call) => last(call).answer(400, "{}"), {}],
    ["served if a shutdown ends it", "served", ({ deps }) => deps.deadlines.cutAll(), {}],
    [
      "served if its job cannot be stored",
      "served",
      (call) => last(call).answer(200, ANSWER),
      { accept: () => Promise.resolve(unwritten) },
    ],
  ])("as %s", async (_why, outcome, end, kind) => {
    const outcomes: string[] = [];
    const usage = {
      ...NO_ABUSE_MONITOR,
      note: (event: UsageEvent) => void outcomes.push(event.outcome),
    };
    const running = start({ kind: { ...CHAT, ...kind }, change: () => ({ usage }) });
    await promisesOnly();
    end(running);
    await promisesOnly();
    expect(outcomes).toEqual([outcome]);
  });
});

test("a call that comes to its attempt after a shutdown has cut the others is answered, and sent to no provider", async () => {
  const running = start({
    change: ({ deps: { deadlines } }) => {
      deadlines.cutAll();
      return {};
    },
  });
  await promisesOnly();
  expect(running.sent).toEqual([]);
  expect(running.client.refusal).toMatchObject({ class: "upstream_error", status: 502 });
  expect(running.deps.deadlines.size).toBe(0);
});

test("a job that its provider accepted is sent to no other, even if it could not be stored", async () => {
  const unwritten = refusal("gateway_error", "the job could not be written down");
  const accept = () => Promise.resolve(refused(unwritten));
  const running = start({ kind: { ...CHAT, accept } });
  await promisesOnly();
  last(running).answer(200, ANSWER);
  await promisesOnly();
  expect(triedBy(running)).toEqual(["first"]);
  expect(running.client.refusal).toBe(unwritten);
});

test("a candidate that is skipped because its pool is full releases the probe of its circuit", async () => {
  const clock = { ms: 0 };
  const recipe = openOn(clock);
  const { health, limits } = recipe.deps;
  const full = new Set<string>();
  class FullBoard extends PoolBoard {
    override cooldownMs(poolId: string): number {
      return full.has(poolId) ? 1_000 : 0;
    }
  }
  const deps = { ...recipe.deps, pools: new FullBoard({ limits }) };
  const call = async (): Promise<void> => {
    void serveCall(deps, new RecordedExchange(BODY), CHAT);
    await promisesOnly();
  };
  await call();
  const { id, pool } = last(recipe).deployment;
  for (let strikes = 0; strikes < 10; strikes += 1) health.report(id, "strike", clock.ms, clock.ms);
  await call();
  // By now the circuit is half open: it admits one request at a time, as a probe.
  clock.ms += 600_000;
  full.add(pool.id);
  await call();
  full.clear();
  await call();
  expect(triedBy(recipe)).toEqual(["first", "second", "second", "first"]);
});

describe("the routing deadline", () => {
  /** Moves the clock by `tookMs` whenever the cooldown of a pool is looked up. */
  const slowPools = (tookMs: number) => (recipe: TestRecipe, clock: { ms: number }) => {
    class SlowBoard extends PoolBoard {
      override cooldownMs(poolId: string, nowMs: number): number {
        clock.ms += tookMs;
        return super.cooldownMs(poolId, nowMs);
      }
    }
    return { pools: new SlowBoard({ limits: recipe.deps.limits }) };
  };

  test("of 450 s, passed before anything was sent, is a 504 gateway_error", async () => {
    const running = start({ change: slowPools(450_001) });
    await promisesOnly();
    expect(running.sent).toEqual([]);
    expect(running.client.attempts).toBeUndefined();
    expect(running.client.refusal).toMatchObject({
      class: "gateway_error",
      status: 504,
      origin: "gateway_infrastructure",
      message: expect.stringContaining("450000 ms"),
    });
  });

  test("of an organization's policy, passed before anything was sent, is a 504 as well", async () => {
    const policy = { timeoutMs: 2_000 };
    const hasty = { ...RECIPE_PRINCIPAL, rules: { ...RECIPE_PRINCIPAL.rules, policy } };
    const late = start({ change: slowPools(2_001), principal: hasty });
    const inTime = start({ change: slowPools(2_000), principal: hasty });
    await promisesOnly();
    expect(late.client.refusal).toMatchObject({ class: "gateway_error", status: 504 });
    expect(late.sent).toEqual([]);
    expect(triedBy(inTime)).toEqual(["first"]);
  });

  test("that passes during a failing attempt ends the call with that provider's error", async () => {
    const inTime = start();
    const running = start();
    await promisesOnly();
    inTime.clock.ms = 449_999;
    running.clock.ms = 450_000;
    for (const each of [inTime, running]) last(each).answer(503, "{}");
    await promisesOnly();
    expect(triedBy(inTime)).toEqual(["first", "second"]);
    expect(triedBy(running)).toEqual(["first"]);
    expect(running.client).toMatchObject({
      attempts: 1,
      refusal: { class: "upstream_error", status: 503, origin: "upstream" },
    });
  });
});

describe("the commit point", () => {
  const chunk = (delta: object, finish: string | null): string => {
    const head = { id: "c1", object: "chat.completion.chunk", created: 1, model: "m/five" };
    const choices = [{ index: 0, delta, finish_reason: finish }];
    return `data: ${JSON.stringify({ ...head, choices })}\n\n`;
  };
  const startStream = async (): Promise<Running> => {
    const running = start({ body: { stream: true } });
    await promisesOnly();
    last(running).headers(200, { "content-type": "text/event-stream" });
    return running;
  };

  test("is the first output: a provider that fails after it is not replaced", async () => {
    const running = await startStream();
    last(running).data(chunk({ role: "assistant", content: "hello" }, null));
    expect(running.client.committed).toBe(true);
    last(running).breaks("ECONNRESET");
    await promisesOnly();
    expect(triedBy(running)).toEqual(["first"]);
    expect(running.client.text).toMatch(/hello[\s\S]*error/);
    expect(running.client.refusal).toBeUndefined();
    expect(running.deps.deadlines.size).toBe(0);
  });

  test("is the end of a stream without content, after which no deadline is watched", async () => {
    const running = await startStream();
    last(running).data(chunk({}, "stop"));
    last(running).data("data: [DONE]\n\n");
    last(running).end();
    await promisesOnly();
    expect(running.client.committed).toBe(true);
    expect(running.client.text).toContain("[DONE]");
    expect(running.deps.deadlines.size).toBe(0);
  });

  test("is not the provider's response head: a provider that fails before any output is replaced", async () => {
    const running = await startStream();
    last(running).breaks("ECONNRESET");
    await promisesOnly();
    expect(triedBy(running)).toEqual(["first", "second"]);
    expect(running.client.committed).toBe(false);
  });
});

describe("a client that leaves a stream after its usage was reported", () => {
  const USED = { prompt_tokens: 3, completion_tokens: 1, total_tokens: 4 };
  const chunk = { id: "c1", object: "chat.completion.chunk", created: 1, model: "m/five" };
  const delta = { index: 0, delta: { role: "assistant", content: "hello" }, finish_reason: null };
  const reported = `data: ${JSON.stringify({ ...chunk, choices: [delta], usage: USED })}\n\n`;

  test.each([
    ["every slot of detached reading is taken", 0, "partial"],
    ["its answer is read to its end", 256, "reported"],
  ])("pays the reported usage when %s", async (_, drainsMax, basis) => {
    const closed: CloseRow[] = [];
    const drains = new DetachedReadLimit(drainsMax);
    const call = start({
      body: { stream: true },
      change: ({ deps: { ledger } }) => {
        const close: Ledger["close"] = (row) => {
          closed.push(row);
          return ledger.close(row);
        };
        return { drains, ledger: { ...ledger, close } };
      },
    });
    await promisesOnly();
    last(call).headers(200, { "content-type": "text/event-stream" });
    last(call).data(reported);
    call.client.leave();
    expect(drains.active).toBe(Math.min(drainsMax, 1));
    last(call).data("data: [DONE]\n\n");
    last(call).end();
    await promisesOnly();
    expect(closed).toMatchObject([{ basis, usage: { prompt: 3, completion: 1 } }]);
    expect(drains.active).toBe(0);
  });
});

test("a stream with 20 alternatives for each token is read to its end and to its usage", async () => {
  const asked = { max_tokens: 1_000, stream: true, logprobs: true, top_logprobs: 20 };
  const running = start({ body: asked });
  await promisesOnly();
  const one = { token: "x".repeat(60), logprob: -12.345678901234567, bytes: Array(60).fill(120) };
  const token = { ...one, top_logprobs: Array.from({ length: 20 }, () => one) };
  const choice = { index: 0, delta: { content: one.token }, logprobs: { content: [token] } };
  const call = last(running);
  call.headers(200, { "content-type": "text/event-stream" });
  for (let n = 0; n < 1_000; n += 1)
    call.data(`data: ${JSON.stringify({ choices: [choice] })}\n\n`);
  const ended = { choices: [{ index: 0, delta: {}, finish_reason: "stop" }] };
  const counts = { prompt_tokens: 3, completion_tokens: 1_000, total_tokens: 1_003 };
  call.data(`data: ${JSON.stringify({ ...ended, usage: counts })}\n\ndata: [DONE]\n\n`);
  await promisesOnly();
  expect(running.client.text).toMatch(/"completion_tokens":1000.*\n\ndata: \[DONE\]\n\n$/);
});

test("a request above one provider's capacity is told to retry while another provider cools down", async () => {
  const offer = (provider: string, more: object) =>
    simulatorManifest({
      provider,
      dialect: "wire_a",
      baseUrl: `https://${provider}.example/v1`,
      models: [textModel("m/two", more)],
    });
  const capacity = [{ type: "completion", unit: "token", per: "minute", value: 4 }];
  const clock = { nowMs: () => 1_767_225_600_000, monotonicMs: () => 0 };
  const offers = [offer("small", { capacity }), offer("little", { capacity }), offer("wide", {})];
  const { deps } = openRecipe(clock, offers);
  const ask = async (more: object) => {
    const client = new RecordedExchange({ ...BODY, model: "m/two", ...more });
    await serveCall(deps, client, CHAT);
    return client.refusal;
  };
  for (const provider of ["little", "wide"]) {
    for (let n = 0; n < 5; n += 1) deps.health.report(`${provider}/m/two`, "strike", 0);
  }
  const later = { class: "gateway_error", retryable: true, limit: { kind: "health" } };
  expect(await ask({})).toMatchObject(later);
  const never = { class: "rate_limit", retryable: false, limit: { scope: "pool" } };
  expect(await ask({ provider: { only: ["small", "little"] } })).toMatchObject(never);
  expect(await ask({ provider: { allow_fallbacks: false } })).toMatchObject(never);
  const wideFirst = { order: ["wide"], allow_fallbacks: false };
  expect(await ask({ provider: wideFirst })).toMatchObject(later);
});
