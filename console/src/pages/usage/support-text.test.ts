import { expect, test } from "vitest";

import { supportText } from "./support-text.ts";

test("the text for support names the request and each attempt", () => {
  const text = supportText({
    request: {
      request_id: "0193-abc",
      created_at: "2026-11-22T00:00:00.000Z",
      model: "lab/one",
      key_id: null,
      source: "Playground",
      provider: "lab-b",
      route: "/v1/chat/completions",
      stream: true,
      attempts: 1,
      status: "failed",
      outcome: "failed",
      error_class: "upstream_error",
      tokens: null,
      first_byte_ms: null,
      duration_ms: 1200,
      cost_usd: "0.000000",
    },
    attempts: [
      {
        n: 1,
        provider: "lab-a",
        upstream_id: "one",
        started_at: "2026-11-22T00:00:00.010Z",
        first_byte_ms: null,
        duration_ms: 1100,
        outcome: "failed",
        upstream_status: 503,
        error_class: "upstream_error",
        served_model: null,
        substituted: null,
        tokens: null,
        reserved_usd: "0.010000",
        settled_usd: "0.000000",
        settlement: "reported",
        above_prompt_tokens: 0,
        prices: null,
      },
    ],
    dropped_params: ["top_k"],
    response_headers: [{ name: "x-tm-dropped-params", value: "top_k" }],
    refusal: null,
  });
  expect(text).toContain("Request 0193-abc\n");
  expect(text).toContain("Source Playground\n");
  expect(text).toContain("Attempt 1: lab-a (one)");
  expect(text).toContain("failed (upstream_error), HTTP status 503");
  expect(text).toContain("\nHeader x-tm-dropped-params: top_k");
  expect(text).toContain("reserved $0.010000, settled $0.000000");
});
