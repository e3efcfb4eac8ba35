import { describe, expect, test } from "vitest";

import type { KeyId, OrgId } from "../core/ids.ts";
import { microUsd } from "../core/money.ts";
import { tokenCount, type ClaimOutcome, type LimitStore } from "../limits/limit-store.ts";
import { claimScopes, reserveRefusal } from "./admit.ts";

const CALLER = {
  orgId: "org_a" as OrgId,
  keyId: "key_a" as KeyId,
  keyOrigin: "console",
} as const;

type Answer = ClaimOutcome | Promise<ClaimOutcome>;

/** Answers slot after slot as scripted and records what it was asked: the port's edge. */
function scripted(answers: readonly Answer[]) {
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
    claimScopes(limits, {
      principal: { orgId: "org_1" as OrgId },
      parts,
      tokens: tokenCount(4, 6),
      nowMs: 1_000,
      monotonicMs: 5,
    });
  return { asked, run };
}

function granted(remainingRequests: number, remainingTokens: number, queueMs: number): Answer {
  return { kind: "claimed", lease: { remainingRequests, remainingTokens, queueMs } };
}

function refusedBy(scope: "key" | "pool" | "platform"): Answer {
  const id = scope === "platform" ? "platform" : `${scope}:one`;
  return { kind: "refused", scope, limitKind: "rpm", id, limit: 20, retryAfterSeconds: 7 };
}

describe("claims in several slots", () => {
  test("report the smallest remaining amounts and the longest wait of all of them", async () => {
    const answers = [granted(9, 50, 5), Promise.resolve(granted(3, 80, 20)), granted(7, 90, 0)];
    const { run } = scripted(answers);
    const outcome = await run();
    expect(outcome).toMatchObject({
      ok: true,
      claimed: { remainingRequests: 3, remainingTokens: 50, queueMs: 20 },
    });
  });

  test("are released together, once", async () => {
    const { run, asked } = scripted([granted(1, 1, 1), granted(1, 1, 2)]);
    const outcome = await run();
    if (!outcome.ok) throw new Error("refused");
    outcome.claimed.release(tokenCount(1, 2), 6);
    outcome.claimed.release(tokenCount(1, 2), 6);
    outcome.claimed.undo(6);
    expect(asked.slice(2)).toEqual(["release 1 3", "release 2 3"]);
  });

  test("leave no trace when a later slot refuses, and ask no further", async () => {
    const { run, asked } = scripted([granted(1, 1, 1), refusedBy("key"), granted(1, 1, 3)]);
    expect(await run()).toMatchObject({ ok: false, refusal: { class: "rate_limit" } });
    expect(asked).toEqual(["claim {slot:0}", "claim {slot:1}", "undo 1"]);
  });
});

describe("a refused claim", () => {
  test("names its scope, kind and id, and when to come again", async () => {
    expect(await scripted([refusedBy("key")]).run()).toMatchObject({
      refusal: {
        class: "rate_limit",
        status: 429,
        origin: "gateway_admission",
        limit: { scope: "key", kind: "rpm", id: "key:one" },
        retryAfterSeconds: 7,
        retryAtMs: 8_000,
        retryable: true,
      },
    });
  });

  test("says what was used, and what the request adds where that is not the same for all", async () => {
    const ofKey = { kind: "refused", scope: "key", id: "key:one", limit: 20 } as const;
    const counted = { ...ofKey, retryAfterSeconds: 7, used: 20, asked: 1 };
    const used: Answer = { ...counted, limitKind: "rpm" };
    expect(await scripted([used]).run()).toMatchObject({
      refusal: {
        message: expect.stringContaining(
          "20 requests per minute: 20 used in the last minute; retry",
        ),
        figures: { limit: 20, used: 20, asked: 1 },
      },
    });
    const tokens: Answer = { ...counted, limitKind: "tpm", asked: 9 };
    expect(await scripted([tokens]).run()).toMatchObject({
      refusal: {
        message: expect.stringContaining(
          "20 tokens per minute: 20 used in the last minute, and this request may take 9; retry",
        ),
      },
    });
  });

  test("by a provider's pool is reported as the provider's quota, not as the caller's", async () => {
    expect(await scripted([refusedBy("pool")]).run()).toMatchObject({
      refusal: { class: "rate_limit", status: 429, origin: "upstream_quota" },
    });
  });

  test("by the platform is a 503: nothing was sent and nothing charged", async () => {
    expect(await scripted([refusedBy("platform")]).run()).toMatchObject({
      refusal: {
        class: "gateway_error",
        status: 503,
        origin: "gateway_infrastructure",
        limit: { scope: "platform" },
        retryAfterSeconds: 7,
      },
    });
  });

  test("by a store that does not answer is a 503 with retry-after 2", async () => {
    expect(await scripted([{ kind: "unavailable" }]).run()).toMatchObject({
      refusal: {
        class: "gateway_error",
        status: 503,
        origin: "gateway_infrastructure",
        retryAfterSeconds: 2,
      },
    });
  });
});

