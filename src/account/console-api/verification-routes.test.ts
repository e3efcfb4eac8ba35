import { describe, expect, test } from "vitest";

import type { ModelId, ProviderId } from "../../kernel/core/ids.ts";
import type { ListingVerdict, ListingVerification, RecordedCheck } from "../../gateway/index.ts";
import {
  hostTexts,
  type JudgedListing,
  presentRun,
  presentTrust,
  publicText,
} from "./verification-routes.ts";

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
  test("that failed is shown with what failed, and every check with its evidence as words", () => {
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
    // A list of all providers has the flaws and no other checks.
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
  ] as const)("that is %s ends at %s", (state, ends) => {
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

test("evidence that no check of ours reports is left out, and never breaks the page", () => {
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

const HIDDEN = hostTexts("https://api.lab.example:8443/v1");

describe("a text of a report", () => {
  test.each([
    ["the endpoint", "no answer from https://api.lab.example:8443/v1/chat", "api.lab"],
    ["its host alone", "getaddrinfo failed for api.lab.example", "api.lab"],
    ["another address", "see http://10.0.0.5/x?key=1 and wss://a.example", "10.0.0.5"],
    ["a host with its port", "connect to other.example:443 refused", "other.example"],
    ["a name that was not found", "ENOTFOUND inner.lab", "inner.lab"],
    ["an IPv4 address", "connect ECONNREFUSED 192.168.1.20:8000", "192.168"],
    ["an IPv6 address", "connect ECONNREFUSED fe80::1:2", "fe80"],
    ["a long IPv6 address", "to 2001:db8:0:1:1:1:1:1 failed", "2001"],
    ["a key", "the key sk-live_0123456789 is refused", "0123456789"],
    ["a virtual key", `tm_vk_${"0f".repeat(24)} is refused`, "0f0f"],
    ["a header", "authorization: Bearer abc.def", "abc.def"],
  ])("loses %s", (_what, text, secret) => {
    expect(publicText(text, HIDDEN)).not.toContain(secret);
    expect(publicText(text, HIDDEN)).toContain("[removed]");
  });

  test.each([
    "choices[0].message.content is no text",
    "an answer names another model: lab/chat-one-2026-10-01, qwen2.5:7b, llama-3.1-8b",
    "answered at 10:00:00 with 200 after 12.5 ms; std::vector",
    "data[0].b64_json is no PNG, JPEG or WebP in base64",
  ])("keeps %s", (text) => {
    expect(publicText(text, HIDDEN)).toBe(text);
  });

  test("is one line of 300 characters at most", () => {
    expect(publicText("a\u0000b\r\nc\u202Ed", [])).toBe("a b c d");
    expect(publicText("x".repeat(301), [])).toBe(`${"x".repeat(299)}…`);
    expect(publicText(`${"x".repeat(298)}😀😀`, [])).toBe(`${"x".repeat(298)}…`);
  });
});

test("a host that may be a word of any sentence is not taken out of it", () => {
  expect(hostTexts("http://lab/v1")).toEqual(["http://lab/v1"]);
  expect(publicText("the lab answers", hostTexts("http://lab/v1"))).toBe("the lab answers");
  expect(hostTexts("http://lab:80/v1")).toEqual(["http://lab:80/v1"]);
  expect(hostTexts("http://lab:8000/v1")).toEqual(["http://lab:8000/v1", "lab:8000"]);
});
