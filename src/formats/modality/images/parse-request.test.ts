import * as fc from "fast-check";
import { describe, expect, test } from "vitest";

import {
  buildBody,
  readBad,
  readBody,
  readGood,
} from "../../../../test/fixtures/images/image-kit.ts";

describe("a body that is accepted", () => {
  test("requests n images, one if n is absent or null, and no output tokens", () => {
    expect(readGood({})).toMatchObject({
      modelId: "acme/test-1",
      stream: false,
      count: 1,
      outputTokens: 0,
      droppedParams: [],
      controls: { allowFallbacks: true, requireParameters: false, connections: "prefer" },
    });
    expect([1, 2, 3, 4].map((n) => readGood({ n }).count)).toEqual([1, 2, 3, 4]);
    expect(readGood({ n: null }).count).toBe(1);
  });

  test("is estimated at a token for each of its bytes", () => {
    const body = buildBody({ prompt: "ein rotes Fahrrad 🚲 vor weißer Wand" });
    expect(readGood(body.toString()).estimatedInputTokens).toBe(body.length);
  });

  test("loses the routing fields of other gateways, and each is reported as dropped", () => {
    const members = { transforms: [], models: ["a", "b"], route: "fallback" };
    expect(readGood(members).droppedParams).toEqual(["route", "models", "transforms"]);
  });

  test("may choose providers", () => {
    const provider = { only: ["lab-a"], allow_fallbacks: false };
    const controls = { only: ["lab-a"], allowFallbacks: false };
    expect(readGood({ provider }).controls).toMatchObject(controls);
  });

  test("may have a prompt of 32,000 characters, however many bytes they are", () => {
    for (const letter of ["a", "é", "漢", "🚲"]) {
      expect(readGood({ prompt: letter.repeat(32_000) }).count).toBe(1);
    }
  });
});

/** Members and the beginning of the message that refuses them, before any listing is checked. */
const REFUSED: readonly (readonly [Readonly<Record<string, unknown>>, string])[] = [
  [{ model: undefined }, "model is missing; add it"],
  [{ model: 7 }, "model must be a non-empty string"],
  [{ prompt: undefined }, "prompt is missing; add it"],
  [{ prompt: ["a bicycle"] }, "prompt must be a non-empty string"],
  [{ prompt: "🚲".repeat(32_001) }, "prompt has 32001 characters; shorten it to at most 32000"],
  [{ n: 0 }, "n must be a whole number from 1 to 4"],
  [{ n: 5 }, "n must be a whole number from 1 to 4"],
  [{ n: "2" }, "n must be a whole number from 1 to 4"],
  [{ stream: true }, "stream must be false"],
  [{ partial_images: 1 }, "partial_images must be 0"],
  [{ response_format: "url" }, 'response_format must be "b64_json"'],
  ...["image", "images", "mask", "image_url", "image_urls", "input_image"].map(
    (name) => [{ [name]: "data:image/png;base64,AA==" }, `${name} is not accepted`] as const,
  ),
  ...["input_reference", "input_references", "reference_images"].map(
    (name) => [{ [name]: [{ type: "image_url" }] }, `${name} is not accepted`] as const,
  ),
  ...["api_key", "base_url", "connection_id", "baseURL", "url", "headers"].map(
    (name) => [{ [name]: "x" }, `${name} is not accepted: a request cannot carry`] as const,
  ),
  [{ provider: { api_key: "x" } }, "provider.api_key is not accepted"],
  [{ provider: { sort: "price" } }, "provider.sort is not a known field"],
  [{ provider: "lab-a" }, "provider must be an object"],
  [{ user: 7 }, "user must be a string"],
  [{ metadata: "x" }, "metadata must be an object"],
];

describe("a body that is refused for every provider", () => {
  test.each(REFUSED)("with %j is refused: %s", (members, message) => {
    const refused = readBad(members);
    expect(refused).toMatchObject({ class: "invalid_request", status: 400, retryable: false });
    expect(refused.origin).toBeUndefined();
    expect(refused.message.startsWith(message)).toBe(true);
  });

  test.each([
    ["is not JSON", "a red bicycle"],
    ["is not a JSON object", '["a red bicycle"]'],
    ["has the key model twice", '{"model":"a","model":"b","prompt":"p"}'],
    ["has the key size twice, escaped", '{"model":"a","prompt":"p","size":"1","s\\u0069ze":"2"}'],
  ])("%s", (_what, body) => {
    expect(readBad(body)).toMatchObject({ class: "invalid_request", status: 400 });
  });

  test("is refused for its first fault in the order credentials, provider, stream, prompt", () => {
    const members = { model: undefined, prompt: 7, n: 9, stream: true, apiKey: "sk-1" };
    expect(readBad(members).message).toMatch(/^apiKey is not accepted/);
    const controls = { ...members, apiKey: undefined, provider: { sort: "price" } };
    expect(readBad(controls).message).toMatch(/^provider\.sort/);
    expect(readBad({ prompt: 7, n: 9, stream: true }).message).toMatch(/^stream/);
    expect(readBad({ prompt: 7, n: 9 }).message).toMatch(/^prompt/);
  });
});

test("whatever bytes come, they are a request or a 400 that says why", () => {
  const value = fc.oneof(fc.jsonValue(), fc.constantFrom("url", "b64_json", "1024x1024", 1, 4));
  const name = fc.oneof(
    fc.string(),
    fc.constantFrom("model", "prompt", "n", "stream", "response_format", "provider", "image"),
  );
  const body = fc
    .dictionary(name, value)
    .map((members) => Buffer.from(JSON.stringify({ model: "m", prompt: "p", ...members })));
  const bytes = fc.uint8Array({ maxLength: 200 }).map((each) => Buffer.from(each));
  fc.assert(
    fc.property(fc.oneof(body, bytes), (sent) => {
      const read = readBody(sent);
      const outcome = read.ok ? read.request.count : read.refusal.class;
      expect([1, 2, 3, 4, "invalid_request"]).toContain(outcome);
      expect(read.ok || (read.refusal.status === 400 && read.refusal.message !== "")).toBe(true);
    }),
  );
});
