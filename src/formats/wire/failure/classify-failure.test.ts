import * as fc from "fast-check";
import { describe, expect, test } from "vitest";

import { PROVIDER_MESSAGE_CHARS_MAX } from "../../../kernel/core/constants.ts";
import { REFUSALS } from "../../../kernel/core/refusals.ts";
import { anthropicMessages } from "../anthropic-messages/index.ts";
import { classifyEmbeddedError, classifyFailure } from "./classify-failure.ts";
import { type UpstreamFailure } from "./failures.ts";

function failed(
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): UpstreamFailure {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  return classifyFailure({ status, headers, body: Buffer.from(text) });
}

const openai = (code: string | null, message: string): object => ({
  error: { message, type: "invalid_request_error", param: "messages", code },
});
const anthropic = (type: string, message: string): object => ({
  type: "error",
  error: { type, message },
});

const google = (message: string, details: readonly object[] = []): object => ({
  error: { code: 400, message, status: "INVALID_ARGUMENT", details },
});
const terminated = (type: string | null, message: string): object => ({
  error: { message, type, param: null, code: null },
});

/** An error body in the message of a proxy. */
const NESTED = `litellm.BadRequestError: AnthropicException - ${JSON.stringify(
  anthropic("invalid_request_error", "Your credit balance is too low to access the API."),
)}`;

describe("the marketplace's own account", () => {
  test.each([
    [401, 401, openai("invalid_api_key", "Incorrect API key provided: sk-abc")],
    [402, 402, openai("invalid_request_error", "Insufficient Balance")],
    [403, 403, anthropic("permission_error", "Your API key does not have permission")],
    [400, 402, openai(null, "Your credit balance is too low to access the API.")],
    [400, 402, openai("400", NESTED)],
    [400, 402, openai("400", `${NESTED}. Received Model Group=claude`)],
    [400, 402, { error: { message: 'The field "x', error: { message: "Insufficient balance" } } }],
    [400, 402, openai(null, "You have reached your specified API usage limits.")],
    [400, 401, [{ error: { code: 400, message: "API key not valid.", status: "INVALID" } }]],
    [403, 403, "<html>Forbidden</html>"],
    [412, 401, openai("PRECONDITION_FAILED", "Account acme is suspended, possibly due to debts")],
    [412, 402, openai("PRECONDITION_FAILED", "The monthly spending limit is reached")],
    [400, 402, openai("Arrearage", "Access denied, please make sure the account can pay.")],
    [400, 402, openai(null, "Access denied, please make sure your account is in good standing.")],
    [400, 401, openai("organization_restricted", "Please reach out to support.")],
    [400, 401, openai(null, "Organization has been restricted. Please reach out to support.")],
    [400, 401, openai("model_terms_required", "The model `m` requires terms acceptance.")],
    [400, 401, google("API key expired. Please renew the API key.")],
    [400, 401, google("API Key not found. Please pass a valid API key.")],
    [400, 401, google("no", [{ links: [] }, { reason: "API_KEY_INVALID" }])],
    [400, 401, google("User location is not supported for the API use.")],
    [400, 402, google("Gemini API free tier is not available in your country.")],
    [400, 401, openai(null, "Your organization must be verified to stream this model.")],
    [403, 403, terminated("access_terminated", "This was a violation of our policies")],
    [400, 401, terminated(null, "Your access was terminated due to violation of our policies")],
  ])("an upstream %i is auth %i with failover and strike: %j", (upstreamStatus, status, body) => {
    const found = failed(upstreamStatus, body);
    const refusal = {
      class: "auth",
      status,
      origin: "upstream",
      upstreamStatus,
      retryable: false,
    };
    expect(found).toMatchObject({ refusal, failover: true, strike: "strike" });
    expect(found.refusal.message).not.toMatch(/sk-|invalid api key|balance/i);
  });
});

const tooLarge = (counts: string): object =>
  openai(
    "rate_limit_exceeded",
    `Request too large for model \`m\` in organization \`org_1\` on tokens per minute (TPM): ${counts}, please reduce your message size and try again.`,
  );

test.each<[number, object, Record<string, string>, number]>([
  [413, tooLarge("Limit 12000, Used 9000, Requested 14137"), {}, 5],
  [413, tooLarge("Limit 12000, Requested 9000"), { "retry-after": "7" }, 7],
  [429, tooLarge("Limit 12000, Requested 14137"), {}, 5],
  [429, openai("rate_limit_exceeded", "slow down"), { "retry-after": "7" }, 7],
  [429, openai("insufficient_quota", "You exceeded your current quota"), {}, 60],
  [498, openai("capacity_exceeded", "flex tier"), {}, 5],
  [498, openai(null, "Flex tier capacity exceeded"), {}, 5],
])("an upstream %i %j is a rate limit that cools the pool", (upstream, body, headers, seconds) => {
  const limited = { class: "rate_limit", status: 429, upstreamStatus: upstream };
  expect(failed(upstream, body, headers)).toMatchObject({
    refusal: { ...limited, retryAfterSeconds: seconds },
    failover: true,
    strike: "neutral",
    coolSeconds: seconds,
  });
});

