import * as fc from "fast-check";
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

test("generate_audio of a form becomes a boolean, and every other field stays a string", () => {
  const body = form(field("generate_audio", "true"), field("seconds", "8"));
  expect(read(body)).toEqual({ generate_audio: true, seconds: "8" });
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
  ["a duplicate field", form(field("model", "a"), field("model", "b")), "model is duplicated"],
  ["no boundary", form(field("model", "a")), "names no boundary"],
  ["a part without a name", form(["Content-Disposition: form-data", "b"]), "cannot be read"],
  ["too many fields", form(...Array.from({ length: 40 }, (_, n) => field(`f${n}`, ""))), "cannot"],
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
