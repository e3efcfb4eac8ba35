import * as fc from "fast-check";
import { describe, expect, test } from "vitest";

import { simulatorManifest, textModel } from "../../../test/support/gateway.ts";
import { openRecipe, RECIPE_PRINCIPAL } from "../../../test/support/recipe.ts";
import type { KeyId, OrgId } from "../../kernel/core/ids.ts";
import { microUsd } from "../../kernel/core/money.ts";
import {
  tokenCount,
  type ClaimOutcome,
  type LimitStore,
  type ScopeClaim,
  type TokenCount,
} from "../limits/limit-store.ts";
import { MemoryLimitStore } from "../limits/memory/memory-limit-store.ts";
import type { Pool } from "../limits/pool-board.ts";
import type { ReserveOutcome } from "../../ledger/ledger-store.ts";
import { type ClaimPart, claimScopes } from "./claim.ts";
import { type HoldAsked, reserveRefusal, sizeRefusal } from "./limit-refusals.ts";
import { enterPool } from "./candidates.ts";

const MANIFESTS = [
  simulatorManifest({
    provider: "only",
    dialect: "wire_a",
    baseUrl: "https://only.example/v1",
    models: [textModel("m/all")],
  }),
];
const CALLER = { orgId: "org_a" as OrgId, keyId: "key_a" as KeyId, keyOrigin: "console" } as const;

/** A request whose input costs 90 micro-dollars and each of whose output tokens costs 10. */
function asking(needed: bigint): HoldAsked {
  const outputWithin = (micros: bigint) => Math.max(0, Number((micros - 90n) / 10n));
  return { needed: microUsd(needed), outputWithin };
}

const CLOCK = { nowMs: () => 1_000, monotonicMs: () => 5 };

type Answer = ClaimOutcome | Promise<ClaimOutcome>;

/**
 * Returns a function that makes a claim with one part per answer, in a limit store that gives these
 * answers in order, and the list of the store's calls.
 */
function scripted(answers: readonly Answer[], clock = CLOCK) {
  const asked: string[] = [];
  let at = 0;
  const limits: LimitStore = {
    claim: ({ slot }) => {
      asked.push(`claim ${slot}`);
      const answer = answers[at++];
      if (answer === undefined) throw new Error("one claim more than expected");
      return answer;
    },
    release: (lease, { tokens }) => void asked.push(`release ${lease.queueMs} ${tokens}`),
    undo: (lease) => void asked.push(`undo ${lease.queueMs}`),
    depart: () => void asked.push("depart"),
    cool: () => void asked.push("cool"),
    peek: () => Promise.resolve([]),
  };
  const parts = answers.map((_, n) => ({ slot: `{slot:${n}}`, scopes: [] }));
  const run = () =>
    claimScopes(
      { limits, clock },
      { principal: { orgId: "org_1" as OrgId }, parts, tokens: tokenCount(4, 6) },
    );
  return { asked, run };
}

const SCOPES = ["key", "model", "org", "endpoint", "pool", "platform"] as const;

async function claimIn(limits: LimitStore, parts: readonly ClaimPart[], tokens: TokenCount) {
  const principal = { orgId: "org_1" as OrgId };
  return await claimScopes({ limits, clock: CLOCK }, { principal, parts, tokens });
}

function granted(remainingRequests: number, remainingTokens: number, queueMs: number): Answer {
  return { kind: "claimed", lease: { remainingRequests, remainingTokens, queueMs } };
}

function refusedBy(scope: "key" | "pool" | "platform"): Answer {
  const id = scope === "platform" ? "platform" : `${scope}:one`;
  return { kind: "refused", scope, limitKind: "rpm", id, limit: 20, retryAfterSeconds: 7 };
}

const RATE = { class: "rate_limit", status: 429, origin: "upstream_quota" };
const FAULT = { class: "gateway_error", status: 503, origin: "gateway_infrastructure" };

