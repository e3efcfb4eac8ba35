import { describe, expect, test } from "vitest";

import { IMAGE_BYTES_MAX } from "../../../kernel/core/constants.ts";
import type { Refusal } from "../../../kernel/core/refusals.ts";
import { marketModel } from "../../../../test/fixtures/modality/request-kit.ts";
import {
  buildAnswer,
  imageFile,
  imageListing,
  type Members,
  openBridge,
  type Opened,
  PARAMETERS,
  playImages,
  PNG,
} from "../../../../test/fixtures/images/image-kit.ts";

const JPEG = imageFile("jpeg").toString("base64");
const METERED = imageListing(PARAMETERS, { billing: "reported_cost" });

function answered(text: string, opened: Opened = {}): unknown {
  const { bridge, json } = playImages(openBridge(opened), [text]);
  expect(bridge.failure).toBeUndefined();
  expect(bridge.state).toBe("complete");
  return json;
}

function refused(text: string | Buffer, opened: Opened = {}): Refusal {
  const { bridge } = playImages(openBridge(opened), [text]);
  expect(bridge.state).toBe("failed");
  // A failed answer costs nothing, whatever it reports.
  expect([bridge.usage, bridge.reportedCostUsd]).toEqual([undefined, undefined]);
  if (bridge.failure === undefined) throw new Error("a failed bridge says why");
  return bridge.failure.refusal;
}

describe("a complete answer", () => {
  test("has the public format: model, images with media types, options, token counts and cost", () => {
    const options = {
      size: "1024x1024",
      quality: "high",
      background: "opaque",
      output_format: "png",
    };
    const counts = { input_tokens: 21, output_tokens: 8_320, total_tokens: 8_341 };
    const input_tokens_details = { text_tokens: 21, image_tokens: 0 };
    const output_tokens_details = { text_tokens: 0, image_tokens: 8_320 };
    const text = buildAnswer([PNG, JPEG], {
      model: "imager-2",
      id: "img-1",
      debug: "z",
      ...options,
      usage: {
        ...counts,
        input_tokens_details: { ...input_tokens_details, secret: "x" },
        output_tokens_details,
      },
    });
    expect(answered(text, { members: { n: 2 } })).toEqual({
      created: 1_795_000_000,
      model: marketModel,
      data: [
        { b64_json: PNG, media_type: "image/png" },
        { b64_json: JPEG, media_type: "image/jpeg" },
      ],
      ...options,
      usage: { ...counts, input_tokens_details, output_tokens_details, cost: 0.001932 },
    });
  });

  test("is sent whole and once, with nothing before its end", () => {
    const bridge = openBridge();
    expect(bridge).toMatchObject({ state: "waiting", contentType: "application/json" });
    bridge.push(Buffer.from(buildAnswer([PNG])));
    const nothing = ["waiting", undefined, undefined];
    expect([bridge.state, bridge.takeOutput(), bridge.keepAlive()]).toEqual(nothing);
    bridge.end();
    bridge.push(Buffer.from("more"));
    bridge.end();
    expect([bridge.state, bridge.takeOutput()]).toEqual(["complete", undefined]);
    expect([bridge.finish("0")].flat().length).toBeGreaterThan(0);
    expect(bridge.finish("0")).toHaveLength(0);
  });

  test("has the gateway's time if the provider's is missing or invalid", () => {
    for (const created of [undefined, "now", -1, 1.5, null]) {
      expect(answered(buildAnswer([PNG], { created }))).toMatchObject({ created: 1_800_000_000 });
    }
  });

  test("keeps a revised prompt that is not empty, and drops the provider's image URL", () => {
    const item = { url: "https://provider.test/1.png", b64_json: PNG, revised_prompt: "so \ud83d" };
    const text = JSON.stringify({ data: [item] });
    expect(answered(text)).toMatchObject({
      data: [{ b64_json: PNG, media_type: "image/png", revised_prompt: "so \ud83d" }],
    });
    expect(JSON.stringify(answered(text))).not.toContain("provider.test");
    const empty = JSON.stringify({ data: [{ b64_json: PNG, revised_prompt: "" }] });
    expect(answered(empty)).toMatchObject({ data: [{ b64_json: PNG }] });
    expect(JSON.stringify(answered(empty))).not.toContain("revised_prompt");
  });

  test("drops a size of more than 64 characters", () => {
    expect(answered(buildAnswer([PNG], { size: "x".repeat(65) }))).not.toHaveProperty("size");
  });

  test.each([
    ["png", "image/png"],
    ["jpeg", "image/jpeg"],
    ["webp", "image/webp"],
    ["gif", "image/gif"],
    ["oldGif", "image/gif"],
  ] as const)("with a %s has media_type %s, whatever format was requested", (kind, mediaType) => {
    const text = buildAnswer([imageFile(kind).toString("base64")]);
    for (const members of [{}, { output_format: "svg" }, { output_format: "png" }]) {
      expect(answered(text, { members })).toMatchObject({ data: [{ media_type: mediaType }] });
    }
  });

  test("may have an SVG only if the request's output_format is svg", () => {
    for (const kind of ["svg", "declaredSvg"] as const) {
      const text = buildAnswer([imageFile(kind).toString("base64")]);
      const asked = { members: { output_format: "svg" } };
      expect(answered(text, asked)).toMatchObject({ data: [{ media_type: "image/svg+xml" }] });
      expect(refused(text).class).toBe("upstream_error");
    }
  });

  test("may have JSON escapes in its base64 and in the key b64_json", () => {
    const end = Buffer.from("0000fbefbeffffff00", "hex");
    const whole = Buffer.concat([imageFile("png"), end]).toString("base64");
    expect(whole).toMatch(/\+\+\/\/\/\/AA==$/);
    const plain = whole.replaceAll("/", "\\/").replaceAll("+", "\\u002B");
    const careful = plain.replaceAll("=", "\\u003d");
    const text = `{"data":[{"b64\\u005fjson" :\n "${careful}"}],"created":7}`;
    expect(answered(text)).toMatchObject({ created: 7, data: [{ b64_json: whole }] });
  });

  test("may be written with any white space, and begin with a byte order mark", () => {
    const indented = JSON.stringify(JSON.parse(buildAnswer([PNG])), null, 4);
    const pretty = indented.replaceAll(":", " \t:\r\n");
    expect(answered(`\uFEFF \n${pretty}\n\n`)).toMatchObject({ data: [{ b64_json: PNG }] });
  });

  test("has only the images of its data array, and none from other fields", () => {
    const item = { b64_json: PNG, partial: { b64_json: JPEG }, b64_json_2: "0" };
    const text = JSON.stringify({ preview: { b64_json: JPEG }, b64_json: JPEG, data: [item] });
    expect(answered(text)).toMatchObject({ data: [{ b64_json: PNG, media_type: "image/png" }] });
  });
});