test("a request above the limit of a whole minute fails over, and does not pause the model for others", () => {
  const found = failed(413, tooLarge("Limit 12000, Requested 14137"), { "retry-after": "9" });
  const refusal = { class: "rate_limit", status: 429, upstreamStatus: 413 };
  expect(found).toMatchObject({ refusal, failover: true, strike: "neutral" });
  expect(found).not.toHaveProperty("coolSeconds");
});

describe("provider faults", () => {
  test.each([
    [500, 500],
    [503, 503],
    [504, 504],
    [529, 503],
    [599, 502],
    [302, 502],
  ])("with a %i are answered with %i, a failover and a strike", (upstreamStatus, status) => {
    const refusal = { class: "upstream_error", status, upstreamStatus, origin: "upstream" };
    expect(failed(upstreamStatus, "<html>oops</html>")).toMatchObject({
      refusal: { ...refusal, retryable: true },
      failover: true,
      strike: "strike",
    });
  });

  test("answer a 503 with the provider's Retry-After, or with one of the gateway", () => {
    expect(failed(503, "", { "retry-after": "12" }).refusal.retryAfterSeconds).toBe(12);
    expect(failed(503, "").refusal.retryAfterSeconds).toBeGreaterThan(0);
  });

  test.each([500, 503, 529])(
    "with a %i ignore rate-limit reset headers, which some providers always send",
    (status) => {
      const headers = {
        "x-ratelimit-remaining-requests": "99",
        "x-ratelimit-reset-requests": "1m",
      };
      const { retryAfterSeconds } = failed(status, "", headers).refusal;
      expect(retryAfterSeconds).toBe(failed(status, "").refusal.retryAfterSeconds);
      expect(failed(429, "", headers).refusal.retryAfterSeconds).toBe(60);
      const limited = failed(400, openai("rate_limit_exceeded", "slow down"), headers);
      expect(limited.coolSeconds).toBe(60);
    },
  );

  test("answer a model that the provider no longer serves as 502, and fail over", () => {
    for (const status of [404, 400]) {
      expect(failed(status, openai("model_not_found", "The model does not exist"))).toMatchObject({
        refusal: { class: "model_unavailable", status: 502, upstreamStatus: status },
        failover: true,
      });
    }
  });

  test.each<[string, number, object]>([
    ["Groq's code", 400, openai("model_decommissioned", "no")],
    ["Groq's words", 400, openai(null, "The model `a-3.1` has been decommissioned and is gone.")],
    ["DeepSeek's words", 400, openai("invalid_request_error", "Model Not Exist")],
    ["Mistral's type", 400, { message: "Invalid model: a", type: "invalid_model", code: "1500" }],
    ["OpenRouter's words", 400, openai("400", "vendor/a-1 is not a valid model ID")],
    ["Z.ai's code", 400, { error: { code: "1211", message: "Unknown Model, please check" } }],
    [
      "NVIDIA's status",
      410,
      { title: "Gone", detail: "The model 'a' has reached its end of life" },
    ],
  ])("find a model that is gone in %s, and fail over without a strike", (_what, status, body) => {
    const refusal = { class: "model_unavailable", status: 502 };
    const outcome = { failover: true, strike: "neutral" };
    expect(failed(status, body)).toMatchObject({ refusal, ...outcome });
  });

  test.each([
    ["The `model` of this tool does not exist: check its name.", "upstream_error"],
    ["messages.0: 'Model Not Exist' is not a role", "upstream_error"],
    ["Tool 'old' has been decommissioned", "upstream_error"],
    ["Model Not Exist, and the prompt is too long", "context_overflow"],
  ])("do not find a model that is gone in %j, which is %s", (message, cls) => {
    expect(failed(400, openai(null, message)).refusal.class).toBe(cls);
  });

  test("with the status 408 are answered with 504 and count as a timeout", () => {
    expect(failed(408, "")).toMatchObject({
      refusal: { class: "upstream_error", status: 504, upstreamStatus: 408 },
      failover: true,
      strike: "timeout",
    });
  });

  const rejections = [400, 409, 412, 413, 422, 424];
  test.each(rejections)("answer a plain %i as it is, without failover or strike", (status) => {
    const found = failed(status, { detail: [{ msg: "extra_forbidden: store" }] });
    const refusal = { class: "upstream_error", status, upstreamStatus: status, retryable: false };
    expect(found).toMatchObject({ refusal, failover: false, strike: "neutral" });
    const quotes = status === 400 || status === 422;
    expect(found.refusal.message.includes("extra_forbidden: store")).toBe(quotes);
  });
});