describe("claims in several slots", () => {
  test("report the smallest remaining amounts and the longest wait of all of them", async () => {
    const answers = [granted(9, 50, 5), Promise.resolve(granted(3, 80, 20)), granted(7, 90, 0)];
    const claimed = { remainingRequests: 3, remainingTokens: 50, queueMs: 20 };
    expect(await scripted(answers).run()).toMatchObject({ ok: true, claimed });
  });

  test("are released together, once", async () => {
    const { run, asked } = scripted([granted(1, 1, 1), granted(1, 1, 2)]);
    const outcome = await run();
    if (!outcome.ok) throw new Error("refused");
    outcome.claimed.release(tokenCount(1, 2));
    outcome.claimed.release(tokenCount(1, 2));
    outcome.claimed.undo();
    expect(asked.slice(2)).toEqual(["release 1 3", "release 2 3"]);
  });

  test("that are given back after minutes leave the windows of others full", async () => {
    let monotonicMs = 5;
    const ports = {
      limits: new MemoryLimitStore(),
      clock: { ...CLOCK, monotonicMs: () => monotonicMs },
    };
    const claim = async (id: string) => {
      const scope = { scope: "key", id, limits: { requestsPerMinute: 1 } } as const;
      const parts = [{ slot: `{${id}}`, scopes: [scope] }];
      const principal = { orgId: "org_1" as OrgId };
      return await claimScopes(ports, { principal, parts, tokens: tokenCount(0, 0) });
    };
    const slow = await claim("key:slow");
    if (!slow.ok) throw new Error("refused");
    monotonicMs += 120_000;
    expect((await claim("key:other")).ok).toBe(true);
    slow.claimed.undo();
    monotonicMs += 1_000;
    expect((await claim("key:other")).ok).toBe(false);
  });

  test("are undone when a later slot refuses, and no further slot is claimed", async () => {
    const { run, asked } = scripted([granted(1, 1, 1), refusedBy("key"), granted(1, 1, 3)]);
    expect(await run()).toMatchObject({ ok: false, refusal: { class: "rate_limit" } });
    expect(asked).toEqual(["claim {slot:0}", "claim {slot:1}", "undo 1"]);
  });
});

describe("a refused claim", () => {
  test("names its scope, kind and id, and when to retry", async () => {
    const outcome = await scripted([refusedBy("key")]).run();
    expect(outcome).toMatchObject({
      refusal: {
        class: "rate_limit",
        status: 429,
        origin: "gateway_admission",
        retryable: true,
        limit: { scope: "key", kind: "rpm", id: "key:one" },
        retryAfterSeconds: 7,
        retryAtMs: 8_000,
      },
    });
  });

  test("counts the time of the retry from its own moment, however long the limit store took", async () => {
    let nowMs = 1_000;
    const late = Promise.resolve().then(() => {
      nowMs = 4_000;
      return refusedBy("key");
    });
    const { run } = scripted([late], { ...CLOCK, nowMs: () => nowMs });
    expect(await run()).toMatchObject({ refusal: { retryAfterSeconds: 7, retryAtMs: 11_000 } });
  });

  test("names how much of the limit is used, and for tokens how many the request may take", async () => {
    const full = { kind: "refused", scope: "key", id: "key:one", limit: 20, used: 20 } as const;
    const refused = async (limitKind: "rpm" | "tpm", amount: number) => {
      const answer = { ...full, limitKind, asked: amount, retryAfterSeconds: 7 };
      const outcome = await scripted([answer]).run();
      return outcome.ok ? undefined : outcome.refusal;
    };
    const requests = await refused("rpm", 1);
    expect(requests?.figures).toEqual({ limit: 20, used: 20, asked: 1 });
    const used = "20 used in the last minute";
    expect(requests?.message).toContain(`20 requests per minute: ${used}; retry`);
    const tokens = `20 tokens per minute: ${used}, and this request may take 9; retry`;
    expect((await refused("tpm", 9))?.message).toContain(tokens);
  });

  test.each([
    ["by a provider's pool is reported as the provider's quota", refusedBy("pool"), RATE, 7],
    ["by the platform is a 503", refusedBy("platform"), FAULT, 7],
    ["by a store that does not answer is a 503", { kind: "unavailable" } as const, FAULT, 2],
  ])("%s", async (_what, answer, refusal, retryAfterSeconds) => {
    const outcome = await scripted([answer]).run();
    expect(outcome).toMatchObject({ refusal: { ...refusal, retryAfterSeconds } });
  });
});

