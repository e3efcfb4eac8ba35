import { describe, expect, test } from "vitest";
import { classifyEmbeddedError, classifyFailure } from "./classify-failure.ts";
import type { UpstreamFailure } from "./failures.ts";

function failed(status: number, body: object | string): UpstreamFailure {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  return classifyFailure({ status, headers: {}, body: Buffer.from(text) });
}

const refused = (message: string, code: string | null = null, more: object = {}): object => ({
  error: { message, type: "invalid_request_error", param: "messages", code, ...more },
});

describe("context overflow", () => {
  const OpenAI = "This model's maximum context length is 128000 tokens. However, you sent 140000.";

  test.each([
    ["OpenAI, DeepSeek, OpenRouter", OpenAI],
    ["OpenAI, newer", "Your input exceeds the context window of this model."],
    ["Anthropic", "prompt is too long: 208310 tokens > 200000 maximum"],
    ["Anthropic's bound", "input length and `max_tokens` exceed context limit: 19 + 20 > 20"],
    ["Groq", "Please reduce the length of the messages or completion."],
    ["vLLM", "'max_tokens' is too large: 9000. Your request has 100 input tokens"],
    ["Mistral", "Prompt of 40 tokens, too large for model with 32 maximum context length"],
    ["Together", "`inputs` tokens + `max_new_tokens` must be <= 8193"],
    ["Fireworks", "The prompt: 9000, model maximum context length: 8192"],
    ["xAI", "This model's maximum prompt length is 131072 but the request contains 140000"],
    ["Gemini", "The input token count (12) exceeds the maximum number of tokens allowed (10)."],
    ["Kimi", "Your request exceeded model token limit: 8192"],
    ["MiniMax", "invalid params, context window exceeds limit"],
    ["llama.cpp", "the request exceeds the available context size, try increasing it"],
    ["LM Studio", "The number of tokens is greater than the context length of the model"],
    ["Copilot", "prompt token count of 90000 exceeds the limit of 64000"],
    ["Bedrock", "Input is too long for requested model."],
    ["Z.ai", "Prompt exceeds max length"],
    ["Z.ai, an older code", "tokens in request more than max tokens allowed"],
    ["Qwen", "<400> InternalError.Algo: Range of input length should be [1, 204800]"],
    ["SGLang", "Input length (160062 tokens) exceeds the maximum allowed length (59862 tokens)"],
    ["Poolside", "Input length 131393 exceeds the maximum allowed input length of 131040 tokens."],
    ["Together, SGLang", "The input (250 tokens) is longer than the model's context length (200)."],
    [
      "Cohere",
      "too many tokens: total number of tokens in the prompt cannot exceed 4 - received 9",
    ],
    ["Cohere's size", "too many tokens: size limit exceeded by 11326 tokens."],
  ])("is found in the words of %s: %s", (_provider, message) => {
    const found = failed(400, refused(message));
    const refusal = { class: "context_overflow", status: 400, upstreamStatus: 400 };
    expect(found).toMatchObject({ refusal, failover: false, strike: "neutral" });
    expect(found.refusal.message).toMatch(/\S/);
  });

  test.each<[string, number, object | string]>([
    ["a code", 400, refused("no", "context_length_exceeded")],
    ["a type", 400, { error: { code: 400, type: "exceed_context_size_error", message: "no" } }],
    ["the code of a string that is too long", 400, refused("too long", "string_above_max_length")],
    ["Z.ai's code", 400, { error: { code: "1261", message: "no" } }],
    ["a plain text", 400, "<400> InternalError: Range of input length should be [1, 9]"],
    ["a flat body", 400, { object: "error", message: OpenAI, code: 400 }],
    ["an error that is a text", 400, { code: "Invalid argument", error: OpenAI }],
    ["a list of errors", 400, [{ error: { code: 400, message: OpenAI } }]],
    ["a message with another status than 400", 422, refused(OpenAI)],
  ])("is found in %s", (_form, status, body) => {
    expect(failed(status, body).refusal).toMatchObject({ class: "context_overflow", status });
  });

  test("keeps both token counts of the provider's message", () => {
    const found = failed(400, refused(`${OpenAI} Now buy more.`));
    expect(found.refusal.message).toBe(
      "This model's maximum context length is 128000 tokens; however, you sent 140000.",
    );
  });

  test.each<[string, object | string]>([
    ["a text", OpenAI],
    ["an error of OpenAI", { error: { message: OpenAI } }],
    ["an error in a list", [{ error: { code: 400, message: OpenAI } }]],
    ["a flat error", { message: OpenAI, type: "invalid_request_error" }],
  ])("keeps both token counts of %s that OpenRouter passes on", (_form, body) => {
    const raw = typeof body === "string" ? body : JSON.stringify(body);
    const metadata = { raw, provider_name: "OpenAI" };
    const passed = { error: { message: "Provider returned error", code: 400, metadata } };
    for (const found of [failed(400, passed), classifyEmbeddedError(passed)]) {
      expect(found.refusal).toMatchObject({
        class: "context_overflow",
        message: "This model's maximum context length is 128000 tokens; however, you sent 140000.",
      });
    }
  });

  test.each([
    [413, "tokens per minute (TPM): Limit 6000, Requested 9000", "rate_limit"],
    [400, "Too many requests: maximum context length is 5", "rate_limit"],
    [400, "max_tokens: 99999 > 8192, the maximum allowed number of output", "upstream_error"],
    [400, "too many tokens: max tokens must be less than or equal to 4096", "upstream_error"],
    [400, "Range of max_tokens should be [1, 8192]", "upstream_error"],
    [400, "stop: input length exceeds the maximum allowed 4", "upstream_error"],
  ])("is not assumed for a %i that says %j", (status, message, cls) => {
    expect(failed(status, refused(message)).refusal.class).toBe(cls);
  });
});

