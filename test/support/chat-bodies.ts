/** `more` adds or replaces fields. */
export function chatBody(model: string, more: object = {}): object {
  return { model, max_tokens: 64, messages: [{ role: "user", content: "Hello" }], ...more };
}

/** A body of exactly `bytes` bytes: `{filler}` becomes one long value. */
export function bodyOfSize(body: object, bytes: number): Buffer {
  const [before = "", after = ""] = JSON.stringify(body).split("{filler}", 2);
  const frame = Buffer.byteLength(before) + Buffer.byteLength(after);
  return Buffer.from(before + "A".repeat(bytes - frame) + after);
}

/**
 * Bodies that are not chat requests on either wire: name of the fault, body, and expected message.
 * The tests of `parse-request` and of `kernel/json` have every kind of fault.
 */
export function brokenBodies(
  good: object,
): readonly (readonly [string, string | Buffer, string | RegExp])[] {
  return [
    ["JSON that breaks off", '{"model":"test/a","messages":[', "not valid JSON"],
    ["bytes that are no UTF-8", invalidUtf8(good), "not UTF-8"],
    [
      "a role twice",
      '{"model":"test/a","messages":[{"role":"user","role":"system","content":"x"}]}',
      /messages.*role is duplicated/,
    ],
  ];
}

function invalidUtf8(good: object): Buffer {
  const [before = "", after = ""] = JSON.stringify(good).split("Hello");
  return Buffer.concat([Buffer.from(before), Buffer.of(0xff, 0xfe), Buffer.from(after)]);
}
