import { describe, expect, test } from "vitest";

import { classifyEmbeddedError, classifyFailure } from "../../wire/failure/classify-failure.ts";
import type { UpstreamFailure } from "../../wire/failure/failures.ts";

/** The answers of hosts whose moderation refuses a prompt or the image made from it. */
const MODERATED: readonly object[] = [
  { error: { code: "moderation_blocked", type: "image_generation_user_error", message: "no" } },
  { error: { code: "content_policy_violation", type: "invalid_request_error", message: "no" } },
  { error: { code: "content_filter" } },
  { error: { type: "content_policy", message: "no" } },
  { error: { code: "safety_violation", message: "no" } },
  { error: { code: "sexual_content", message: "no" } },
  { error: { message: "Your request was rejected by our safety system." } },
  { error: { message: "The prompt was blocked by our content filters" } },
  { error: "NSFW content was detected" },
];

function failed(status: number, body: object | string): UpstreamFailure {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  return classifyFailure({ status, headers: {}, body: Buffer.from(text) });
}

describe("a moderation refusal keeps the provider's status, is never rerouted and no strike", () => {
  test.each(MODERATED)("%j", (body) => {
    for (const status of [400, 403, 409, 422, 451]) {
      expect(failed(status, body)).toMatchObject({
        refusal: { class: "content_policy", status, upstreamStatus: status, retryable: false },
        failover: false,
        strike: "neutral",
      });
    }
  });

  test.each(["", "<html>Unavailable For Legal Reasons</html>", '{"error":{"message":"no"}}'])(
    "a 451 says it all: %j",
    (body) => {
      expect(failed(451, body).refusal).toMatchObject({ class: "content_policy", status: 451 });
    },
  );

  test.each(MODERATED.slice(0, 8))("inside a 200 it is a 400: %j", (body) => {
    expect(classifyEmbeddedError(body)).toMatchObject({
      refusal: { class: "content_policy", status: 400, upstreamStatus: 200 },
      failover: false,
      strike: "neutral",
    });
  });
});

describe("an answer that only sounds like a moderation refusal is none", () => {
  test.each([
    [401, "auth"],
    [402, "auth"],
    [429, "rate_limit"],
    [500, "upstream_error"],
    [503, "upstream_error"],
  ])("a %i is %s, whatever its message", (status, cls) => {
    const answer = failed(status, MODERATED[0] ?? {});
    expect(answer.refusal.class).toBe(cls);
    expect(answer.failover).toBe(true);
  });

  test("keeps another refusal of the host", () => {
    const refused = failed(400, { error: { code: "invalid_value", message: "Invalid 'size'" } });
    expect(refused.refusal).toMatchObject({ class: "upstream_error", status: 400 });
    expect(refused.failover).toBe(false);
  });
});