describe("usage", () => {
  test("in chat-completions names is reported to the client as input_tokens and output_tokens", () => {
    const usage = { prompt_tokens: 9, completion_tokens: 300, cost: 0.02, is_byok: false };
    const { bridge, json } = playImages(openBridge(), [buildAnswer([PNG], { usage })]);
    expect(bridge.usage).toMatchObject({ prompt: 9, completion: 300, cachedPrompt: 0 });
    expect(json).toMatchObject({
      usage: { input_tokens: 9, output_tokens: 300, total_tokens: 309, cost: 0.001932 },
    });
  });

  test("reports tokens from the provider's cache separately", () => {
    const usage = { input_tokens: 9, output_tokens: 3, input_tokens_details: { cached_tokens: 5 } };
    const { bridge, json } = playImages(openBridge(), [buildAnswer([PNG], { usage })]);
    expect(bridge.usage).toMatchObject({ prompt: 4, cachedPrompt: 5, completion: 3 });
    expect(json).toMatchObject({ usage: { input_tokens_details: { cached_tokens: 5 } } });
  });

  test.each([undefined, null, { input_tokens: "9" }])(
    "without a valid count is reported to the client as the cost alone: %j",
    (usage) => {
      const { bridge, json } = playImages(openBridge(), [buildAnswer([PNG], { usage })]);
      expect(bridge.usage).toBeUndefined();
      expect((json as Members)["usage"]).toEqual({ cost: 0.001932 });
    },
  );

  test.each([
    { input_tokens: 0, output_tokens: 0, total_tokens: 0 },
    { input_tokens: 9, output_tokens: 0 },
    { prompt_tokens: 9 },
  ])("without output tokens is none for an image billed by tokens: %j", (usage) => {
    const text = buildAnswer([PNG], { usage });
    const { bridge, json } = playImages(openBridge(), [text]);
    expect([bridge.usage, bridge.declaredUsage]).toEqual([undefined, undefined]);
    expect((json as Members)["usage"]).toEqual({ cost: 0.001932 });
    const listing = imageListing(PARAMETERS, { imageTokens: [{ tokens: 700 }] });
    const declared = openBridge({ listing });
    playImages(declared, [text]);
    expect([declared.usage, declared.declaredUsage?.completion]).toEqual([undefined, 700]);
  });

  test("that is declared by quality counts a quality that was sent as a number", () => {
    const quality = { type: "enum", values: ["1", "2"], default: "1" } as const;
    const listing = imageListing(
      { ...PARAMETERS, quality },
      { imageTokens: [{ quality: "2", tokens: 900 }, { tokens: 100 }] },
    );
    for (const asked of [2, "2"]) {
      const bridge = openBridge({ members: { quality: asked }, listing });
      playImages(bridge, [buildAnswer([PNG])]);
      expect(bridge.declaredUsage?.completion).toBe(900);
    }
  });

  test("has the provider's own cost as an exact decimal, and no tokens derived from it", () => {
    const answer = (usage: string): string => `{"data":[{"b64_json":"${PNG}"}],"usage":{${usage}}}`;
    for (const [usage, cost] of [
      ['"cost":0.0832', "0.0832"],
      ['"cost_in_usd_ticks":832000000', "0.0832"],
      ['"cost":8.32e-2,"prompt_tokens":4', "0.0832"],
      ['"cost":"free"', undefined],
    ] as const) {
      const bridge = openBridge({ listing: METERED });
      const { json } = playImages(bridge, [answer(usage)]);
      expect(bridge.state).toBe("complete");
      expect(bridge.reportedCostUsd).toBe(cost);
      expect((json as { usage: Members }).usage["output_tokens"]).toBe(
        usage.includes("prompt") ? 0 : undefined,
      );
    }
  });
});

