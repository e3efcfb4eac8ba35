import { describe, expect, test } from "vitest";

import type { AttemptId, KeyId, ModelId, OrgId, ProviderId, RequestId } from "../core/ids.ts";
import { microUsd } from "../core/money.ts";
import type { Ledger, ReserveOutcome, ReserveRow } from "../ledger/ledger-store.ts";
import { tokenCount, type ClaimOutcome, type LimitStore } from "../limits/limit-store.ts";
import { admit } from "./admit.ts";

const RESERVE: ReserveRow = {
  attemptId: 1n as AttemptId,
  requestId: "r" as RequestId,
  ordinal: 1,
  orgId: "org_1" as OrgId,
  keyId: "key_1" as KeyId,
  modelId: "m" as ModelId,
  providerId: "p" as ProviderId,
  upstreamModelId: "m",
  pricePinId: "pin",
  route: "/v1/chat/completions",
  stream: false,
  estimatedTokens: 10,
  reserveMicroUsd: microUsd(500n),
};

/** Answers what it is told and writes down what it was asked: both ports at their edge. */
function scripted(claim: ClaimOutcome, reserve: () => Promise<ReserveOutcome>) {
  const asked: string[] = [];
  const limits: LimitStore = {
    claim: () => {
      asked.push("claim");
      return claim;
    },
    release: () => void asked.push("release"),
    undo: () => void asked.push("undo"),
    cool: () => void asked.push("cool"),
  };
  const ledger: Pick<Ledger, "reserve"> = {
    reserve: () => {
      asked.push("reserve");
      return reserve();
    },
  };
  const input = {
    scopes: [],
    tokens: tokenCount(4, 6),
    reserve: RESERVE,
    nowMs: 1_000,
    monotonicMs: 5,
  };
  return { asked, run: () => admit({ limits, ledger: ledger as Ledger }, input) };
}

const CLAIMED: ClaimOutcome = {
  kind: "claimed",
  lease: { remainingRequests: 1, remainingTokens: 1, queueMs: 0 },
};

test("limits are asked first: a rate-limited request never reaches the ledger", async () => {
  const { asked, run } = scripted(
    {
      kind: "refused",
      scope: "key",
      limitKind: "rpm",
      id: "key:key_1",
      limit: 20,
      retryAfterSeconds: 7,
    },
    async () => ({ kind: "reserved" }),
  );
  expect(await run()).toMatchObject({
    kind: "refused",
    refusal: {
      class: "rate_limit",
      status: 429,
      origin: "gateway_admission",
      limit: { scope: "key", kind: "rpm", id: "key:key_1" },
      retryAfterSeconds: 7,
      retryAtMs: 8_000,
      retryable: true,
    },
  });
  expect(asked).toEqual(["claim"]);
});

test("a limit store that does not answer refuses with 503 and sends nothing", async () => {
  const { asked, run } = scripted({ kind: "unavailable" }, async () => ({ kind: "reserved" }));
  expect(await run()).toMatchObject({
    refusal: { class: "gateway_error", status: 503, origin: "gateway_infrastructure" },
  });
  expect(asked).toEqual(["claim"]);
});

test("a request without money gives its limits back, as if it had never come", async () => {
  const { asked, run } = scripted(CLAIMED, async () => ({
    kind: "low_balance",
    availableMicroUsd: microUsd(100n),
    heldMicroUsd: microUsd(0n),
  }));
  expect(await run()).toMatchObject({ refusal: { class: "insufficient_quota" } });
  expect(asked).toEqual(["claim", "reserve", "undo"]);
});

test("a ledger that fails unexpectedly leaves no limit claimed behind", async () => {
  const { asked, run } = scripted(CLAIMED, () => Promise.reject(new Error("broken")));
  await expect(run()).rejects.toThrow("broken");
  expect(asked).toEqual(["claim", "reserve", "undo"]);
});

describe("a balance refusal", () => {
  async function refusalFor(available: bigint, held: bigint): Promise<unknown> {
    const { run } = scripted(CLAIMED, async () => ({
      kind: "low_balance",
      availableMicroUsd: microUsd(available),
      heldMicroUsd: microUsd(held),
    }));
    const outcome = await run();
    return outcome.kind === "refused" ? outcome.refusal : undefined;
  }

  test("tells what is needed, available and held", async () => {
    expect(await refusalFor(100n, 20n)).toMatchObject({
      message: expect.stringContaining(
        "up to $0.000500; $0.000100 is available and $0.000020 is held",
      ),
    });
  });

  test("is retryable when the organization's own running requests hold the money", async () => {
    expect(await refusalFor(100n, 400n)).toMatchObject({ retryable: true });
  });

  test("is not retryable when this request alone is too dear", async () => {
    expect(await refusalFor(100n, 399n)).toMatchObject({ retryable: false });
  });
});

test("a spend cap names its scope and the instant at which it resets", async () => {
  const resetAtMs = Date.UTC(2026, 11, 1);
  const { run } = scripted(CLAIMED, async () => ({
    kind: "cap",
    scope: "org",
    capMicroUsd: microUsd(1_000n),
    settledMicroUsd: microUsd(600n),
    inFlightMicroUsd: microUsd(0n),
    resetAtMs,
  }));
  expect(await run()).toMatchObject({
    refusal: {
      class: "insufficient_quota",
      message: expect.stringMatching(/scope org.*2026-12-01T00:00:00.000Z/),
      limit: { scope: "org", kind: "spend" },
      capResetAtMs: resetAtMs,
      retryable: false,
    },
  });
});