describe("errors inside a 200", () => {
  test.each([
    ["overloaded_error", "upstream_error", 503],
    ["api_error", "upstream_error", 500],
    ["rate_limit_error", "rate_limit", 429],
    ["invalid_request_error", "upstream_error", 400],
    ["authentication_error", "auth", 401],
    ["permission_error", "auth", 403],
    ["not_found_error", "model_unavailable", 502],
    ["request_too_large", "upstream_error", 413],
    ["timeout_error", "upstream_error", 504],
    ["something_new", "upstream_error", 502],
    ["__proto__", "upstream_error", 502],
    ["constructor", "upstream_error", 502],
  ])("of the type %s are reported as %s %i", (type, cls, status) => {
    const { refusal } = classifyEmbeddedError(anthropic(type, "secret"));
    expect(refusal).toMatchObject({ class: cls, status, upstreamStatus: 200 });
    expect(refusal.message).not.toContain("secret");
  });

  test.each(["<html>hi</html>", "", '{"hello":1}', '{"error":null}'])(
    "a 200 with the body %j cannot be represented, and does not fail over",
    (body) => {
      const refusal = { class: "gateway_error", status: 502, upstreamStatus: 200 };
      expect(failed(200, body)).toMatchObject({ refusal, failover: false, strike: "strike" });
    },
  );

  test("are classified by a numeric code, and are a 502 without a code", () => {
    const limited = classifyEmbeddedError({ error: { code: 429, message: "x" } });
    expect(limited.refusal.class).toBe("rate_limit");
    expect(classifyEmbeddedError({ error: "boom" }).refusal).toMatchObject({ status: 502 });
  });

  test.each(["model_not_found", "model_decommissioned", "invalid_model", "1211"])(
    "with the code %s are a model that is gone, without a strike",
    (code) => {
      const found = classifyEmbeddedError({ error: { code, message: "no" } });
      expect(found).toMatchObject({ refusal: { class: "model_unavailable" }, strike: "neutral" });
    },
  );
});

test("the message for a caller is bounded and has no id of the provider, whatever it sends", () => {
  const status = fc.oneof(fc.integer({ min: 200, max: 599 }), fc.constantFrom(400, 401, 429, 500));
  const errors = fc.record({ error: fc.dictionary(fc.string(), fc.json()) });
  const body = fc.oneof(
    fc.json(),
    fc.string(),
    errors.map((value) => JSON.stringify(value)),
  );
  fc.assert(
    fc.property(status, body, fc.uuid(), (code, text, canary) => {
      const sent = JSON.stringify({ error: { message: `${canary} ${text}`, code: text } });
      const { refusal } = failed(code, sent);
      expect(Object.keys(REFUSALS)).toContain(refusal.class);
      expect(refusal.status).toBeGreaterThanOrEqual(400);
      expect(refusal.upstreamStatus).toBe(code < 300 ? 200 : code);
      expect(refusal.message).not.toContain(canary);
      expect(refusal.message.length).toBeLessThanOrEqual(PROVIDER_MESSAGE_CHARS_MAX);
    }),
  );
});

