import { expect, test } from "vitest";

import type { Deployment } from "../../../catalog/catalog.ts";
import type { UpstreamFailure } from "../../wire/failure/failures.ts";
import { decisionsDeployment } from "../../../../test/fixtures/modality/decision-kit.ts";
import { classifyDecision } from "./classify.ts";

const plain = decisionsDeployment();
const enveloped = decisionsDeployment({ envelope: "envelope_v4" });
const gliner = decisionsDeployment({ wire: "gliner" });
const ownKey = {
  connectionId: "con_1",
  orgId: "org_1",
  providerId: "acme",
  sealedKey: Buffer.alloc(0),
} as unknown as NonNullable<Deployment["ownKey"]>;

const own = { ...plain, ownKey };

interface Failing {
  readonly status: number;
  readonly body: unknown;
  readonly headers?: Record<string, string>;
  readonly at?: Deployment;
}

function failed({ status, body, headers = {}, at = plain }: Failing): UpstreamFailure {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  return classifyDecision({ status, headers, body: Buffer.from(text) }, at, 0);
}

function envelope(code: number, message: string): object {
  return { result: {}, success: false, errors: [{ code, message }], messages: [] };
}

const said = (message: string): object => ({ error: { message } });
const why = (detail: string): object => ({ detail });

/* A failure ends the request, moves on to another provider, or moves on with a strike. */
const ENDS = { failover: false, strike: "neutral" };
const MOVES = { failover: true, strike: "neutral" };
const COUNTS = { failover: true, strike: "strike" };

const OVERFLOW = { class: "context_overflow" };
const USED_UP = {
  class: "model_unavailable",
  status: 503,
  retryable: false,
  origin: "upstream",
  retryAfterSeconds: 60,
};
const AUTH = { class: "auth", retryable: false };
const REJECTED = { class: "upstream_error", retryable: false };
const SLOW = { class: "upstream_error", status: 504 };
const LOADING = { class: "upstream_error", status: 503, retryable: true };
const BROKEN = { class: "upstream_error", status: 502, upstreamStatus: 200 };
const UNREADABLE = { class: "gateway_error", status: 502 };

const REQUEST_ID = "0a1b2c3d-1111-4222-8333-444455556666";
const TOO_LONG =
  "The estimated number of input tokens (131276) exceeded this model context window limit (65536).";
const AI_ERROR = `AiError: AiError: ${TOO_LONG} (${REQUEST_ID})`;
const LENGTH = "Input length (262144) exceeds or equals model's maximum context length (262144)";
const WINDOW = "the state does not fit the context window";
const OURS = "the prompt does not fit the context window of the model";
const INNER = JSON.stringify(envelope(5021, "The estimate (70000) is above 65536"));
const FIELDS = JSON.stringify({ error: { message: "Invalid input", details: ["secret-things"] } });

