import { describe, expect, test } from "vitest";

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

const REQUEST_ID = "0a1b2c3d-1111-4222-8333-444455556666";
const OVER_ESTIMATE =
  "AiError: AiError: The estimated number of input tokens (131276) exceeded this model context " +
  `window limit (65536). (${REQUEST_ID})`;

describe("a prompt that is too long", () => {
  test("an enveloped 413 with code 5021 is context_overflow 413 with the provider's message", () => {
    const body = envelope(5021, OVER_ESTIMATE);
    const found = failed({ status: 413, body, at: enveloped });
    expect(found).toMatchObject({
      refusal: {
        class: "context_overflow",
        status: 413,
        origin: "upstream",
        upstreamStatus: 413,
        message:
          "The estimated number of input tokens (131276) exceeded this model context window limit (65536).",
      },
      failover: false,
      strike: "neutral",
    });
  });

  test("is found by the code alone, and by the status alone", () => {
    const shape = { refusal: { class: "context_overflow" }, failover: false };
    expect(failed({ status: 400, body: envelope(5021, "no") })).toMatchObject(shape);
    expect(failed({ status: 413, body: { detail: "too much" } })).toMatchObject({
      ...shape,
      refusal: { status: 413, message: "too much" },
    });
  });

  test.each([
    "Input length (262144) exceeds or equals model's maximum context length (262144)",
    "the state does not fit the context window",
  ])("a 400 that says %j is context_overflow 400 with this message", (errorText) => {
    expect(failed({ status: 400, body: { error: { message: errorText } } })).toMatchObject({
      refusal: { class: "context_overflow", status: 400, message: errorText },
      failover: false,
      strike: "neutral",
    });
  });

  test("never uses the text of a page that is not JSON", () => {
    for (const body of ["<html>413 Request Entity Too Large</html>", "secret proxy words"]) {
      const { refusal } = failed({ status: 413, body });
      expect(refusal.class).toBe("context_overflow");
      expect(refusal.message).toBe("the prompt does not fit the context window of the model");
    }
  });
});

describe("a provider's 429", () => {
  test.each([
    [3036, "Account limited"],
    [1, "You have used up your daily free allocation"],
  ])(
    "with code %i (%s): no provider serves it soon, the pool cools down, no strike",
    (code, message) => {
      const found = failed({ status: 429, body: envelope(code, message), at: enveloped });
      expect(found).toMatchObject({
        refusal: {
          class: "model_unavailable",
          status: 503,
          retryable: false,
          origin: "upstream",
          upstreamStatus: 429,
          retryAfterSeconds: 60,
        },
        failover: true,
        strike: "neutral",
        coolSeconds: 60,
      });
      expect(found.refusal.message).not.toMatch(/neurons|daily free/i);
    },
  );

  test.each([[{ error: { message: "slow down" } }, 5]])(
    "that means the pace (%j) is rate_limit and cools the pool down",
    (body, seconds) => {
      expect(failed({ status: 429, body })).toMatchObject({
        refusal: { class: "rate_limit", status: 429, retryAfterSeconds: seconds, retryable: true },
        failover: true,
        strike: "neutral",
        coolSeconds: seconds,
      });
    },
  );

  test("names its own wait, which counts up to a minute", () => {
    const headers = { "retry-after": "300" };
    expect(failed({ status: 429, body: "", headers }).refusal.retryAfterSeconds).toBe(60);
    const used = envelope(3036, "used up");
    const brief = failed({ status: 429, body: used, headers: { "retry-after": "7" } });
    expect(brief.coolSeconds).toBe(7);
  });
});

describe("a provider that refuses the account", () => {
  test.each([401, 402, 403])(
    "answers a systemone %i on the marketplace's key as model_unavailable, and counts",
    (status) => {
      const found = failed({ status, body: envelope(10000, "Authentication error") });
      expect(found).toMatchObject({
        refusal: {
          class: "model_unavailable",
          status: 503,
          retryable: false,
          upstreamStatus: status,
          retryAfterSeconds: 60,
        },
        failover: true,
        strike: "strike",
      });
    },
  );

  test.each([
    ["systemone", plain, 401],
    ["gliner", gliner, 403],
  ] as const)(
    "%s, the caller's own key: keeps its status, no other provider is asked",
    (_, at, status) => {
      const own = { ...at, ownKey };
      expect(failed({ status, body: { detail: "no credit on this plan" }, at: own })).toMatchObject(
        {
          refusal: { class: "auth", status, retryable: false, upstreamStatus: status },
          failover: false,
          strike: "neutral",
        },
      );
    },
  );

  test.each([401, 402, 403])("relays a GLiNER %i as auth, fails over and counts", (status) => {
    expect(failed({ status, body: { detail: "Invalid API key" }, at: gliner })).toMatchObject({
      refusal: { class: "auth", status, retryable: false },
      failover: true,
      strike: "strike",
    });
  });

  test.each([
    { detail: "Your credits are used up" },
    { error: { code: "insufficient_credits" } },
    { detail: "not part of your plan" },
    { detail: "billing is not set up" },
    { detail: "the token has expired" },
    { detail: "no capacity for this account" },
  ])("gliner: one that speaks of the account's allowance, %j, is model_unavailable 503", (body) => {
    expect(failed({ status: 403, body, at: gliner })).toMatchObject({
      refusal: { class: "model_unavailable", status: 503, retryable: false },
      failover: true,
      strike: "strike",
    });
  });

  test("is recognized in a 400 about the account's credit", () => {
    const body = { error: { message: "Insufficient balance" } };
    expect(failed({ status: 400, body }).refusal).toMatchObject({
      class: "model_unavailable",
      status: 503,
    });
    expect(failed({ status: 400, body, at: gliner }).refusal.class).toBe("auth");
    expect(failed({ status: 400, body, at: { ...plain, ownKey } }).refusal).toMatchObject({
      class: "auth",
      status: 402,
    });
  });
});