describe("a provider that blames the request", () => {
  const rejected = (status: number, message: string): UpstreamFailure =>
    failed(status, openai(null, message));

  test.each([400, 422])("with %i is quoted in one clean sentence", (status) => {
    const errorText = "tools.0.name: must match ^[a-z]+$. See https://x.test/y and org-Abc12345678";
    const { refusal: reported, failover } = rejected(status, errorText);
    const quoted = "the provider refused the request: tools.0.name: must match ^[a-z]+$.";
    expect(reported).toMatchObject({ class: "upstream_error", status, message: quoted });
    expect(failover).toBe(false);
    const body = JSON.parse(anthropicMessages.errorBody(reported, "r")) as object;
    expect(body).toMatchObject({
      error: { type: "invalid_request_error", error_type: "upstream_error" },
    });
  });

  test.each([
    ["In context=('properties', 'rate_limits'), array schema missing items."],
    ["tools[0].parameters.properties[rate_limits].items: missing field."],
    ["tools.0.input_schema.ratelimit.type: Field required"],
    ["rate_limit: Extra inputs are not permitted"],
    ['Arguments are wrong: {"error":{"code":"invalid_api_key","message":"too many requests"}}'],
    ["messages.0: Input tag 'x\ntoo many requests\ny' found using 'type' does not match"],
    ["messages.0.content.0: Input tag 'too many requests' found using 'type' does not match"],
    ["messages.0: Input tag 'x' too many requests 'y' found using 'type' does not match"],
    ["messages.0: Input tag 'too many requests that the provider has cut"],
    ["tools.0: properties[x] too many requests [y]: missing field"],
    ["The account has a field 'disabled', which is not known."],
    ["tool report_violation lacks the property policy_id."],
    ['Invalid value: "spend limit". The field `seed` must be a number.'],
    ["Tool use is restricted to models of this organization."],
    ["The account field is restricted to 64 characters."],
    ["messages.0: Input tag 'Organization has been restricted' does not match"],
    ["messages.0: 'Your organization must be verified' is not a role"],
    ["Value 'API key expired' of `user` is too long"],
    ["The user location of web search must be a country."],
    ["The organization of the tools must be verified by their schema."],
  ])("is not classified by words about limits or accounts in what it quotes: %s", (message) => {
    for (const status of [400, 412, 413, 422]) {
      const found = rejected(status, message);
      const refusal = { class: "upstream_error", status, retryable: false };
      expect(found).toMatchObject({ refusal, failover: false, strike: "neutral" });
      expect(found).not.toHaveProperty("coolSeconds");
    }
  });

  test("is not a rate_limit if those words are in a quotation longer than is read", () => {
    const long = `Input tag 'x' too many requests ${"x".repeat(9_000)}' found`;
    expect(rejected(400, long).refusal.class).toBe("upstream_error");
  });

  test.each([
    ["You've sent too many requests to 'model-a'. Don't retry at once.", "rate_limit"],
    ["The users' rate limit isn't reset yet.", "rate_limit"],
    ["Project 'p' has been suspended.", "auth"],
    ["Your prompt 'x' was blocked by our safety system.", "content_policy"],
  ])("is not assumed for words about limits, accounts or safety: %s", (message, cls) => {
    expect(rejected(400, message).refusal.class).toBe(cls);
  });

  test("is quoted without account names and with fewer than 350 characters", () => {
    const account = rejected(400, "organization 'Acme Inc' or project p-77 may not send seed");
    expect(account.refusal.message).toBe(
      "the provider refused the request: organization [removed] or project [removed] may not send seed",
    );
    expect(rejected(400, "x ".repeat(900)).refusal.message.length).toBeLessThan(350);
  });

  test.each([
    ["<400> InternalError.Algo: Range of max_tokens should be [1, 8192]", true],
    ["<html>The field `seed` is wrong</html>", false],
    [" <!doctype html><p>The field `seed` is wrong", false],
    ["</p>The field `seed` is wrong", false],
  ])("is quoted unless its message is a page: %s", (message, quotes) => {
    const said = rejected(400, message).refusal.message;
    expect(said.includes(`the provider refused the request: ${message}`)).toBe(quotes);
    expect(said.includes("status 400")).toBe(!quotes);
  });

  test("is not quoted from a text that is not UTF-8, but its codes are read from JSON", () => {
    const answered = (text: string) => {
      const body = Buffer.from(text, "latin1");
      return classifyFailure({ status: 400, headers: {}, body }).refusal;
    };
    expect(answered("\u001F\u008B\u00FF max_tokens").message).toContain("with status 400");
    const overflow =
      '{"error":{"message":"trop \u00E9lev\u00E9","code":"context_length_exceeded"}}';
    expect(answered(overflow).class).toBe("context_overflow");
  });

  test.each([
    [
      '{"error":{"message":"seed must be a number"}}',
      "the provider refused the request: seed must",
    ],
    ["seed must be a number", "the provider refused the request: seed must"],
    ['{"error":{"message":"seed must be', "the provider rejected the request with status 400"],
    ["<html>seed must be a number</html>", "the provider rejected the request with status 400"],
    ["", "the provider rejected the request with status 400"],
  ])("is quoted if OpenRouter passes its words on, but no page or JSON: %s", (raw, said) => {
    const error = { message: "Provider returned error", code: 400, metadata: { raw } };
    expect(failed(400, { error }).refusal.message).toContain(said);
  });

  test("without a message, or with another status, gets the gateway's own message", () => {
    const ours = "the provider rejected the request with status";
    expect(rejected(400, "").refusal.message).toContain(ours);
    expect(rejected(409, "seed is bad").refusal.message).toContain(ours);
  });
});