/** A test case: its name, the provider's body, and the members of the request. */
type Unusable = readonly [string, string | Buffer, Members?];

const error = (code: string, message = "no"): Members => ({ error: { code, message } });

describe("an answer without exactly the requested images is a 502 with failover and a strike", () => {
  const cut = buildAnswer([PNG]).slice(0, -3);
  const unusable: readonly Unusable[] = [
    ["an HTML page", "<html>oops</html>"],
    ["JSON that breaks off", cut],
    ["JSON followed by another character", `${buildAnswer([PNG])}x`],
    ["bytes that are not UTF-8", Buffer.from(buildAnswer([PNG], { size: "\u00e9" }), "latin1")],
    ["no data", '{"created":1}'],
    ["an empty list", buildAnswer([])],
    ["one image where two were requested", buildAnswer([PNG]), { n: 2 }],
    ["two images where one was requested", buildAnswer([PNG, PNG])],
    ["a URL in place of base64", '{"data":[{"url":"https://provider.test/1.png"}]}'],
    ["a URL in place of one of two", `{"data":[{"b64_json":"${PNG}"},{"url":"x"}]}`, { n: 2 }],
    ["a number in place of a text", '{"data":[{"b64_json":0}]}'],
    ["characters that are not base64", buildAnswer([`${PNG.slice(0, -4)}!!!!`])],
    ["base64 with a line end", buildAnswer([`${PNG.slice(0, 40)}\n${PNG.slice(40)}`])],
    ["base64 with escapes beyond its alphabet", `{"data":[{"b64_json":"${PNG}\\u0041AA\\ud83d"}]}`],
    ["base64 with padding inside", buildAnswer([`${PNG.slice(0, 8)}==${PNG.slice(10)}`])],
    ["base64 of an HTML file", buildAnswer([imageFile("page").toString("base64")])],
    ["1 MiB of text after the images", buildAnswer([PNG], { padding: "x".repeat(1024 * 1024) })],
    ["100,000 nested arrays", `${"[".repeat(100_000)}${"]".repeat(100_000)}`],
  ];
  test.each(unusable.map(([what, text, members = {}]) => ({ what, text, members })))(
    "$what",
    ({ text, members }) => {
      const { bridge } = playImages(openBridge({ members }), [text]);
      expect(bridge.failure).toMatchObject({ failover: true, strike: "strike" });
      const upstream = { class: "upstream_error", origin: "upstream", upstreamStatus: 200 };
      expect(refused(text, { members })).toMatchObject({
        ...upstream,
        status: 502,
        retryable: true,
      });
    },
  );

  test("sends the client the gateway's error and no text of the provider", () => {
    const { text } = playImages(openBridge({ members: { n: 2 } }), [
      buildAnswer([PNG], { secret: "provider-words" }),
    ]);
    expect(JSON.parse(text)).toMatchObject({ error: { code: "upstream_error" } });
    expect(text).toContain("1 usable images of 1, 2 were requested");
    expect(text).not.toMatch(/secret|provider-words/);
  });

  test("is classified by only as many entries of data as images were requested", () => {
    const words = Array.from({ length: 3 }, () => ({ status: "pending" }));
    const said = JSON.stringify({ data: [...words, { status: "content_policy" }] });
    expect(refused(said, { members: { n: 3 } }).class).toBe("upstream_error");
    expect(refused(said, { members: { n: 4 } }).class).toBe("content_policy");
  });
});

