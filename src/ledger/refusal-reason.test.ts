import { expect, test } from "vitest";

import { microUsd, refusal } from "../kernel/index.ts";
import { droppedNames, droppedText, refusalReason } from "./refusal-reason.ts";

test("a refusal is stored with its limit, figures and retry times, without its message", () => {
  const value = refusal("insufficient_quota", "the cap would be exceeded", {
    origin: "gateway_admission",
    limit: { scope: "key", kind: "spend", id: "key:1" },
    figures: {
      cap: microUsd(5_000_000n),
      spent: microUsd(4_999_999n),
      inFlight: microUsd(0n),
      needed: microUsd(2n),
    },
    capResetAtMs: Date.UTC(2026, 11, 1),
  });
  expect(refusalReason(value, ["top_k", "seed", "seed"])).toEqual({
    status: 429,
    retryable: false,
    origin: "gateway_admission",
    limit_scope: "key",
    limit_kind: "spend",
    limit_id: "key:1",
    retry_after: 60,
    reset_at: "2026-12-01T00:00:00.000Z",
    cap_usd: "5.000000",
    spent_usd: "4.999999",
    in_flight_usd: "0.000000",
    needed_usd: "0.000002",
    dropped_params: ["top_k", "seed"],
  });
});

test("a stored refusal is small printable ASCII, whatever names the client chose", () => {
  const names = Array.from({ length: 1_000 }, (_, at) => `${at}\0\ud800${"x".repeat(10_000)}`);
  const value = refusal("rate_limit", "a limit", {
    limit: { scope: "model", kind: "rpm", id: `model:\0\udfff${"é".repeat(10_000)}` },
  });
  const kept = JSON.stringify(refusalReason(value, names));
  expect(kept.length).toBeLessThan(4_000);
  expect(kept).toMatch(/^[\x20-\x7e]*$/);
  expect(kept).not.toContain("\\u");
});

test("at most 32 names of dropped fields are stored, and unknown names as `unrecognized`", () => {
  const many = Array.from({ length: 1_000 }, (_, at) => `messages.${at}.cache_control`);
  expect(droppedNames(droppedText(many))).toHaveLength(32);
  const own = ["Canary", "metadata.Canary", "tools[0].canary", `${"x".repeat(10_000)},\0\ud800`];
  expect(droppedNames(droppedText(["seed", ...own]))).toEqual(["seed", "unrecognized"]);
  expect(JSON.stringify(refusalReason(refusal("invalid_request", "a field"), own))).not.toMatch(
    /canary/i,
  );
  const known = [
    "tools[0].cache_control.ttl",
    "messages.content.input_audio",
    "made-up-2025-01-01",
  ];
  expect(droppedNames(droppedText(known))).toEqual(known);
});

test("stored names of dropped fields are read back once each, and none from an empty column", () => {
  expect(droppedNames(droppedText(["seed", "top_k", "seed"]))).toEqual(["seed", "top_k"]);
  expect(droppedNames(undefined)).toEqual([]);
});
