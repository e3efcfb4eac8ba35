import { describe, expect, test } from "vitest";

import type { ModelId, ProviderId } from "../../kernel/core/ids.ts";
import type { ListingVerdict, ListingVerification, RecordedCheck } from "../../gateway/index.ts";
import { type JudgedListing, presentRun, presentTrust } from "./verification-routes.ts";

const LISTING: JudgedListing = {
  providerId: "lab" as ProviderId,
  modelId: "lab/chat" as ModelId,
  baseUrl: "https://api.lab.example:8443/v1",
  manifestSha256: "a".repeat(64),
};

function check(id: string, change: Partial<RecordedCheck> = {}): RecordedCheck {
  const title = `title of ${id}`;
  return { id, status: "pass", title, message: `message of ${id}`, ms: 12, ...change };
}

const FAILED_C7 = check("C7", {
  status: "fail",
  message: "an answer names another model",
  evidence: { sent: "lab-chat-1", reported: ["lab-mini", null], is_stream: true, tokens_billed: 7 },
});

function run(change: Partial<ListingVerdict> = {}): ListingVerdict {
  return {
    providerId: "lab",
    modelId: "lab/chat",
    upstreamModelId: "lab-chat-1",
    manifestSha256: "a".repeat(64),
    verdict: "fail",
    checkedAtMs: Date.parse("2026-11-20T10:00:00Z"),
    source: "import",
    checks: [check("C1"), FAILED_C7, check("C6", { status: "skip" })],
    ...change,
  };
}

function shown(verification: ListingVerification, hasChecks = true) {
  return presentTrust(LISTING, verification, { hasChecks });
}

describe("a listing", () => {
  test("that failed is shown with its failed checks, and every check with its evidence as text", () => {
    const trust = shown({ state: "failed", verdict: run() });
    expect(trust).toMatchObject({
      provider: "lab",
      model: "lab/chat",
      state: "failed",
      verdict: "fail",
      source: "import",
      checked_at: "2026-11-20T10:00:00.000Z",
      ends_at: null,
      suspect: null,
    });
    expect(trust.flaws.map(({ id }) => id)).toEqual(["C7"]);
    // The list of all providers contains the checks that did not pass, and no others.
    const inList = shown({ state: "failed", verdict: run() }, false);
    expect(inList).toMatchObject({ checks: [], flaws: trust.flaws });
    expect(trust.checks.map(({ id, status }) => `${id} ${status}`)).toEqual([
      "C1 pass",
      "C7 fail",
      "C6 skip",
    ]);
    expect(trust.checks[1]?.evidence).toEqual([
      { name: "sent", value: "lab-chat-1" },
      { name: "reported", value: "lab-mini, none" },
      { name: "is stream", value: "true" },
      { name: "tokens billed", value: "7" },
    ]);
  });

  test.each([
    ["verified", "2026-12-20T10:00:00.000Z"],
    ["expired", "2026-12-20T10:00:00.000Z"],
    ["changed", null],
    ["failed", null],
    ["unchecked", null],
  ] as const)("that is %s has a verification that ends at %s", (state, ends) => {
    expect(shown({ state, verdict: run() }).ends_at).toBe(ends);
  });

  test("of which nothing is known has no date and no checks", () => {
    const nothing = { verdict: null, source: null, checked_at: null, ends_at: null, suspect: null };
    expect(shown({ state: "unchecked" })).toMatchObject({ ...nothing, flaws: [], checks: [] });
  });

  test("that is suspect says which share of live answers broke which promise, and no counts", () => {
    const breaches = {
      answers: 240,
      substituted: 12,
      usageMissing: 1,
      usageImpossible: 2,
      boundExceeded: 3,
      wrongFinish: 0,
      unreadable: 4,
    };
    const suspect = { providerId: "lab", modelId: "lab/chat", sinceMs: 0, breaches };
    expect(shown({ state: "unchecked", suspect }).suspect).toEqual({
      since: "1970-01-01T00:00:00.000Z",
      substituted_percent: 5,
      usage_missing_percent: 1,
      usage_impossible_percent: 1,
      bound_exceeded_percent: 1,
      wrong_finish_percent: 0,
      unreadable_percent: 2,
    });
  });
});

test("a past run is shown with its flaws, and whether its manifest is the present one", () => {
  const checks = [check("C5", { status: "warn" }), check("C8", { status: "error" }), check("C2")];
  const past = presentRun(LISTING, run({ checks, manifestSha256: "b".repeat(64) }));
  expect(past).toMatchObject({ is_current_manifest: false, verdict: "fail", source: "import" });
  expect(past.flaws.map(({ id, status }) => `${id} ${status}`)).toEqual(["C5 warn", "C8 error"]);
  expect(presentRun(LISTING, run()).is_current_manifest).toBe(true);
});

test("evidence of an unknown shape is left out, and at most twelve entries are shown", () => {
  const evidence = { deep: { a: 1 }, lists: [[["x"]], 1, ["y"]], ...many(30) };
  const of = (value: unknown) => {
    const checks = [check("C2", { evidence: value })];
    return shown({ state: "failed", verdict: run({ checks }) }).checks[0]?.evidence;
  };
  expect(of(evidence)).toHaveLength(12);
  expect(of(evidence)?.[0]).toEqual({ name: "lists", value: ", 1, y" });
  for (const odd of [null, "text", 7, ["a"], undefined]) expect(of(odd)).toEqual([]);
});

function many(count: number): Record<string, number> {
  return Object.fromEntries(Array.from({ length: count }, (_, at) => [`n${at}`, at]));
}