describe("an error inside a 200 is classified by its code and message", () => {
  test.each([
    [error("rate_limit_exceeded"), "rate_limit", 429, true],
    [error("server_error"), "upstream_error", 500, true],
    [error("invalid_request_error"), "upstream_error", 400, false],
    [error("moderation_blocked"), "content_policy", 400, false],
    [error("x", "rejected by our safety system"), "content_policy", 400, false],
  ])("%j: %s %i, failover %s", (body, cls, status, failover) => {
    const { bridge } = playImages(openBridge(), [JSON.stringify({ data: [], ...body })]);
    expect(bridge.failure).toMatchObject({ refusal: { class: cls, status }, failover });
  });

  test("is ignored if it is null or false: the images are delivered", () => {
    for (const none of [null, false]) {
      expect(answered(buildAnswer([PNG], { error: none }))).toMatchObject({ model: marketModel });
    }
  });
});

describe("an answer that withholds images for their content is refused without failover", () => {
  const url = { url: "" };
  test.each<readonly [Members]>([
    [{ data: [{ ...url, respect_moderation: false }] }],
    [{ data: [], respect_moderation: false }],
    [{ data: [], moderation_blocked: true }],
    [{ data: [{ content_filtered: true }] }],
    [{ data: [{ flagged: true }] }],
    [{ data: [{ finish_reason: "content_filter" }] }],
    [{ data: [], finish_reasons: ["CONTENT_FILTERED"] }],
    [{ data: [], status: "Request Moderated" }],
    [{ data: [], block_reason: "OTHER" }],
    [{ data: [], moderation: { flagged: true, categories: ["sexual_content"] } }],
    [{ promptFeedback: { blockReason: "SAFETY" } }],
    [{ data: [{ error: { code: "content_policy_violation" } }] }],
    [{ data: [{ b64_json: "", error: { message: "This content was blocked" } }] }],
    // If only some images are withheld, no other provider may be tried for them either.
    [{ data: [{ b64_json: PNG }, { respect_moderation: false }] }],
  ])("%j", (answer) => {
    const members = { n: 2 };
    const { bridge } = playImages(openBridge({ members }), [JSON.stringify(answer)]);
    expect(bridge.failure).toMatchObject({ failover: false, strike: "neutral" });
    const upstream = { origin: "upstream", upstreamStatus: 200 };
    const refusal = { class: "content_policy", status: 400, ...upstream };
    expect(refused(JSON.stringify(answer), { members })).toMatchObject(refusal);
  });

  test.each<readonly [Members]>([
    [{ data: [{ respect_moderation: true }] }],
    [{ data: [], status: "succeeded", flagged: false, block_reason: "" }],
  ])("an answer without images and without a violation is an upstream_error: %j", (answer) => {
    expect(refused(JSON.stringify(answer)).class).toBe("upstream_error");
  });

  test("an answer with all requested images is delivered even if it is flagged", () => {
    const text = JSON.stringify({ data: [{ b64_json: PNG, respect_moderation: false }] });
    expect(answered(text)).toMatchObject({ data: [{ b64_json: PNG }] });
  });
});