test.each<[string, Failing, object, object]>([
  ["code 5021 is an overflow with the provider's message",
    { status: 413, body: envelope(5021, AI_ERROR), at: enveloped },
    { ...OVERFLOW, status: 413, origin: "upstream", upstreamStatus: 413, message: TOO_LONG }, ENDS],
  ["code 5021 is a context overflow whatever its message",
    { status: 400, body: envelope(5021, "no") }, OVERFLOW, ENDS],
  ["a 413 is a context overflow whatever its message", { status: 413, body: why("too much") },
    { ...OVERFLOW, status: 413, message: "too much" }, ENDS],
  ["a 400 about the context length is an overflow", { status: 400, body: said(LENGTH) },
    { ...OVERFLOW, status: 400, message: LENGTH }, ENDS],
  ["a 400 about the context window is an overflow", { status: 400, body: said(WINDOW) },
    { ...OVERFLOW, status: 400, message: WINDOW }, ENDS],
  ["an HTML page is never quoted to the client", { status: 413, body: "<html>secret</html>" },
    { ...OVERFLOW, message: OURS }, ENDS],
  ["an envelope inside the message is opened",
    { status: 413, body: envelope(5012, `AiError: ${INNER} (${REQUEST_ID})`), at: enveloped },
    { ...OVERFLOW, message: "The estimate (70000) is above 65536" }, ENDS],
  ["a message with braces is not an envelope",
    { status: 413, body: envelope(5021, "a {state} of 70000 tokens") },
    { message: "a {state} of 70000 tokens" }, ENDS],
  ["code 3036 is a used-up allowance",
    { status: 429, body: envelope(3036, "Account limited"), at: enveloped },
    { ...USED_UP, upstreamStatus: 429 }, { ...MOVES, coolSeconds: 60 }],
  ["a used-up allowance is found by its words",
    { status: 429, body: envelope(1, "You have used up your daily free allocation") },
    USED_UP,
    { ...MOVES, coolSeconds: 60 }],
  ["a used-up allowance cools the pool for the provider's Retry-After",
    { status: 429, body: envelope(3036, ""), headers: { "retry-after": "7" } },
    USED_UP, { ...MOVES, coolSeconds: 7 }],
  ["any other 429 is a rate limit",
    { status: 429, body: said("slow down") },
    { class: "rate_limit", status: 429, retryAfterSeconds: 5, retryable: true },
    { ...MOVES, coolSeconds: 5 }],
  ["the Retry-After of a 429 is capped at 60 s",
    { status: 429, body: "", headers: { "retry-after": "300" } },
    { retryAfterSeconds: 60 }, MOVES],
  ["a 401 for the marketplace's key is model_unavailable",
    { status: 401, body: envelope(10000, "Authentication error") },
    { ...USED_UP, upstreamStatus: 401 }, COUNTS],
  ["a 402 for the marketplace's key is model_unavailable", { status: 402, body: "" },
    { ...USED_UP, upstreamStatus: 402 }, COUNTS],
  ["a 403 for the marketplace's key is model_unavailable", { status: 403, body: "" },
    { ...USED_UP, upstreamStatus: 403 }, COUNTS],
  ["a 401 for the caller's own key stays a 401", { status: 401, body: why("no credit"), at: own },
    { ...AUTH, status: 401, upstreamStatus: 401 }, ENDS],
  ["a GLiNER 403 for the caller's own key stays a 403",
    { status: 403, body: why("no credit"), at: { ...gliner, ownKey } },
    { ...AUTH, status: 403 }, ENDS],
  ["a GLiNER 401 for the marketplace's key is auth",
    { status: 401, body: why("Invalid API key"), at: gliner },
    { ...AUTH, status: 401 }, COUNTS],
  ["a 400 about the account's credit is model_unavailable",
    { status: 400, body: said("Insufficient balance") },
    USED_UP, COUNTS],
  ["a GLiNER 400 about the account's credit is auth",
    { status: 400, body: said("Insufficient balance"), at: gliner },
    AUTH, COUNTS],
  ["a 400 about the credit of the caller's own key is a 402",
    { status: 400, body: said("Insufficient balance"), at: own },
    { ...AUTH, status: 402 }, ENDS],
  ["a 412 about the suspended account of the caller's own key is a 401",
    { status: 412, body: said("Account acme is suspended"), at: own },
    { ...AUTH, status: 401 }, ENDS],
  ["a 504 stays a 504, with failover and a strike",
    { status: 504, body: "<html>secret-host</html>" },
    { ...SLOW, upstreamStatus: 504 }, COUNTS],
  ["a 425 for a model that is loading is a retryable 503 without a strike",
    { status: 425, body: why("model is warming up") },
    { ...LOADING, upstreamStatus: 425, retryAfterSeconds: 5 }, MOVES],
  ["a 425 has the provider's Retry-After",
    { status: 425, body: "", headers: { "retry-after": "20" } },
    { retryAfterSeconds: 20 }, MOVES],
  ["the reason of a 422 is not shown",
    { status: 422, body: envelope(5012, `AiError: ${FIELDS}`), at: enveloped },
    { ...REJECTED, status: 422, upstreamStatus: 422 }, ENDS],
  ["the reason of a 400 is not shown",
    { status: 400, body: envelope(5006, "AiError: secret-things") },
    { ...REJECTED, status: 400 }, ENDS],
  ["a 200 with an unknown code is a failure of the provider",
    { status: 200, body: envelope(5012, "no"), at: enveloped },
    BROKEN, COUNTS],
  ["a 200 that says that it failed is a failure of the provider",
    { status: 200, body: { success: false, errors: [] }, at: enveloped },
    BROKEN, COUNTS],
  ["a 200 with an error outside an envelope is classified by its code",
    { status: 200, body: { error: { code: 429, message: "slow down" } } },
    { class: "rate_limit" }, MOVES],
  ["a 200 without the declared envelope is unusable",
    { status: 200, body: { answers: {} }, at: enveloped },
    UNREADABLE, { failover: false, strike: "strike" }],
  ["a 200 without a result is unusable",
    { status: 200, body: { success: true, result: [] }, at: enveloped },
    UNREADABLE, { failover: false }],
  ["a 200 with a page is unusable", { status: 200, body: "<html></html>", at: enveloped },
    UNREADABLE, { failover: false }],
  ["a 200 that reports no error is a gateway_error without failover",
    { status: 200, body: { answers: {} } },
    UNREADABLE, { failover: false }],
])("%s", (_what, failing, refusal, end) => {
  const found = failed(failing);
  expect(found).toMatchObject({ refusal, ...end });
  expect(found.refusal.message).not.toMatch(/secret|Invalid|daily free/);
}); // prettier-ignore

test.each([
  why("Your credits are used up"),
  { error: { code: "insufficient_credits" } },
  why("not part of your plan"),
  why("billing is not set up"),
  why("the token has expired"),
  why("no capacity for this account"),
])("a GLiNER 403 about the account's allowance, %j, is model_unavailable", (body) => {
  expect(failed({ status: 403, body, at: gliner })).toMatchObject({ refusal: USED_UP, ...COUNTS });
});

test.each([
  [3036, "model_unavailable", 503, "neutral"],
  [4006, "model_unavailable", 503, "neutral"],
  [3040, "rate_limit", 429, "neutral"],
  [5021, "context_overflow", 413, "neutral"],
  [10000, "model_unavailable", 503, "strike"],
  [5006, "upstream_error", 400, "neutral"],
  [3007, "upstream_error", 504, "timeout"],
])("code %i in a 200 is classified as %s with the status %i", (code, cls, status, strike) => {
  const found = failed({ status: 200, body: envelope(code, "no"), at: enveloped });
  expect(found).toMatchObject({ refusal: { class: cls, status, upstreamStatus: 200 }, strike });
});