describe("a request that no empty window would admit", () => {
  const limit = fc.option(fc.integer({ min: 1, max: 60 }), { nil: undefined });
  const paces = fc.option(fc.constant({ perSecond: 0.01, waitMsMax: 0 }), { nil: undefined });
  const scopeNames = fc.constantFrom(...SCOPES);
  const aPart = fc
    .record({
      scope: scopeNames,
      tokensPerMinute: limit,
      prompt: limit,
      completion: limit,
      paced: paces,
    })
    .map(({ scope, tokensPerMinute, prompt, completion, paced }): ScopeClaim => {
      const windows = [
        ...(prompt === undefined ? [] : [{ kind: "prompt", seconds: 60, limit: prompt } as const]),
        ...(completion === undefined
          ? []
          : [{ kind: "completion", seconds: 86_400, limit: completion } as const]),
      ];
      const limits = { requestsPerMinute: 1, concurrent: 1, requestsPerSecond: 1, windows };
      const others = {
        ...(tokensPerMinute === undefined ? {} : { tokensPerMinute }),
        ...(paced === undefined ? {} : { paced }),
      };
      return { scope, id: scope, limits: { ...limits, ...others } };
    });
  const amount = fc.integer({ min: 0, max: 50 });
  const aDifference = fc.oneof(fc.constant(0), fc.integer({ min: -20, max: 20 }));
  const sizes = fc.record({ input: amount, output: amount, besideBytes: aDifference });

  test("is refused with a size that would fit, and every other refusal is retryable", async () => {
    const scopes = fc.uniqueArray(aPart, { minLength: 1, selector: ({ id }) => id });
    await fc.assert(
      fc.asyncProperty(scopes, sizes, fc.boolean(), async (all, size, isFull) => {
        const { input, output, besideBytes } = size;
        const parts = all.map((scope) => ({ slot: `{${scope.id}}`, scopes: [scope] }));
        const tokens = { ...tokenCount(input, output), besideBytes };
        const isAloneAdmitted = (await claimIn(new MemoryLimitStore(), parts, tokens)).ok;
        const store = new MemoryLimitStore();
        if (isFull) await claimIn(store, parts, tokenCount(0, 0));
        const outcome = await claimIn(store, parts, tokens);
        expect(outcome.ok || outcome.refusal.retryable).toBe(isAloneAdmitted);
        if (outcome.ok || outcome.refusal.retryable) return;
        const { retryAfterSeconds, status, message } = outcome.refusal;
        expect({ status, retryAfterSeconds }).toEqual({ status: 429, retryAfterSeconds: 60 });
        const [, bytes] = /at most (\d+) bytes( with|, or|$)/.exec(message) ?? [];
        const [, most] = /at most (\d+) output tokens with this input/.exec(message) ?? [];
        const fitting = [
          ...(bytes === undefined ? [] : [tokenCount(Number(bytes) + besideBytes, output)]),
          ...(most === undefined ? [] : [tokenCount(input, Number(most))]),
        ];
        const isInBoth = /at most \d+ (tokens of input|bytes, \d+ output tokens)/.test(message);
        expect(message).not.toContain("Infinity");
        expect(isInBoth).toBe(fitting.length === 0);
        for (const each of fitting) {
          expect((await claimIn(new MemoryLimitStore(), parts, each)).ok).toBe(true);
          const { promptTokens, completionTokens } = each;
          const larger =
            promptTokens === input
              ? tokenCount(input, completionTokens + 1)
              : tokenCount(promptTokens + 1, completionTokens);
          expect(sizeRefusal(parts, larger)).toBeDefined();
        }
      }),
    );
  });
});

test("a size refusal mentions max_tokens only if the client can lower the output of its request", () => {
  const scope = { scope: "key", id: "key:k", limits: { tokensPerMinute: 100 } } as const;
  const parts = [{ slot: "{o}", scopes: [scope] }];
  const told = (isOutputFixed: boolean): string | undefined =>
    sizeRefusal(parts, { ...tokenCount(90, 20), isOutputFixed })?.message;
  expect(told(false)).toMatch(/80 bytes with this max_tokens of 20, or at most 10 output tokens/);
  expect(told(true)).toMatch(/what fits is at most 80 bytes$/);
});

test("after the wait that a pool reports, a lone request passes, however many 429s came before", async () => {
  const pool: Pool = {
    id: "p",
    capacity: [{ type: "completion", per: "minute", value: 100 }],
    tokensPerMinute: 200,
    orgSharePercent: 50,
  };
  const some = fc.record({
    waitMs: fc.nat(20_000),
    throttles: fc.nat(9),
    input: fc.integer({ min: 0, max: 60 }),
    output: fc.integer({ min: 0, max: 55 }),
  });
  let waits = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(some, { minLength: 1, maxLength: 8 }), async (steps) => {
      const at = { ms: 1_000 };
      const recipe = openRecipe({ nowMs: () => at.ms, monotonicMs: () => at.ms }, MANIFESTS);
      const { pools } = recipe.deps;
      const [first] = recipe.deps.catalog.current.deployments;
      if (first === undefined) throw new Error("the catalog has a deployment");
      const deployment = { ...first, pool };
      for (const { waitMs, throttles, input, output } of steps) {
        at.ms += waitMs;
        // The clock moves past each cooldown, because a pool that is cooling down refuses with the
        // time left and does not look at its windows.
        for (let n = 0; n < throttles; n += 1, at.ms += 1_000) pools.throttled(pool, 1, at.ms);
        const tokens = tokenCount(input, output);
        const asked = { deployment, tokens, marketplace: undefined };
        let entered = await enterPool(recipe.deps, RECIPE_PRINCIPAL, asked);
        if (!entered.ok && entered.refusal.retryable) {
          at.ms += (entered.refusal.retryAfterSeconds ?? 0) * 1_000;
          entered = await enterPool(recipe.deps, RECIPE_PRINCIPAL, asked);
          waits += 1;
        }
        expect(entered.ok).toBe(output <= 50 && input + output <= 100);
        if (entered.ok) entered.pool?.release(tokens);
      }
    }),
    { numRuns: 20 },
  );
  expect(waits).toBeGreaterThan(10);
});

