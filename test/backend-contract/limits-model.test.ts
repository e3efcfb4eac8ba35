import * as fc from "fast-check";
import { describe, expect, test } from "vitest";

import {
  tokenCount,
  type LimitLease,
  type LimitSet,
  type ScopeClaim,
  departedScopes,
  neverFits,
} from "../../src/gateway/limits/limit-store.ts";
import { quickOrDeep } from "../support/depth.ts";
import { LimitModel, verdictOf, type ModelLease, type Verdict } from "../support/limit-model.ts";
import { LimitCaller, limitBackends, type LimitBackend } from "../support/limit-backends.ts";
import { withResource } from "../support/with-resource.ts";

/** The number of random histories for each store; `TM_TEST_LIMIT_HISTORIES` sets another one. */
const HISTORIES: Readonly<Record<string, number>> = {
  "in memory": quickOrDeep(20, 1_500),
  "in Redis": quickOrDeep(4, 300),
};
const LONE_REQUESTS: Readonly<Record<string, number>> = {
  "in memory": quickOrDeep(200, 10_000),
  "in Redis": quickOrDeep(60, 1_500),
};
const moreHistories = Number(process.env["TM_TEST_LIMIT_HISTORIES"] ?? 0);

/** The scopes of each kind of request, narrowest first. Limits of one kind differ. */
function shapesOf(caller: LimitCaller): readonly (readonly ScopeClaim[])[] {
  const org = caller.scope("org", "o", {
    requestsPerMinute: 9,
    tokensPerMinute: 290,
    concurrent: 5,
  });
  const keys = ["a", "b"].map((id) =>
    caller.scope("key", id, { requestsPerMinute: 6, tokensPerMinute: 180, concurrent: 4 }),
  );
  const endpoint = caller.scope("endpoint", "e", {
    requestsPerSecond: 3,
    paced: { perSecond: 0.4, waitMsMax: 4_000 },
    concurrent: 7,
  });
  const pool = caller.scope("pool", "p", {
    windows: [
      { kind: "request", seconds: 60, limit: 3 },
      { kind: "prompt", seconds: 60, limit: 61 },
      { kind: "completion", seconds: 3_600, limit: 60 },
      { kind: "request", seconds: 3_600, limit: 8 },
      { kind: "request", seconds: 86_400, limit: 12 },
    ],
  });
  const share = caller.scope("pool", "p-share", { requestsPerMinute: 4 });
  return [
    ...keys.map((key) => [key, org]),
    [
      ...keys.slice(0, 1).map((key) => onlyLimited(key, { requestsPerMinute: 6 })),
      onlyLimited(org, { tokensPerMinute: 290, concurrent: 5 }),
    ],
    [endpoint],
    [share, pool],
  ];
}

function onlyLimited(scope: ScopeClaim, limits: LimitSet): ScopeClaim {
  return { ...scope, limits, countsOnlyLimited: true };
}

const aStep = fc.record({
  verb: fc.oneof(
    { weight: 16, arbitrary: fc.constant("claim" as const) },
    { weight: 10, arbitrary: fc.constant("release" as const) },
    { weight: 2, arbitrary: fc.constant("undo" as const) },
    { weight: 4, arbitrary: fc.constant("depart" as const) },
    { weight: 4, arbitrary: fc.constant("peek" as const) },
    { weight: 1, arbitrary: fc.constant("cool" as const) },
  ),
  waitMs: fc.oneof(
    { weight: 60, arbitrary: fc.integer({ min: 0, max: 300 }) },
    { weight: 25, arbitrary: fc.integer({ min: 0, max: 3_000 }) },
    { weight: 10, arbitrary: fc.integer({ min: 0, max: 25_000 }) },
    { weight: 3, arbitrary: fc.integer({ min: 55_000, max: 66_000 }) },
    { weight: 2, arbitrary: fc.integer({ min: 0, max: 5_000_000 }) },
  ),
  shape: fc.constantFrom(0, 0, 1, 2, 3, 3, 3, 4, 4),
  prompt: fc.oneof(fc.integer({ min: 0, max: 9 }), fc.integer({ min: 0, max: 60 })),
  completion: fc.oneof(fc.integer({ min: 0, max: 9 }), fc.integer({ min: 0, max: 40 })),
  pick: fc.nat(),
});
type Step = typeof aStep extends fc.Arbitrary<infer S> ? S : never;

