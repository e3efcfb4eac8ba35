import { describe, expect, test } from "vitest";

import type { WireId } from "../../catalog/catalog.ts";
import { publishedSchema } from "../../catalog/manifest/manifest-schema.ts";
import { REFUSALS, type Refusal, refusal, type RefusalClass } from "../../kernel/core/refusals.ts";
import {
  chunks,
  costUsd,
  delta,
  events,
  openStream,
} from "../../../test/fixtures/modality/answer-kit.ts";
import { wires } from "./wires.ts";

const classes = Object.keys(REFUSALS) as RefusalClass[];

test("the manifest schema accepts as a dialect exactly the wires that the gateway has", () => {
  const dialect = { enum: wires.all.map(({ id }) => id) };
  const endpoint = { properties: { dialect: expect.objectContaining(dialect) as unknown } };
  expect(publishedSchema()).toMatchObject({ properties: { endpoint } });
});

test("each wire checks a provider key with a request for /models and its own headers", () => {
  expect(wires.get("wire_a").keyCheck).toEqual({ path: "/models", headers: {} });
  expect(wires.get("wire_b").keyCheck).toEqual({
    path: "/models",
    headers: { "anthropic-version": "2023-06-01" },
  });
});

test.each([
  ["/v1/chat/completions", "wire_a"],
  ["/v1/messages", "wire_b"],
  ["/v1/messages/count_tokens", "wire_b"],
  ["/v1/messagesx", "wire_a"],
])("errors of %s have the shape of %s", (path, id) => {
  expect(wires.ofPath(path).id).toBe(id);
});

const errorOf = (wire: WireId, refused: Refusal) => parse(wires.get(wire).errorBody(refused, "r1"));

describe("wire_a", () => {
  test.each(classes)("a refusal of class %s has the class as code and its generic type", (cls) => {
    const { wireAType: type, retryable } = REFUSALS[cls];
    const message = expect.stringContaining("why");
    const error = { code: cls, message, type, metadata: { error_type: cls, retryable } };
    expect(errorOf("wire_a", refusal(cls, "why"))).toEqual({ error, request_id: "r1" });
  });

  test("an empty balance has insufficient_quota as code and type", () => {
    const error = { code: "insufficient_quota", type: "insufficient_quota" };
    expect(errorOf("wire_a", refusal("insufficient_quota", "no credit"))).toMatchObject({ error });
  });

  test("a bad key is answered exactly as in the specification", () => {
    const bad = refusal("auth", "the key is not valid", { origin: "authorization" });
    const error = {
      code: "auth",
      message: "the key is not valid",
      type: "invalid_request_error",
      metadata: { error_type: "auth", origin: "authorization", retryable: false },
    };
    expect(errorOf("wire_a", bad)).toEqual({ error, request_id: "r1" });
  });

  test("a rate_limit error names the limit's scope, kind and id, and both times", () => {
    const limited = refusal("rate_limit", "slow down", {
      origin: "gateway_admission",
      limit: { scope: "key", kind: "rpm", id: "key:k1" },
      retryAtMs: Date.parse("2026-11-20T12:00:05Z"),
      capResetAtMs: Date.parse("2026-12-01T00:00:00Z"),
    });
    const metadata = {
      error_type: "rate_limit",
      origin: "gateway_admission",
      limit_scope: "key",
      limit_kind: "rpm",
      limit_id: "key:k1",
      retryable: true,
      retry_at: "2026-11-20T12:00:05.000Z",
      reset_at: "2026-12-01T00:00:00.000Z",
    };
    expect(errorOf("wire_a", limited)).toMatchObject({ error: { metadata } });
  });
});

test.each(classes)("on wire_b a refusal of class %s has its type of the refusal table", (cls) => {
  const { wireBType: type, retryable } = REFUSALS[cls];
  const message = expect.stringContaining("why");
  const error = { type, message, error_type: cls, metadata: { retryable } };
  expect(errorOf("wire_b", refusal(cls, "why"))).toEqual({
    type: "error",
    error,
    request_id: "r1",
  });
});

interface ErrorBody {
  readonly error: { readonly message: string };
}

function parse(body: string): ErrorBody {
  return JSON.parse(body) as ErrorBody;
}

test.each([
  ["wire_a", "prompt is too long: 9 > 8", /: 9 > 8 \(context_length_exceeded: .*maximum context/],
  ["wire_a", "context_length_exceeded: 9", /^context_length_exceeded: 9$/],
  ["wire_b", "maximum context length is 8", /^maximum context length is 8 \(prompt is too long\)$/],
  ["wire_b", "prompt is too long: 9 > 8", /^prompt is too long: 9 > 8$/],
] as const)("an overflow has the words that clients of %s look for: %s", (wire, said, expected) => {
  const { error } = errorOf(wire, refusal("context_overflow", said));
  expect(error.message).toMatch(expected);
});

const WIRES = ["wire_a", "wire_b"] as const;
const word = { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "hi" } };
const OUTPUT = {
  wire_a: chunks(delta({ role: "assistant", content: "hi" })),
  wire_b: events({ type: "message_start" }, word),
};
const message = "prompt is too long: 9 tokens > 8 maximum";
const overflow = { type: "error", error: { type: "invalid_request_error", message } };
/** For each wire, how its provider reports a context overflow in a stream that has begun. */
const OVERFLOW = {
  wire_a: chunks({ error: { message: "This model's maximum context length is 8 tokens." } }),
  wire_b: events(overflow),
};

describe.each(WIRES)("an overflow that a provider of %s reports after output", (upstream) => {
  test.each([
    ["wire_a", /context_length_exceeded.*maximum context length/],
    ["wire_b", /prompt is too long/],
  ] as const)("has the words that clients of %s read in the last event", (client, expected) => {
    const bridge = openStream({ client, upstream });
    bridge.push(Buffer.from(OUTPUT[upstream]));
    expect(bridge.takeOutput()).toContain("hi");
    bridge.push(Buffer.from(OVERFLOW[upstream]));
    const reported = bridge.failure?.refusal ?? refusal("gateway_error", "nothing failed");
    expect(reported.class).toBe("context_overflow");
    const last = bridge.fail(reported, costUsd).trimEnd().split("\n\n").at(-1) ?? "";
    const { error } = parse(last.slice(last.indexOf("{")));
    expect(error.message).toMatch(expected);
  });
});
