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

describe("why the gateway moved on, as a sentence", () => {
  test("names what the provider did, its status and where the request went", () => {
    expect(failoverReason(attempt, next)).toBe(
      "lab-a failed (status 503), so the gateway continued with lab-b.",
    );
  });

  test("a wait that was too long has no status", () => {
    expect(failoverReason({ ...attempt, outcome: "timeout" }, next)).toContain(
      "did not answer in time",
    );
  });

  test("an answer that broke off says after how long", () => {
    expect(failoverReason({ ...attempt, outcome: "stream_died", duration_ms: 2 }, next)).toBe(
      "lab-a stopped after 2 ms, before the answer was complete, so the gateway continued with lab-b.",
    );
  });

  test("a class that is not known yet is not blank", () => {
    const odd = { ...attempt, error_class: "brand_new", upstream_status: null };
    expect(failoverReason(odd, next)).toContain("could not serve the request,");
  });

  test("the last attempt moved nowhere", () => {
    expect(failoverReason(attempt, undefined)).toBeUndefined();
  });
});
