import { describe, expect, test } from "vitest";
import { classifyFailure } from "./classify-failure.ts";
import type { UpstreamFailure } from "./failures.ts";

function failed(
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): UpstreamFailure {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  return classifyFailure({ status, headers, body: Buffer.from(text) });
}

const openai = (code: string | null, message: string, type = "invalid_request_error"): object => ({
  error: { message, type, param: "messages", code },
});
const anthropic = (type: string, message: string): object => ({
  type: "error",
  error: { type, message },
});

describe("context overflow, in the wording of every provider", () => {
  test.each([
    [
      "OpenAI",
      400,
      openai(
        "context_length_exceeded",
        "This model's maximum context length is 128000 tokens. However, your messages resulted in 140000 tokens. Please shorten.",
      ),
    ],
    ["OpenAI, newer", 400, openai(null, "Your input exceeds the context window of this model.")],
    [
      "Anthropic",
      400,
      anthropic("invalid_request_error", "prompt is too long: 208310 tokens > 200000 maximum"),
    ],
    [
      "Anthropic with the bound",
      400,
      anthropic(
        "invalid_request_error",
        "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000",
      ),
    ],
    [
      "vLLM, flat",
      400,
      {
        object: "error",
        message: "This model's maximum context length is 4096 tokens. However, you requested 5000",
        type: "BadRequestError",
        code: 400,
      },
    ],
    [
      "vLLM, bound",
      400,
      {
        error: {
          message:
            "'max_tokens' or 'max_completion_tokens' is too large: 9000. This model's maximum context is 4096 and your request has 100 input tokens",
          code: 400,
        },
      },
    ],
    [
      "Mistral",
      400,
      {
        object: "error",
        message:
          "Prompt contains 40000 tokens, too large for model with 32768 maximum context length",
        type: "invalid_request_error",
      },
    ],
    ["Together", 422, openai(null, "`inputs` tokens + `max_new_tokens` must be <= 8193")],
    [
      "Fireworks",
      400,
      openai(null, "The prompt is too long: 9000, model maximum context length: 8192"),
    ],
    [
      "xAI",
      400,
      {
        code: "Client specified an invalid argument",
        error:
          "This model's maximum prompt length is 131072 but the request contains 140000 tokens.",
      },
    ],
    [
      "Gemini-compatible",
      400,
      [
        {
          error: {
            code: 400,
            message:
              "The input token count (1200000) exceeds the maximum number of tokens allowed (1048575).",
            status: "INVALID_ARGUMENT",
          },
        },
      ],
    ],
    ["Kimi", 400, openai(null, "Your request exceeded model token limit: 8192")],
    ["MiniMax", 400, openai(null, "invalid params, context window exceeds limit")],
    [
      "llama.cpp",
      400,
      {
        error: {
          code: 400,
          type: "exceed_context_size_error",
          message: "the request exceeds the available context size, try increasing it",
        },
      },
    ],
    [
      "LM Studio",
      400,
      { error: "The number of tokens is greater than the context length of the model" },
    ],
    [
      "Copilot",
      400,
      openai(
        "model_max_prompt_tokens_exceeded",
        "prompt token count of 90000 exceeds the limit of 64000",
      ),
    ],
    ["Bedrock", 400, { message: "Input is too long for requested model." }],
    [
      "a message over its own bound",
      400,
      openai("string_above_max_length", "Invalid 'messages[0].content': string too long."),
    ],
  ])("%s", (_provider, status, body) => {
    const found = failed(status, body);
    expect(found.refusal).toMatchObject({
      class: "context_overflow",
      status,
      upstreamStatus: status,
    });
    expect(found).toMatchObject({ failover: false, strike: "neutral" });
    expect(found.refusal.message).toMatch(/\S/);
  });

  test("keeps both numbers of the sentence", () => {
    const errorText =
      "maximum context length is 10 tokens. However, you sent 12 tokens. Now buy more.";
    const found = failed(400, openai(null, `This model's ${errorText}`));
    expect(found.refusal.message).toBe(
      "This model's maximum context length is 10 tokens; however, you sent 12 tokens.",
    );
  });

  test("does not include a rate limit that mentions tokens", () => {
    const errorText =
      "Request too large for model on tokens per minute (TPM): Limit 6000, Requested 9000";
    expect(failed(413, openai("rate_limit_exceeded", errorText, "tokens")).refusal.class).toBe(
      "rate_limit",
    );
    expect(
      failed(400, openai(null, "Too many requests: maximum context length is 5")).refusal.class,
    ).toBe("rate_limit");
  });

  test("does not include an output bound that is too large alone", () => {
    const errorText =
      "max_tokens: 99999 > 8192, which is the maximum allowed number of output tokens";
    expect(failed(400, anthropic("invalid_request_error", errorText)).refusal.class).toBe(
      "upstream_error",
    );
  });
});

describe("content policy comes before the account rule", () => {
  test.each([
    [
      "OpenAI",
      400,
      openai(
        "content_policy_violation",
        "Your request was rejected as a result of our safety system.",
      ),
    ],
    [
      "OpenAI, reasoning",
      400,
      openai(
        "invalid_prompt",
        "Invalid prompt: your prompt was flagged as potentially violating our usage policy.",
      ),
    ],
    [
      "Azure",
      400,
      {
        error: {
          code: "content_filter",
          status: 400,
          message: "The response was filtered",
          innererror: { code: "ResponsibleAIPolicyViolation" },
        },
      },
    ],
    ["Azure, by message", 400, openai(null, "triggering Azure OpenAI's content management policy")],
    [
      "Anthropic",
      400,
      anthropic("invalid_request_error", "Output blocked by content filtering policy"),
    ],
    [
      "OpenRouter",
      403,
      {
        error: {
          code: 403,
          message: "Your chosen model requires moderation and your input was flagged",
          metadata: { reasons: ["violence"], flagged_input: "x" },
        },
      },
    ],
    [
      "Qwen",
      400,
      openai("data_inspection_failed", "Input data may contain inappropriate content."),
    ],
    ["DeepSeek", 400, openai("invalid_request_error", "Content Exists Risk")],
  ])("%s", (_provider, status, body) => {
    expect(failed(status, body)).toMatchObject({
      refusal: { class: "content_policy", status, upstreamStatus: status, retryable: false },
      failover: false,
      strike: "neutral",
    });
  });

  test("except for an account that was closed for breaking a policy", () => {
    const errorText = "This organization has been disabled for violating our usage policy";
    expect(failed(403, anthropic("permission_error", errorText)).refusal.class).toBe("auth");
  });
});

describe("two parts of one sentence", () => {
  test.each([
    ["The prompt violates, as far as can be told, the content policies.", "content_policy"],
    ["This violates nothing. See our policy.", "upstream_error"],
    [`It violates ${"x".repeat(200)} policy.`, "upstream_error"],
  ])("%j", (errorText, cls) => {
    expect(failed(400, anthropic("invalid_request_error", errorText)).refusal.class).toBe(cls);
  });
});
