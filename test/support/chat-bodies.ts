/** A short chat-completions body for `model`, with what `more` lays over it. */
export function chatBody(model: string, more: object = {}): object {
  return { model, max_tokens: 64, messages: [{ role: "user", content: "Hello" }], ...more };
}

/** A body of exactly `bytes` bytes around one long value: `{filler}` in the JSON is blown up. */
export function bodyOfSize(body: object, bytes: number): Buffer {
  const [before = "", after = ""] = JSON.stringify(body).split("{filler}", 2);
  const frame = Buffer.byteLength(before) + Buffer.byteLength(after);
  return Buffer.from(before + "A".repeat(bytes - frame) + after);
}

/** Replaces one member, or removes it when the value is `undefined`. */
export function withMember(body: object, name: string, value: unknown): object {
  const members = Object.entries(body).filter(([key]) => key !== name);
  return Object.fromEntries(value === undefined ? members : [...members, [name, value]]);
}

/**
 * Name of the fault, body, and what the message says: bodies that are not a chat request at all.
 */
export type BrokenBody = readonly [string, string | Buffer, string | RegExp];

/** Bodies that are not chat requests on either wire, derived from the valid body `good`. */
export function brokenBodies(good: object): readonly BrokenBody[] {
  return [
    ["no JSON", "hello", "not valid JSON"],
    ["JSON that breaks off", '{"model":"test/a","messages":[', "not valid JSON"],
    ["a trailing comma", '{"model":"test/a",}', "not valid JSON"],
    ["two documents", '{"model":"test/a"}{"model":"test/a"}', "not valid JSON"],
    ["nothing", "", "not valid JSON"],
    ["white space only", " \n\t ", "not valid JSON"],
    ["an array", '[{"model":"test/a"}]', "must be one JSON object"],
    ["a string", '"test/a"', "must be one JSON object"],
    ["a number", "7", "must be one JSON object"],
    ["null", "null", "must be one JSON object"],
    ["a number JSON does not know", '{"model":"test/a","max_tokens":NaN}', "not valid JSON"],
    ["nesting 100,000 deep", "[".repeat(100_000), "nested deeper"],
    ["nesting 100,000 deep, closed", `${"[".repeat(1e5)}${"]".repeat(1e5)}`, "nested deeper"],
    ["objects 100,000 deep", `${'{"a":'.repeat(1e5)}1${"}".repeat(1e5)}`, "nested deeper"],
    ["bytes that are no UTF-8", invalidUtf8(good), "not UTF-8"],
    ["__proto__ at the top", '{"model":"test/a","__proto__":{"n":1},"messages":[]}', "__proto__"],
    [
      "__proto__ in a message",
      '{"model":"test/a","messages":[{"role":"user","content":"x","__proto__":{}}]}',
      /messages.*__proto__/,
    ],
    [
      "__proto__ written with an escape",
      String.raw`{"model":"test/a","messages":[],"\u005f_proto__":{}}`,
      "__proto__",
    ],
    ["constructor at the top", JSON.stringify({ ...good, constructor: {} }), "constructor"],
    ["prototype at the top", JSON.stringify({ ...good, prototype: {} }), "prototype"],
    ["the model twice", '{"model":"test/a","model":"test/b","messages":[]}', "model is duplicated"],
    [
      "a key twice, once with an escape",
      String.raw`{"model":"test/a","mode\u006c":"test/b","messages":[]}`,
      "model is duplicated",
    ],
    ["max_tokens twice", twice("max_tokens", "5", "9"), "max_tokens is duplicated"],
    ["an unknown key twice", twice("frobnicate", "5", "9"), "frobnicate is duplicated"],
    [
      "a role twice",
      '{"model":"test/a","messages":[{"role":"user","role":"system","content":"x"}]}',
      /messages.*role is duplicated/,
    ],
  ];
}

function twice(name: string, first: string, second: string): string {
  const rest = '"model":"test/a","messages":[{"role":"user","content":"x"}]';
  return `{${rest},"${name}":${first},"${name}":${second}}`;
}

function invalidUtf8(good: object): Buffer {
  const [before = "", after = ""] = JSON.stringify(good).split("Hello");
  return Buffer.concat([Buffer.from(before), Buffer.of(0xff, 0xfe), Buffer.from(after)]);
}
