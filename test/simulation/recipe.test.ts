import { beforeEach, describe, expect, test } from "vitest";

import { NO_ABUSE_MONITOR } from "../../src/gateway/abuse/unusual-use.ts";
import { Deadlines } from "../../src/kernel/core/time.ts";
import { createRequestId, type AttemptId } from "../../src/kernel/core/ids.ts";
import { microUsd } from "../../src/kernel/core/money.ts";
import type { Refusal } from "../../src/kernel/core/refusals.ts";
import { attemptClassifier } from "../../src/upstream/classifier.ts";
import type { AttemptHandler } from "../../src/upstream/run-attempt.ts";
import { UpstreamClient } from "../../src/upstream/upstream-client.ts";
import type { ClientExchange } from "../../src/gateway/call/client-exchange.ts";
import { DetachedReadLimit } from "../../src/gateway/call/detached-read-limit.ts";
import { GatewayMetrics } from "../../src/gateway/call/metrics.ts";
import { serveCall } from "../../src/gateway/call/call.ts";
import type { CallPorts } from "../../src/gateway/call/ports.ts";
import { Shortfalls } from "../../src/gateway/call/refusal-memory.ts";
import type { CloseRow, Ledger, ReserveRow } from "../../src/ledger/ledger-store.ts";
import { limitScopes, SPECIFIED_LIMITS } from "../../src/gateway/limits/effective-limits.ts";
import { PoolBoard } from "../../src/gateway/limits/pool-board.ts";
import { MemoryDeploymentHealth } from "../../src/gateway/routing/health.ts";
import { MemoryLimitStore } from "../../src/gateway/limits/memory/memory-limit-store.ts";
import { chatOn } from "../../src/formats/modality/chat/index.ts";
import { wires } from "../../src/formats/wire/wires.ts";
import { simulatedCatalog } from "./catalog.ts";
import { ObservedHealth } from "./observed-health.ts";
import { ObservedLimits } from "./observed-limits.ts";
import { Affinity } from "../../src/gateway/routing/plan-route.ts";
import { RepeatedFailures } from "../../src/gateway/routing/repeated-failures.ts";
import { TRUSTED_LISTINGS, NO_REFUSAL_WINDOW, plainPrincipal } from "../support/plain-ports.ts";

/*
 * One call through the whole recipe, with the ledger's and the providers' answers given by the test:
 * whatever ends a call, its limits, its place in a pool and its circuit's probe are released.
 */
const ROUTING_MS = 5_000;
const PRINCIPAL = plainPrincipal("org_1", "key_1");

/** The provider's behavior in one dispatch. */
type Answer = (handler: AttemptHandler) => void;

class ScriptedProviders extends UpstreamClient {
  readonly sentTo: string[] = [];
  answers: Answer[] = [];

  constructor() {
    super({ allowPrivateUpstreams: true, providerKey: () => undefined });
  }

  override send(...[{ id }, , handler]: Parameters<UpstreamClient["send"]>): void {
    this.sentTo.push(id);
    const answer = this.answers.shift();
    if (answer === undefined) throw new Error("one dispatch more than expected");
    queueMicrotask(() => answer(handler));
  }
}

const CONTROLLER = {
  paused: false,
  aborted: false,
  reason: null,
  abort: () => undefined,
  pause: () => undefined,
  resume: () => undefined,
} as unknown as Parameters<NonNullable<AttemptHandler["onRequestStart"]>>[0];

function respond(status: number, type: string, body: string): Answer {
  return (handler) => {
    handler.onRequestStart?.(CONTROLLER, {});
    handler.onResponseStart?.(CONTROLLER, status, { "content-type": type }, "");
    handler.onResponseData?.(CONTROLLER, Buffer.from(body));
    handler.onResponseEnd?.(CONTROLLER, {});
  };
}