/** Limits of every kind, each present or absent; one or two requests of `anAmount` reach them. */
const someLimits: fc.Arbitrary<LimitSet> = fc.record(
  {
    requestsPerMinute: fc.integer({ min: 1, max: 3 }),
    tokensPerMinute: fc.integer({ min: 1, max: 60 }),
    concurrent: fc.integer({ min: 1, max: 2 }),
    requestsPerSecond: fc.integer({ min: 1, max: 2 }),
    paced: fc.record({
      perSecond: fc.constantFrom(0.01, 0.4, 3),
      waitMsMax: fc.integer({ min: 0, max: 2_000 }),
    }),
    windows: fc.uniqueArray(
      fc.record({
        kind: fc.constantFrom("request" as const, "prompt" as const, "completion" as const),
        seconds: fc.constantFrom(60 as const, 3_600 as const, 86_400 as const),
        limit: fc.integer({ min: 1, max: 40 }),
      }),
      { maxLength: 3, selector: ({ kind, seconds }) => `${kind} ${seconds}` },
    ),
  },
  { requiredKeys: [] },
);
const anAmount = fc.record({
  waitMs: fc.oneof(fc.integer({ min: 0, max: 1_500 }), fc.integer({ min: 0, max: 70_000 })),
  prompt: fc.integer({ min: 0, max: 40 }),
  completion: fc.integer({ min: 0, max: 30 }),
});

