import { describe, expect, test } from "vitest";

import type { Attempt } from "../../../../src/account/console-api/contract.ts";
import { failoverReason } from "./attempt-labels.ts";

const attempt: Attempt = {
  n: 1,
  provider: "lab-a",
  upstream_id: "one",
  started_at: "2026-11-22T00:00:00.000Z",
  first_byte_ms: null,
  duration_ms: 10,
  outcome: "failed",
  upstream_status: 503,
  error_class: "upstream_error",
  served_model: null,
  substituted: null,
  tokens: null,
  reserved_usd: "0.010000",
  settled_usd: "0.000000",
  settlement: null,
  above_prompt_tokens: 0,
  prices: null,
};
const next: Attempt = { ...attempt, n: 2, provider: "lab-b" };

describe("the sentence about a failover", () => {
  test("names the provider, its status and the next provider", () => {
    expect(failoverReason(attempt, next)).toBe(
      "lab-a failed (status 503), so the gateway continued with lab-b.",
    );
  });

  test("has no status after a timeout", () => {
    expect(failoverReason({ ...attempt, outcome: "timeout" }, next)).toContain(
      "did not answer in time",
    );
  });

  test("has the time after which an answer broke off", () => {
    expect(failoverReason({ ...attempt, outcome: "stream_died", duration_ms: 2 }, next)).toBe(
      "lab-a stopped after 2 ms, before the answer was complete, so the gateway continued with lab-b.",
    );
  });

  test("is not blank for an unknown error class", () => {
    const odd = { ...attempt, error_class: "brand_new", upstream_status: null };
    expect(failoverReason(odd, next)).toContain("could not serve the request,");
  });

  test("is undefined for the last attempt", () => {
    expect(failoverReason(attempt, undefined)).toBeUndefined();
  });
});