const FAILS = respond(500, "application/json", '{"error":{"message":"down"}}');
const event = (type: string, data: object): string =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`;
/** Reports 11 tokens of prompt and 1 of output, then dies. */
const DIES_EARLY = respond(
  200,
  "text/event-stream",
  event("message_start", {
    message: {
      id: "m",
      type: "message",
      role: "assistant",
      model: "sim/pair",
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: { input_tokens: 11, output_tokens: 1 },
    },
  }) + event("error", { error: { type: "overloaded_error", message: "busy" } }),
);
const chunk = (rest: object): string =>
  `data: ${JSON.stringify({
    id: "c",
    object: "chat.completion.chunk",
    created: 1,
    model: "sim/pair",
    ...rest,
  })}\n\n`;
/** Reports 20 tokens of prompt and 3 of output. */
const SERVES = respond(
  200,
  "text/event-stream",
  chunk({ choices: [{ index: 0, delta: { role: "assistant", content: "hi" } }] }) +
    chunk({ choices: [{ index: 0, delta: {}, finish_reason: "stop" }] }) +
    chunk({
      choices: [],
      usage: { prompt_tokens: 20, completion_tokens: 3, total_tokens: 23 },
    }) +
    "data: [DONE]\n\n",
);

function newCall() {
  const time = { ms: 1_000 };
  const clock = { nowMs: () => Date.UTC(2026, 4, 12) + time.ms, monotonicMs: () => time.ms };
  const memory = new MemoryLimitStore();
  const released: number[] = [];
  const limits = new ObservedLimits(memory, (violation) => {
    throw new Error(violation);
  });
  const release = limits.release.bind(limits);
  limits.release = (lease, observed, nowMs) => {
    released.push(observed.tokens);
    release(lease, observed, nowMs);
  };
  const health = new ObservedHealth(new MemoryDeploymentHealth({ random: () => 0.5 }));
  const upstream = new ScriptedProviders();
  const closed: CloseRow[] = [];
  const opened: ReserveRow[] = [];
  let attempts = 0n;
  const ledger: Ledger = {
    newAttemptId: () => ++attempts as AttemptId,
    reserve: (row) => {
      opened.push(row);
      return Promise.resolve({ kind: "reserved" });
    },
    roll: (row, next) => {
      closed.push(row);
      opened.push(next);
      return Promise.resolve({ kind: "reserved" });
    },
    close: (row) => {
      closed.push(row);
      return Promise.resolve({ kind: "pending" });
    },
    recordRefused: () => undefined,
    healthy: true,
    shutDown: () => Promise.resolve(),
  };
  const wait = { headersMs: 1e6, idleMs: 1e6, totalMs: 1e6, drainMs: 1e6 };
  const deps: CallPorts = {
    clock,
    deadlines: new Deadlines(clock),
    catalog: { current: simulatedCatalog() },
    health,
    limits,
    pools: new PoolBoard({ limits }),
    usage: NO_ABUSE_MONITOR,
    standing: TRUSTED_LISTINGS,
    refusals: NO_REFUSAL_WINDOW,
    shortfalls: new Shortfalls(clock),
    platform: [],
    ledger,
    upstream,
    opensOwnKeys: false,
    classify: attemptClassifier(clock),
    timeouts: {
      stream: wait,
      whole: wait,
      videoAccept: wait,
      decisions: wait,
      routingMs: ROUTING_MS,
      keepaliveMs: 1e6,
      commitSilenceMs: 0,
    },
    drains: new DetachedReadLimit(1),
    metrics: new GatewayMetrics(),
    repeats: new RepeatedFailures(),
    affinity: new Affinity(),
    limitDefaults: SPECIFIED_LIMITS,
    scopesOf: limitScopes(SPECIFIED_LIMITS),
  };
  return { time, deps, ledger, limits, health, upstream, released, closed, opened };
}

let call: ReturnType<typeof newCall>;
beforeEach(() => {
  call = newCall();
});

/** Serves one streamed request for a model of two providers; returns the client's refusal. */
async function serve(): Promise<Refusal | undefined> {
  let refused: Refusal | undefined;
  let committed = false;
  const body = JSON.stringify({
    model: "sim/pair",
    max_tokens: 50,
    stream: true,
    messages: [{ role: "user", content: "hello" }],
  });
  const exchange: ClientExchange = {
    requestId: createRequestId(call.deps.clock.nowMs()),
    principal: PRINCIPAL,
    route: "/v1/messages",
    body: Buffer.from(body),
    clientAddress: "192.0.2.1",
    wantsBody: true,
    ownTimeFromMs: 0,
    header: () => undefined,
    gone: false,
    get committed() {
      return committed;
    },
    onGone: () => undefined,
    onWritable: () => undefined,
    begin: () => void (committed = true),
    relay: () => undefined,
    write: () => true,
    end: () => undefined,
    cut: () => undefined,
    answer: () => undefined,
    refuse: (refusal) => void (refused = refusal),
  };
  await serveCall(call.deps, exchange, chatOn(wires.get("wire_b"), wires));
  return refused;
}

function expectNothingKept(): void {
  expect(call.limits.held).toBe(0);
  expect(call.health.unreported).toBe(0);
}

const LOW = {
  kind: "low_balance",
  availableMicroUsd: microUsd(1n),
  heldMicroUsd: microUsd(0n),
} as const;

describe("a call leaves nothing held or claimed", () => {
  test("when it was served", async () => {
    call.upstream.answers = [FAILS, SERVES];
    expect(await serve()).toBeUndefined();
    expect(call.upstream.sentTo).toEqual(["birch/sim/pair", "cedar/sim/pair"]);
    expectNothingKept();
  });

  test("when its hold is refused, and nothing was sent", async () => {
    call.ledger.reserve = () => Promise.resolve(LOW);
    expect(await serve()).toMatchObject({ class: "insufficient_quota" });
    expect(call.upstream.sentTo).toEqual([]);
    expectNothingKept();
  });

  test("when the next provider's hold is refused, and the client gets the last one's error", async () => {
    call.upstream.answers = [FAILS];
    call.ledger.roll = (row) => {
      call.closed.push(row);
      return Promise.resolve(LOW);
    };
    expect(await serve()).toMatchObject({ class: "upstream_error" });
    expect(call.upstream.sentTo).toEqual(["birch/sim/pair"]);
    expectNothingKept();
  });

  test("when its routing deadline passed before a provider was chosen", async () => {
    const claim = call.limits.claim.bind(call.limits);
    call.limits.claim = (asked) => {
      if (asked.slot.startsWith("{pool:")) call.time.ms += ROUTING_MS + 1;
      return claim(asked);
    };
    expect(await serve()).toMatchObject({ class: "gateway_error", status: 504 });
    expect([call.opened, call.upstream.sentTo]).toEqual([[], []]);
    expectNothingKept();
  });

  test("when a fault of the program fails it, and its attempt is void", async () => {
    call.upstream.answers = [SERVES];
    call.deps.metrics.attempt = () => {
      throw new Error("a fault of ours");
    };
    await expect(serve()).rejects.toThrow("a fault of ours");
    expect(call.closed).toMatchObject([{ attemptId: 1n, basis: "none", costPicoUsd: 0n }]);
    expectNothingKept();
  });
});

test("no other provider is tried after the routing deadline", async () => {
  call.upstream.answers = [
    (handler) => {
      call.time.ms += ROUTING_MS;
      FAILS(handler);
    },
  ];
  expect(await serve()).toMatchObject({ class: "upstream_error" });
  expect(call.upstream.sentTo).toEqual(["birch/sim/pair"]);
  expectNothingKept();
});

test("a request counts the tokens of all its attempts, and each pool those of its own", async () => {
  call.upstream.answers = [DIES_EARLY, SERVES];
  expect(await serve()).toBeUndefined();
  expect(call.upstream.sentTo).toEqual(["birch/sim/pair", "cedar/sim/pair"]);
  // The pool of each attempt, then the limits of the request.
  expect(call.released).toEqual([12, 23, 35]);
});
