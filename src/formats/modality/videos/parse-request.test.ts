import * as fc from "fast-check";
import OpenAI from "openai";
import { expect, test } from "vitest";

import { formToJson } from "./parse-request.ts";

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

test.each([
  [
    "a file",
    form([`Content-Disposition: form-data; name="input_reference"; filename="a.png"`, "PNG"]),
    "input_reference is a file",
  ],
  ["a duplicate field", form(field("model", "a"), field("model", "b")), "model is sent twice"],
  [
    "a text and a member",
    form(field("a", "x"), field("a[b]", "y")),
    "a[b] is sent twice, or conflicts",
  ],
  [
    "a list and a member",
    form(field("a[]", "x"), field("a[b]", "y")),
    "a[b] is sent twice, or conflicts",
  ],
  [
    "a member and a list",
    form(field("a[b]", "x"), field("a[]", "y")),
    "a[] is sent twice, or conflicts",
  ],
  [
    "too many items",
    form(...Array.from({ length: 257 }, () => field("f[]", ""))),
    "too many parts",
  ],
  ["no boundary", form(field("model", "a")), "names no boundary"],
  ["a part without a name", form(["Content-Disposition: form-data", "b"]), "cannot be read"],
  [
    "too many fields",
    form(...Array.from({ length: 257 }, (_, n) => field(`f${n}`, ""))),
    "too many parts",
  ],
])("a form with %s is refused, and the message names the fault", (what, body, errorText) => {
  expect(read(body, what === "no boundary" ? "multipart/form-data" : TYPE)).toContain(errorText);
});

test("any bytes of a form give a JSON object or an invalid_request refusal", () => {
  const pieces = fc.constantFrom(
    "--x-1",
    "\r\n",
    "--",
    "Content-Disposition: form-data; ",
    'name="a"',
  );
  fc.assert(
    fc.property(fc.array(fc.oneof(pieces, fc.string()), { maxLength: 60 }), (parts) => {
      const sent = formToJson(Buffer.from(parts.join("")), TYPE);
      const reported: unknown = sent.ok ? JSON.parse(sent.json.toString()) : sent.refusal.class;
      expect(typeof reported === "object" || reported === "invalid_request").toBe(true);
    }),
  );
});