describe("an answer that costs more than the reserve is neither delivered nor billed", () => {
  const tokens = (count: number): string =>
    buildAnswer([PNG], { usage: { input_tokens: 10, output_tokens: count } });
  const dollars = (cost: string): string =>
    `{"data":[{"b64_json":"${PNG}"}],"usage":{"cost":${cost}}}`;

  test("if its token counts exceed the reserve by one token", () => {
    const opened = { reserveMicroUsd: 1_000n };
    answered(tokens(990), opened);
    expect(refused(tokens(991), opened)).toMatchObject({ class: "upstream_error", status: 502 });
  });

  test("if its reported cost, rounded down to a micro-dollar, exceeds the reserve", () => {
    const opened = { listing: METERED, reserveMicroUsd: 1_000n };
    for (const cost of ["0.001", "0.0010009999", "1e-3", "0"]) answered(dollars(cost), opened);
    for (const cost of ["0.001001", "1", "1e999", "9".repeat(5_000)]) {
      const refusal = { class: "upstream_error", status: 502, upstreamStatus: 200 };
      expect(refused(dollars(cost), opened)).toMatchObject(refusal);
    }
  });

  test("only the basis that the provider bills counts: its tokens or its reported cost", () => {
    const held = { reserveMicroUsd: 1_000n };
    expect(answered(tokens(1_000_000), { listing: METERED, ...held })).toBeDefined();
    expect(answered(dollars("999"), held)).toBeDefined();
  });
});

describe("the bound of 32 MiB for images", () => {
  /** Yields the base64 of a file of `bytes` bytes in blocks that are created on demand. */
  function* base64Of(bytes: number): Generator<Buffer> {
    const head = imageFile("png", 3 * 1024);
    yield Buffer.from(head.toString("base64"));
    const block = Buffer.from(Buffer.alloc(48 * 1024, 7).toString("base64"));
    let left = bytes - head.length;
    for (; left >= 48 * 1024; left -= 48 * 1024) yield block;
    yield Buffer.from(Buffer.alloc(left, 7).toString("base64"));
  }

  function pushed(bytes: number): ReturnType<typeof openBridge> {
    const bridge = openBridge();
    bridge.push(Buffer.from('{"data":[{"b64_json":"'));
    for (const piece of base64Of(bytes)) bridge.push(piece);
    return bridge;
  }

  test("accepts decoded images of exactly 32 MiB", () => {
    const bridge = pushed(IMAGE_BYTES_MAX);
    bridge.push(Buffer.from('"}]}'));
    bridge.end();
    expect(bridge.state).toBe("complete");
    const bytes = [bridge.finish("0")].flat().reduce((sum, piece) => sum + piece.length, 0);
    expect(bytes).toBeGreaterThan(Math.ceil(IMAGE_BYTES_MAX / 3) * 4);
  });

  test("ends an answer with one byte more at once with a 502, without failover or strike", () => {
    const bridge = pushed(IMAGE_BYTES_MAX + 1);
    expect(bridge.state).toBe("failed");
    expect(bridge.failure).toMatchObject({
      refusal: { class: "gateway_error", status: 502, upstreamStatus: 200, retryable: true },
      failover: false,
      strike: "neutral",
    });
    expect([bridge.usage, bridge.reportedCostUsd]).toEqual([undefined, undefined]);
  });

  test("holds for several files together", () => {
    const bridge = openBridge({ members: { n: 2 } });
    bridge.push(Buffer.from('{"data":['));
    for (const end of ['"},', '"}]}']) {
      bridge.push(Buffer.from('{"b64_json":"'));
      for (const piece of base64Of(IMAGE_BYTES_MAX / 2 + 3)) bridge.push(piece);
      bridge.push(Buffer.from(end));
    }
    expect(bridge.failure?.refusal).toMatchObject({ class: "gateway_error", status: 502 });
  });

  test.each([
    ["string in another field", `{"x":"${"y".repeat(2_000)}`],
    ["b64_json that is not base64", `{"data":[{"b64_json":"!${"!".repeat(2_000)}`],
  ])("also ends an answer without images: an endless %s", (_what, first) => {
    const bridge = openBridge();
    bridge.push(Buffer.from(first));
    const block = Buffer.alloc(1024 * 1024, first.slice(-1));
    for (let pushes = 0; bridge.state === "waiting" && pushes < 100; pushes += 1) {
      bridge.push(block);
    }
    expect(bridge.failure?.refusal).toMatchObject({ class: "gateway_error", status: 502 });
  });
});
