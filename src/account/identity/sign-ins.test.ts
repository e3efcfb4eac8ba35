import { describe, expect, test } from "vitest";

import { lacksEmailClaim, readEmailClaim } from "./sign-ins.ts";

const strict = { isTrusted: false, verifiedAsText: false };
const isVerified = (verified: unknown, rules = strict): boolean | undefined =>
  readEmailClaim({ email: "Ada@Example.com", email_verified: verified }, rules)?.isVerified;

describe("an e-mail address is verified", () => {
  test("if email_verified is the boolean true, and for no other value", () => {
    expect(isVerified(true)).toBe(true);
    for (const other of [false, "true", "false", 1, null, undefined, {}]) {
      expect(isVerified(other)).toBe(false);
    }
  });

  test("if email_verified is the string true and the operator accepts it as a string", () => {
    const rules = { ...strict, verifiedAsText: true };
    expect(isVerified("true", rules)).toBe(true);
    expect(isVerified("false", rules)).toBe(false);
    expect(isVerified("TRUE", rules)).toBe(false);
  });

  test("always, if the operator trusts the provider's e-mail addresses", () => {
    expect(isVerified(undefined, { ...strict, isTrusted: true })).toBe(true);
  });
});

test("an e-mail address is kept as it was written and compared in lower case", () => {
  expect(readEmailClaim({ email: " Ada@Example.com" }, strict)).toEqual({
    email: "Ada@Example.com",
    emailNorm: "ada@example.com",
    isVerified: false,
  });
});

test("claims without a valid e-mail address are read as having none", () => {
  for (const email of [undefined, null, 7, "", "ada", ["a@b"]]) {
    expect(readEmailClaim({ email, email_verified: true }, strict)).toBeUndefined();
  }
});

test("userinfo is needed if the id token lacks the e-mail address, or email_verified where it counts", () => {
  expect(lacksEmailClaim({}, strict)).toBe(true);
  expect(lacksEmailClaim({ email: "a@b" }, strict)).toBe(true);
  expect(lacksEmailClaim({ email: "a@b" }, { ...strict, isTrusted: true })).toBe(false);
  expect(lacksEmailClaim({ email: "a@b", email_verified: false }, strict)).toBe(false);
});
