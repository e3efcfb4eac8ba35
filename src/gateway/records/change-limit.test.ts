import { describe, expect, test } from "vitest";
import { readLimitRequest } from "./change-limit.ts";

function read(body: unknown): ReturnType<typeof readLimitRequest> {
  return readLimitRequest(Buffer.from(typeof body === "string" ? body : JSON.stringify(body)));
}

/** Returns the message of the 400 that this body gets. */
function refusedFor(body: unknown): string {
  const outcome = read(body);
  if (outcome.ok) throw new Error(`taken: ${JSON.stringify(outcome)}`);
  expect(outcome.refusal).toMatchObject({ class: "invalid_request", status: 400 });
  return outcome.refusal.message;
}

test.each([
  [{ scope: "key", rpm: 5 }, { scope: "key" }, 5],
  [{ scope: "model", model: "acme/m", rpm: 1 }, { scope: "model", modelId: "acme/m" }, 1],
  [{ scope: "org", rpm: null }, { scope: "org" }, null],
  ['{"scope":"key","rpm":1e2}', { scope: "key" }, 100],
  [String.raw`{"sc\u006fpe":"k\u0065y","rpm":7.0}`, { scope: "key" }, 7],
])("a change of requests per minute is read from the body %j", (body, of, requestsPerMinute) => {
  expect(read(body)).toEqual({ ok: true, request: { ...of, change: { requestsPerMinute } } });
});

test("a change of the tokens and the concurrency of another key is read", () => {
  const body = { scope: "key", key_id: "key_1", tpm: null, concurrency: 2 };
  const change = { tokensPerMinute: null, concurrent: 2 };
  expect(read(body)).toEqual({ ok: true, request: { scope: "key", keyId: "key_1", change } });
});

describe("a value that is not a limit", () => {
  const bad = ["-0.5", "1.5", '"5"', "true", "false", "[5]", '{"a":5}', "1e999", "1e-3"];
  test.each(["rpm", "tpm", "concurrency"])(
    "of %s gets a 400 that names the field and its valid values",
    (word) => {
      for (const value of bad) {
        const message = refusedFor(`{"scope":"key","${word}":${value}}`);
        expect(message).toMatch(new RegExp(`^${word} must be a whole number of at least 1`));
      }
    },
  );
});

describe("an invalid limit change", () => {
  test.each([
    ['{"scope":"key","rpm":5,}', "not valid JSON"],
    [{}, /^scope is missing; send "org" or "key" or "model"/],
    [{ scope: "workspace", rpm: 1 }, /^scope must be "org" or "key" or "model"/],
    [{ scope: "constructor", rpm: 1 }, /^scope must be/],
    [{ scope: "key" }, /^rpm, tpm and concurrency are all missing/],
    [
      { scope: "key", rpm: 1, burst: 3 },
      /^burst is not a field of this route; it accepts scope, key_id/,
    ],
    ['{"scope":"key","rpm":1,"__proto__":{}}', /^__proto__/],
    ['{"scope":"key","rpm":1,"rpm":2}', /^rpm is duplicated/],
    [String.raw`{"scope":"key","rpm":1,"rp\u006d":2}`, /^rpm is duplicated/],
    [{ scope: "key", key_id: "", rpm: 1 }, /^key_id must be a non-empty string/],
    [{ scope: "model", rpm: 1 }, /^model is missing/],
    [{ scope: "key", model: "acme/m", rpm: 1 }, /^model does not go with scope "key"/],
    [{ scope: "org", key_id: "key_1", rpm: 1 }, /^key_id does not go with scope "org"/],
  ])("with the body %j is a 400 that says what is wrong", (body, message) => {
    expect(refusedFor(body)).toMatch(message);
  });

  test("with a field name of 10,000 characters is quoted only in part", () => {
    expect(refusedFor({ ["x".repeat(10_000)]: 1 }).length).toBeLessThan(200);
  });
});