/** A store and the model, which get the same steps; `answers` must equal `expected`. */
class SideBySide {
  readonly answers: Verdict[] = [];
  readonly expected: Verdict[] = [];
  readonly model: LimitModel = new LimitModel();
  readonly shapes: readonly (readonly ScopeClaim[])[];
  readonly #fixture: LimitBackend;
  readonly #caller: LimitCaller;
  readonly #open: {
    readonly lease: LimitLease;
    readonly modelled: ModelLease;
    /** The scopes that the request moves to when its client leaves. */
    readonly departed: readonly ScopeClaim[];
  }[] = [];

  constructor(fixture: LimitBackend) {
    this.#fixture = fixture;
    this.#caller = new LimitCaller(fixture);
    this.shapes = shapesOf(this.#caller);
  }

  async play(step: Step): Promise<void> {
    await this.#fixture.advance(step.waitMs);
    const scopes = this.shapes[step.shape] ?? [];
    if (step.verb === "claim") await this.#claim(scopes, step);
    else if (step.verb === "peek") await this.#peek(scopes, step);
    else if (step.verb === "cool") this.#cool(scopes, step.pick % 30);
    else if (step.verb === "depart") this.#depart(step.pick);
    else this.#handBack(step);
  }

  /** Ends the requests that still run. */
  finish(): void {
    for (const { lease } of this.#open.splice(0)) this.#caller.release(lease, tokenCount(0, 0));
  }

  async #claim(scopes: readonly ScopeClaim[], step: Step): Promise<void> {
    const tokens = tokenCount(step.prompt, step.completion);
    const departed = this.#departedOf(scopes, step);
    const { nowMs } = this.#fixture;
    const { verdict, lease: modelled } = this.model.claim({ scopes, departed }, tokens, nowMs);
    const outcome = await this.#caller.claim(scopes, tokens, departed);
    this.answers.push(verdictOf(outcome, scopes));
    this.expected.push(verdict);
    if (outcome.kind !== "claimed" || modelled === undefined) return;
    this.#open.push({ lease: outcome.lease, modelled, departed });
  }

  #departedOf(scopes: readonly ScopeClaim[], { pick }: Step): readonly ScopeClaim[] {
    return departedScopes(scopes, pick % 2 === 0 ? "one" : "two");
  }

  async #peek(scopes: readonly ScopeClaim[], step: Step): Promise<void> {
    const all = [...scopes, ...this.#departedOf(scopes, step)];
    this.answers.push({ usages: (await this.#caller.peek(all)) ?? [] });
    this.expected.push({ usages: this.model.peek(all, this.#fixture.nowMs) });
  }

  #cool(scopes: readonly ScopeClaim[], seconds: number): void {
    const [scope] = scopes;
    if (scope === undefined) return;
    this.#caller.cool(scope, seconds);
    this.model.cool(scope.id, seconds, this.#fixture.nowMs);
  }

  #depart(pick: number): void {
    const leaving = this.#open.filter(
      ({ modelled, departed }) => modelled.departed.length === 0 && departed.length > 0,
    );
    const left = leaving[pick % Math.max(1, leaving.length)];
    if (left === undefined) return;
    this.#caller.depart(left.lease, left.departed);
    this.model.depart(left.modelled, left.departed, this.#fixture.nowMs);
  }

  #handBack({ verb, prompt, completion, pick }: Step): void {
    const [taken] = this.#open.splice(pick % Math.max(1, this.#open.length), 1);
    if (taken === undefined) return;
    if (verb === "undo") {
      this.#caller.undo(taken.lease);
      this.model.undo(taken.modelled);
      return;
    }
    this.#caller.release(taken.lease, tokenCount(prompt, completion));
    this.model.release(taken.modelled, tokenCount(prompt, completion));
  }
}

for (const kind of limitBackends) {
  describe.skipIf(kind.isMissing)(`limits ${kind.name}, compared with a plain model`, () => {
    const fixture = withResource(() => kind.open());

    test("any history gets the answers of the model, and no minute exceeds its request limit", async () => {
      const histories = fc.array(aStep, { minLength: 60, maxLength: 160, size: "max" });
      await fc.assert(
        fc.asyncProperty(histories, async (steps) => {
          const both = new SideBySide(fixture);
          try {
            for (const step of steps) await both.play(step);
          } finally {
            both.finish();
          }
          expect(both.answers).toEqual(both.expected);
          for (const scope of both.shapes.flat()) {
            const most = mostInAnyMinute(both.model, scope.id);
            expect(most).toBeLessThanOrEqual(scope.limits.requestsPerMinute ?? Infinity);
          }
        }),
        // Shrinking a long history would take minutes; its seed and path are enough to repeat it.
        { endOnFailure: true, numRuns: moreHistories || HISTORIES[kind.name] || 1 },
      );
    }, 3_600_000);

    test("a lone request passes after the wait that a refusal names, unless it can never pass", async () => {
      const someScopes = fc.array(someLimits, { minLength: 1, maxLength: 3 });
      const history = fc.array(anAmount, { minLength: 1, maxLength: 8 });
      await fc.assert(
        fc.asyncProperty(someScopes, history, anAmount, async (limits, before, asked) => {
          const caller = new LimitCaller(fixture);
          const scopes = limits.map((each, n) => caller.scope("key", String(n), each));
          const tokens = tokenCount(asked.prompt, asked.completion);
          const passes = async (): Promise<number | undefined> => {
            const outcome = await caller.claim(scopes, tokens);
            if (outcome.kind === "claimed") caller.undo(outcome.lease);
            return outcome.kind === "refused" ? outcome.retryAfterSeconds : undefined;
          };
          const first = await passes();
          expect(first !== undefined).toBe(neverFits(scopes, tokens) !== undefined);
          for (const { waitMs, prompt, completion } of before) {
            await fixture.advance(waitMs);
            const outcome = await caller.claim(scopes, tokenCount(prompt, completion));
            if (outcome.kind !== "claimed") continue;
            caller.release(outcome.lease, tokenCount(completion, prompt));
          }
          const waitSeconds = await passes();
          await fixture.advance((waitSeconds ?? 0) * 1_000);
          expect((await passes()) !== undefined).toBe(first !== undefined);
        }),
        { numRuns: moreHistories || LONE_REQUESTS[kind.name] || 1 },
      );
    }, 3_600_000);
  });
}

/* The most requests that were admitted in any 60 seconds, counted in milliseconds. */
function mostInAnyMinute({ charges }: LimitModel, id: string): number {
  const own = charges.filter((charge) => charge.id === id);
  const from = (startMs: number): number =>
    own
      .filter((charge) => charge.atMs >= startMs && charge.atMs < startMs + 60_000)
      .reduce((sum, charge) => sum + charge.requests, 0);
  return Math.max(0, ...own.map((charge) => from(charge.atMs)));
}