describe("a balance refusal", () => {
  const refusalFor = (available: bigint, held: bigint) =>
    reserveRefusal(
      {
        kind: "low_balance",
        availableMicroUsd: microUsd(available),
        heldMicroUsd: microUsd(held),
      },
      microUsd(500n),
      CALLER,
    );

  test("names what is needed, available and held", () => {
    expect(refusalFor(100n, 20n)).toMatchObject({
      message: expect.stringContaining(
        "up to $0.000500; $0.000100 is available and $0.000020 is held",
      ),
    });
  });

  test("is retryable when the organization's own running requests hold the money", () => {
    expect(refusalFor(100n, 400n)).toMatchObject({ retryable: true });
  });

  test("is not retryable when this request alone is too dear", () => {
    expect(refusalFor(100n, 399n)).toMatchObject({ retryable: false });
  });
});

test("a spend cap names its scope and the instant at which it resets", () => {
  const resetAtMs = Date.UTC(2026, 11, 1);
  const cap = {
    kind: "cap",
    scope: "org",
    period: "month",
    capMicroUsd: microUsd(1_000n),
    settledMicroUsd: microUsd(600n),
    inFlightMicroUsd: microUsd(0n),
    resetAtMs,
  } as const;
  expect(reserveRefusal(cap, microUsd(500n), CALLER)).toMatchObject({
    class: "insufficient_quota",
    message: expect.stringMatching(/monthly spend cap .scope org.*2026-12-01T00:00:00.000Z/),
    limit: { scope: "org", kind: "spend", id: "org:org_a" },
    retryAfterSeconds: 60,
    capResetAtMs: resetAtMs,
    retryable: false,
  });
});

test.each([
  ["day", "daily", "today"],
  ["week", "weekly", "this week"],
] as const)("a cap by the %s says so", (period, adjective, now) => {
  const resetAtMs = Date.UTC(2026, 10, 30);
  const cap = {
    kind: "cap",
    scope: "key",
    period,
    capMicroUsd: microUsd(1_000n),
    settledMicroUsd: microUsd(600n),
    inFlightMicroUsd: microUsd(0n),
    resetAtMs,
  } as const;
  const refused = reserveRefusal(cap, microUsd(500n), CALLER);
  expect(refused.message).toContain(`this key's ${adjective} spend cap (scope key) of $0.001000`);
  expect(refused.message).toContain(`is spent ${now} and`);
  expect(refused.message).toContain("resets at 2026-11-30T00:00:00.000Z");
  expect(refused).toMatchObject({ capResetAtMs: resetAtMs, capPeriod: period });
});

test("a ledger that does not answer is a 503 with retry-after 2", () => {
  expect(reserveRefusal({ kind: "unavailable", reason: "no" }, microUsd(1n), CALLER)).toMatchObject(
    {
      class: "gateway_error",
      status: 503,
      retryAfterSeconds: 2,
    },
  );
});