describe("a balance refusal", () => {
  const lowBalance = (available: bigint, held: bigint) => ({
    kind: "low_balance" as const,
    availableMicroUsd: microUsd(available),
    heldMicroUsd: microUsd(held),
  });
  const refusalFor = (available: bigint, held: bigint) =>
    reserveRefusal(lowBalance(available, held), CALLER, asking(500n));

  test("names what is needed, available and held", () => {
    const amounts = "up to $0.000500; $0.000100 is available and $0.000020 is held";
    expect(refusalFor(100n, 20n).message).toContain(amounts);
  });

  test("names how many output tokens the balance pays for, or that it does not pay for the input", () => {
    expect(refusalFor(115n, 0n).message).toContain(
      "what fits is at most 2 output tokens with this balance; buy credit or lower max_tokens",
    );
    expect(refusalFor(99n, 0n).message).toContain(
      "not even its input and one output token fit with this balance; buy credit or shorten",
    );
    const images = { needed: microUsd(500n), outputWithin: () => undefined };
    const { message } = reserveRefusal(lowBalance(9n, 0n), CALLER, images);
    expect(message).toMatch(/by running requests; buy credit or ask for less$/);
  });

  test("is retryable when the organization's own running requests hold the money, and not when this request alone costs too much", () => {
    expect(refusalFor(100n, 400n)).toMatchObject({ retryable: true });
    expect(refusalFor(100n, 399n)).toMatchObject({ retryable: false });
  });
});

describe("a spend cap", () => {
  const RESET = "2026-11-30T00:00:00.000Z";

  const refused = (change: Partial<Extract<ReserveOutcome, { kind: "cap" }>>) =>
    reserveRefusal(
      {
        kind: "cap",
        scope: "key",
        period: "month",
        capMicroUsd: microUsd(1_000n),
        settledMicroUsd: microUsd(600n),
        inFlightMicroUsd: microUsd(0n),
        resetAtMs: Date.parse(RESET),
        ...change,
      },
      CALLER,
      asking(500n),
    );

  test.each([
    ["month", "org", "the organization's monthly", "this month"],
    ["day", "key", "this key's daily", "today"],
    ["week", "key", "this key's weekly", "this week"],
  ] as const)("of a %s and of scope %s is named with its reset", (period, scope, cap, now) => {
    const value = refused({ period, scope });
    expect(value).toMatchObject({
      class: "insufficient_quota",
      limit: { scope, kind: "spend", id: scope === "org" ? "org:org_a" : "key:key_a" },
      retryAfterSeconds: 60,
      capResetAtMs: Date.parse(RESET),
      retryable: false,
      ...(period === "month" ? {} : { capPeriod: period }),
    });
    expect(value.message).toContain(`${cap} spend cap (scope ${scope}) of $0.001000`);
    expect(value.message).toContain(`is spent ${now} and`);
    expect(value.message).toContain(`resets at ${RESET}`);
  });

  test("below the cost of the request says that no reset helps, and how many output tokens fit", () => {
    const value = refused({ capMicroUsd: microUsd(400n), settledMicroUsd: microUsd(390n) });
    expect(value).toMatchObject({ retryable: false, retryAfterSeconds: 60 });
    expect(value.message).toContain("what fits is at most 31 output tokens with the whole cap");
    expect(value.message).toContain(`resets at ${RESET} does not help`);
  });
});

test("a ledger that does not answer is a 503 with retry-after 2", () => {
  const outcome = reserveRefusal({ kind: "unavailable", reason: "no" }, CALLER, asking(1n));
  expect(outcome).toMatchObject({ class: "gateway_error", status: 503, retryAfterSeconds: 2 });
});
