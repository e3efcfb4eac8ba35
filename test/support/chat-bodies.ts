export function chatBody(model: string, more: object = {}): object {
  return { model, max_tokens: 64, messages: [{ role: "user", content: "Hello" }], ...more };
}

/** Returns a body of exactly `bytes` bytes; `{filler}` in it becomes a long value. */
export function bodyOfSize(body: object, bytes: number): Buffer {
  const [before = "", after = ""] = JSON.stringify(body).split("{filler}", 2);
  const frame = Buffer.byteLength(before) + Buffer.byteLength(after);
  return Buffer.from(before + "A".repeat(bytes - frame) + after);
}

/** Returns bodies that are refused on either wire: the fault, the body, the expected message. */
export function brokenBodies(
  good: object,
): readonly (readonly [string, string | Buffer, string | RegExp])[] {
  return [
    ["truncated JSON", '{"model":"test/a","messages":[', "not valid JSON"],
    ["bytes that are not UTF-8", invalidUtf8(good), "not UTF-8"],
    [
      "a duplicate role field",
      '{"model":"test/a","messages":[{"role":"user","role":"system","content":"x"}]}',
      /messages.*role is duplicated/,
    ],
  ];
}

function invalidUtf8(good: object): Buffer {
  const [before = "", after = ""] = JSON.stringify(good).split("Hello");
  return Buffer.concat([Buffer.from(before), Buffer.of(0xff, 0xfe), Buffer.from(after)]);
}