const MODERATED: readonly (readonly [string, object])[] = [
  ["OpenAI", refused("rejected as a result of our safety system", "content_policy_violation")],
  ["OpenAI, reasoning", refused("flagged as potentially violating our usage policy.")],
  ["Azure", refused("The response was filtered", "content_filter")],
  ["Azure, inner code", { error: { innererror: { code: "ResponsibleAIPolicyViolation" } } }],
  ["Azure, by message", refused("triggering Azure OpenAI's content management policy")],
  ["Anthropic", refused("Output blocked by content filtering policy")],
  ["OpenRouter", { error: { message: "no", metadata: { flagged_input: "x" } } }],
  ["OpenRouter, by message", refused("Your chosen model requires moderation")],
  ["Qwen", refused("no", "data_inspection_failed")],
  ["Qwen, by message", refused("Input data may contain inappropriate content.")],
  ["DeepSeek", refused("Content Exists Risk")],
  ["OpenAI, by message", refused("we've limited access to this content for safety reasons")],
  ["xAI", { code: "no permission", error: "Content violates usage guidelines. Team: t" }],
  ["Z.ai", { error: { code: "1301", message: "no" } }],
  ["MiniMax, the prompt", { error: { type: "x", message: "input new_sensitive (1026)" } }],
  ["MiniMax, the answer", { error: { type: "x", message: "output new_sensitive (1027)" } }],
  ["xAI, images", { error: "Generated image rejected by content moderation." }],
  ["images", refused("no", "moderation_blocked")],
  ["images, by type", { error: { type: "content_policy", message: "no" } }],
  ["images, by a safety code", refused("no", "safety_violation")],
  ["images, by a content code", refused("no", "sexual_content")],
  ["images, by message", refused("The prompt was blocked by our content filters")],
  ["images, in one text", { error: "NSFW content was detected" }],
];

describe("refused content", () => {
  test.each(MODERATED)("of %s keeps its status, without failover or strike", (_host, body) => {
    for (const status of [400, 403, 422]) {
      const refusal = { class: "content_policy", status, upstreamStatus: status, retryable: false };
      expect(failed(status, body)).toMatchObject({ refusal, failover: false, strike: "neutral" });
    }
  });

  test("inside a 200 is a 400", () => {
    const blocked = refused("no", "moderation_blocked");
    for (const body of [blocked, { error: { message: "output new_sensitive (1027)" } }]) {
      const found = classifyEmbeddedError(body);
      const refusal = { class: "content_policy", status: 400, upstreamStatus: 200 };
      expect(found).toMatchObject({ refusal, failover: false, strike: "neutral" });
    }
  });

  test.each(["", "<html>Unavailable For Legal Reasons</html>"])("is any 451: %j", (body) => {
    expect(failed(451, body).refusal).toMatchObject({ class: "content_policy", status: 451 });
  });

  test.each(["", { message: "blocked: a deny-listed token" }])(
    "is a 498 that is not about capacity, of Cohere: %j",
    (body) => {
      const refusal = { class: "content_policy", status: 498 };
      const found = failed(498, body);
      expect(found).toMatchObject({ refusal, failover: false, strike: "neutral" });
      expect(found).not.toHaveProperty("coolSeconds");
    },
  );

  test.each([
    [401, "auth"],
    [402, "auth"],
    [429, "rate_limit"],
    [500, "upstream_error"],
  ])("is not assumed for a %i, whatever its message, which is classified as %s", (status, cls) => {
    const answer = failed(status, refused("our safety system"));
    expect(answer).toMatchObject({ refusal: { class: cls }, failover: true });
  });

  test.each([
    ["The prompt violates, as far as can be told, the content policies.", "content_policy"],
    ["This violates nothing. See our policy.", "upstream_error"],
    [`It violates ${"x".repeat(200)} policy.`, "upstream_error"],
    ["This organization has been disabled for violating our usage policy", "auth"],
    ["The field input new_sensitive is unknown.", "upstream_error"],
    ["max_tokens is above the output (1027) of the model.", "upstream_error"],
  ])("is a policy violation in one sentence, not a disabled account: %j is %s", (message, cls) => {
    expect(failed(400, refused(message)).refusal.class).toBe(cls);
  });
});
