import { beforeEach, describe, expect, test } from "vitest";

import type { AttemptId } from "../../src/kernel/core/ids.ts";
import { microUsd } from "../../src/kernel/core/money.ts";
import type { Refusal } from "../../src/kernel/core/refusals.ts";
import { UpstreamClient } from "../../src/upstream/upstream-client.ts";
import { serveCall } from "../../src/gateway/call/call.ts";
import type { CallPorts } from "../../src/gateway/call/ports.ts";
import type { CloseRow, Ledger, ReserveRow } from "../../src/ledger/ledger-store.ts";
import { PoolBoard } from "../../src/gateway/limits/pool-board.ts";
import { MemoryDeploymentHealth } from "../../src/gateway/routing/health.ts";
import { MemoryLimitStore } from "../../src/gateway/limits/memory/memory-limit-store.ts";
import { chatOn } from "../../src/formats/modality/chat/index.ts";
import { wires } from "../../src/formats/wire/wires.ts";
import { chunks, delta, done, events } from "../fixtures/modality/answer-kit.ts";
import { Dispatched, openRecipe, RecordedExchange } from "../support/recipe.ts";
import { SIMULATED_MANIFESTS } from "./catalog.ts";
import { ObservedHealth } from "./observed-health.ts";
import { ObservedLimits } from "./observed-limits.ts";

/*
 * Runs one call through `serveCall`; the test gives the answers of the ledger and the providers.
 * However the call ends, its limits, its place in a pool and its circuit's probe are released.
 */
const ROUTING_MS = 5_000;

/** The provider's behavior in one dispatch. */
type Answer = (sent: Dispatched) => void;

class ScriptedProviders extends UpstreamClient {
  readonly sentTo: string[] = [];
  answers: Answer[] = [];

  constructor() {
    super({ allowPrivateUpstreams: true, providerKey: () => undefined });
  }

  override send(...[deployment, , handler]: Parameters<UpstreamClient["send"]>): void {
    this.sentTo.push(deployment.id);
    const answer = this.answers.shift();
    if (answer === undefined) throw new Error("one dispatch more than expected");
    queueMicrotask(() => answer(new Dispatched(deployment, handler)));
  }
}

const FAILS: Answer = (sent) => sent.answer(500, '{"error":{"message":"down"}}');
const streamed =
  (text: string): Answer =>
  (sent) =>
    sent.answer(200, text, { "content-type": "text/event-stream" });
/** Reports 11 prompt tokens and 1 output token, then fails. */
const DIES_EARLY = streamed(
  events(
    {
      type: "message_start",
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
    },
    { type: "error", error: { type: "overloaded_error", message: "busy" } },
  ),
);
/** Reports 20 prompt tokens and 3 output tokens. */
const SERVES = streamed(
  chunks(
    delta({ role: "assistant", content: "hi" }),
    delta({}, "stop"),
    {
      ...delta({}),
      choices: [],
      usage: { prompt_tokens: 20, completion_tokens: 3, total_tokens: 23 },
    },
    done,
  ),
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
  const { deps: own } = openRecipe(clock, SIMULATED_MANIFESTS);
  const timeouts = { ...own.timeouts, routingMs: ROUTING_MS };
  const pools = new PoolBoard({ limits });
  const deps: CallPorts = { ...own, health, limits, pools, ledger, upstream, timeouts };
  return { time, deps, ledger, limits, health, upstream, released, closed, opened };
}

let call: ReturnType<typeof newCall>;
beforeEach(() => {
  call = newCall();
});

/** Serves one streamed request for a model of two providers; returns the refusal, if any. */
async function serve(): Promise<Refusal | undefined> {
  const exchange = new RecordedExchange({
    model: "sim/pair",
    max_tokens: 50,
    stream: true,
    messages: [{ role: "user", content: "hello" }],
  });
  await serveCall(call.deps, exchange, chatOn(wires.get("wire_b"), wires));
  return exchange.refusal;
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

  test("when the second provider's hold is refused, and the client gets the first provider's error", async () => {
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
  // The tokens that each attempt's pool counted, then those that the request's limits counted.
  expect(call.released).toEqual([12, 23, 35]);
});