describe("a provider that is slow or down", () => {
  test("answers its own 504, an HTML page, as a timeout, and counts it as a 5xx", () => {
    const found = failed({ status: 504, body: "<html>upstream secret-host timed out</html>" });
    expect(found).toMatchObject({
      refusal: { class: "upstream_error", status: 504, upstreamStatus: 504 },
      failover: true,
      strike: "strike",
    });
    expect(found.refusal.message).not.toContain("secret");
  });

  test("answers 425, a model that is being loaded, with a retry in seconds", () => {
    const warming = { refusal: { class: "upstream_error", status: 503, retryable: true } };
    expect(failed({ status: 425, body: { detail: "model is warming up" } })).toMatchObject({
      ...warming,
      refusal: { ...warming.refusal, upstreamStatus: 425, retryAfterSeconds: 5 },
      failover: true,
      strike: "neutral",
    });
    const reported = failed({ status: 425, body: "", headers: { "retry-after": "20" } });
    expect(reported.refusal.retryAfterSeconds).toBe(20);
  });
});

describe("a request that the provider rejects", () => {
  const fieldErrors = { fieldErrors: { questions: ["Too many secret-things"] } };
  const nested = JSON.stringify({ error: { message: "Invalid input", details: fieldErrors } });
  test.each([
    [422, envelope(5012, `AiError: AiError: ${nested} (${REQUEST_ID})`)],
    [400, envelope(5006, "AiError: unknown question type secret-things")],
  ])(
    "a %i is upstream_error at that status, never failed over, reason not shown",
    (status, body) => {
      const found = failed({ status, body, at: enveloped });
      expect(found).toMatchObject({
        refusal: { class: "upstream_error", status, retryable: false, upstreamStatus: status },
        failover: false,
        strike: "neutral",
      });
      expect(found.refusal.message).not.toMatch(/secret|invalid input/i);
    },
  );
});

describe("a second envelope inside the message", () => {
  test.each([
    ["AiError: AiError: ", ` (${REQUEST_ID})`],
    ["", ""],
  ])("is opened: its code and message count (%j before it)", (before, after) => {
    const inner = JSON.stringify(envelope(5021, "The estimate (70000) is above 65536"));
    const found = failed({
      status: 413,
      body: envelope(5012, before + inner + after),
      at: enveloped,
    });
    expect(found.refusal).toMatchObject({
      class: "context_overflow",
      message: "The estimate (70000) is above 65536",
    });
  });

  test("a message that only looks like one stays a message", () => {
    const found = failed({ status: 413, body: envelope(5021, "a {state} of 70000 tokens") });
    expect(found.refusal.message).toBe("a {state} of 70000 tokens");
  });
});

describe("a failure in the form of a 200", () => {
  test("is upstream_error 502 without a known code, fails over and counts", () => {
    for (const body of [envelope(5012, "no"), { success: false }, { success: false, errors: [] }]) {
      expect(failed({ status: 200, body, at: enveloped })).toMatchObject({
        refusal: { class: "upstream_error", status: 502, upstreamStatus: 200 },
        failover: true,
        strike: "strike",
      });
    }
  });

  test.each([
    [3036, "model_unavailable", 503, "neutral"],
    [4006, "model_unavailable", 503, "neutral"],
    [3040, "rate_limit", 429, "neutral"],
    [5021, "context_overflow", 413, "neutral"],
    [10000, "model_unavailable", 503, "strike"],
    [5006, "upstream_error", 400, "neutral"],
    [3007, "upstream_error", 504, "timeout"],
  ])("code %i reads as the status it means: %s %i", (code, cls, status, strike) => {
    const found = failed({ status: 200, body: envelope(code, "no"), at: enveloped });
    expect(found).toMatchObject({ refusal: { class: cls, status, upstreamStatus: 200 }, strike });
  });

  test("is read like a failed status if it is an error object without an envelope", () => {
    const body = { error: { code: 429, message: "slow down" } };
    expect(failed({ status: 200, body }).refusal.class).toBe("rate_limit");
  });

  test.each([
    ["no envelope", { answers: {} }, enveloped],
    ["an envelope without a result", { success: true, result: [] }, enveloped],
    ["no JSON", "<html></html>", enveloped],
    ["no error", { answers: {} }, plain],
  ])("%s is an answer that cannot be represented: 502, not failed over, counts", (_, body, at) => {
    expect(failed({ status: 200, body, at })).toMatchObject({
      refusal: { class: "gateway_error", status: 502 },
      failover: false,
      strike: "strike",
    });
  });
});
