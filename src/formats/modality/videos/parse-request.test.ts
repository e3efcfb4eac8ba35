import * as fc from "fast-check";
import OpenAI from "openai";
import { expect, test } from "vitest";

import { formToJson, parseVideoRequest } from "./parse-request.ts";

const TYPE = "multipart/form-data; boundary=x-1";

function form(...parts: readonly (readonly [head: string, text: string])[]): Buffer {
  const lines = parts.flatMap(([head, text]) => ["--x-1", head, "", text]);
  return Buffer.from([...lines, "--x-1--", ""].join("\r\n"));
}

const field = (name: string, text: string): [string, string] => [
  `Content-Disposition: form-data; name="${name}"`,
  text,
];

function read(body: Buffer, type = TYPE): unknown {
  const sent = formToJson(body, type);
  return sent.ok ? JSON.parse(sent.json.toString()) : sent.refusal.message;
}

test("switches and n of a form become booleans and a number, and other fields stay strings", () => {
  const body = form(
    field("generate_audio", "true"),
    field("stream", "false"),
    field("n", "1"),
    field("provider[upstream][allow_fallbacks]", "false"),
    field("seconds", "8"),
    field("prompt", "true"),
    field("metadata[stream]", "true"),
  );
  expect(read(body)).toEqual({
    generate_audio: true,
    stream: false,
    n: 1,
    provider: { upstream: { allow_fallbacks: false } },
    seconds: "8",
    prompt: "true",
    metadata: { stream: "true" },
  });
});

test("objects and lists that an official client writes into a form are read like JSON", async () => {
  const sent = {
    model: "sim/video",
    prompt: "waves",
    provider: { only: ["a", "b"], upstream: { order: ["c"] }, require_parameters: true },
    metadata: { k: "v" },
  };
  let body = Buffer.alloc(0);
  let type = "";
  const client = new OpenAI({
    apiKey: "k",
    baseURL: "http://unused.test",
    fetch: async (url, init) => {
      const request = new Request(url, init);
      body = Buffer.from(await request.arrayBuffer());
      type = request.headers.get("content-type") ?? "";
      return Response.json({});
    },
  });
  sent.provider.only.push(...Array.from({ length: 200 }, (_, n) => `p${n}`));
  await client.videos.create(sent);
  expect(read(body, type)).toEqual(sent);
});

test("the text of a form field is read unchanged, whatever its characters", () => {
  const word = fc.string({ unit: "grapheme", maxLength: 40 });
  fc.assert(
    fc.property(word, word, (prompt, size) => {
      const body = form(field("prompt", prompt), field("size", size));
      expect(read(body)).toEqual({ prompt, size });
    }),
  );
});

const file: [string, string] = [
  `Content-Disposition: form-data; name="input_reference"; filename="a.png"`,
  "PNG",
];
const fields = (...names: string[]): Buffer =>
  form(...names.map((name, at) => field(name, `v${at}`)));
const many = (name: (n: number) => string): Buffer =>
  form(...Array.from({ length: 257 }, (_, n) => field(name(n), "")));
const nameless = form(["Content-Disposition: form-data", "b"]);

test.each([
  ["a file", form(file), "input_reference is a file"],
  ["a duplicate field", fields("model", "model"), "model is sent twice"],
  ["a text and a member", fields("a", "a[b]"), "a[b] is sent twice, or conflicts"],
  ["a list and a member", fields("a[]", "a[b]"), "a[b] is sent twice, or conflicts"],
  ["a member and a list", fields("a[b]", "a[]"), "a[] is sent twice, or conflicts"],
  ["too many items", many(() => "f[]"), "too many parts"],
  ["too many fields", many((n) => `f${n}`), "too many parts"],
  ["no boundary", form(field("model", "a")), "names no boundary"],
  ["a part without a name", nameless, "cannot be read"],
])("a form with %s is refused, and the message names the fault", (what, body, errorText) => {
  expect(read(body, what === "no boundary" ? "multipart/form-data" : TYPE)).toContain(errorText);
});

test("any bytes of a form give a JSON object or an invalid_request refusal", () => {
  const head = "Content-Disposition: form-data; ";
  const pieces = fc.constantFrom("--x-1", "\r\n", "--", head, 'name="a"');
  fc.assert(
    fc.property(fc.array(fc.oneof(pieces, fc.string()), { maxLength: 60 }), (parts) => {
      const sent = formToJson(Buffer.from(parts.join("")), TYPE);
      const reported: unknown = sent.ok ? JSON.parse(sent.json.toString()) : sent.refusal.class;
      expect(typeof reported === "object" || reported === "invalid_request").toBe(true);
    }),
  );
});

const image = { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } };

/** Returns the message that refuses this text, or a body with these members. */
function readRefusal(body: string | object): string | undefined {
  const text =
    typeof body === "string" ? body : JSON.stringify({ model: "m", prompt: "waves", ...body });
  const parsed = parseVideoRequest(Buffer.from(text));
  if (parsed.ok) return undefined;
  expect(parsed.refusal).toMatchObject({ class: "invalid_request", status: 400 });
  return parsed.refusal.message;
}

test.each<[object | string, RegExp]>([
  [{ model: undefined }, /^model /],
  [{ prompt: undefined }, /^prompt /],
  [{ prompt: "" }, /^prompt /],
  [{ prompt: 7 }, /^prompt /],
  [{ seconds: 4.5 }, /^seconds /],
  [{ seconds: "four" }, /^seconds /],
  [{ seconds: "4s" }, /^seconds /],
  [{ duration: 4 }, /^duration is not accepted; send seconds/],
  [{ stream: true }, /^stream /],
  [{ stream: 1 }, /^stream /],
  [{ n: 2 }, /^n /],
  [{ response_format: "url" }, /^response_format /],
  [{ api_key: "sk-x" }, /^api_key /],
  [{ base_url: "https://example.com" }, /^base_url /],
  [{ provider: { region: "eu" } }, /^provider\.region /],
  ['{"model":', /not valid JSON/],
  ["[]", /must be one JSON object/],
  ['{"model":"m","prompt":"a","prompt":"b"}', /prompt is duplicated/],
])("a request for a video with %j is refused: %s", (body, message) => {
  expect(readRefusal(body)).toMatch(message);
});

test.each<[string, object]>([
  ...["input_reference", "input_references", "image", "images", "image_url", "frame_images"].map(
    (name): [string, object] => [name, { [name]: "https://example.com/a.png" }],
  ),
  ...["reference_images", "first_frame", "last_frame"].map((name): [string, object] => [
    name,
    { [name]: [image] },
  ]),
  ["prompt", { prompt: [image] }],
  ["metadata", { metadata: { a: [1, { b: { type: "input_image" } }] } }],
  ["messages", { messages: [{ content: [image] }] }],
])("an image in %s is refused, and the message begins with the field's name", (place, body) => {
  const message = readRefusal(body);
  expect(message?.startsWith(place)).toBe(true);
  expect(message).toContain("a video is made from text alone");
});
