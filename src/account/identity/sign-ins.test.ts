import { describe, expect, test } from "vitest";

import { lacksEmailClaim, readEmailClaim } from "./sign-ins.ts";

const strict = { isTrusted: false, verifiedAsText: false };
const isVerified = (verified: unknown, rules = strict): boolean | undefined =>
  readEmailClaim({ email: "Ada@Example.com", email_verified: verified }, rules)?.isVerified;

describe("an address is verified", () => {
  test("when the provider says true, and for nothing that looks like it", () => {
    expect(isVerified(true)).toBe(true);
    for (const other of [false, "true", "false", 1, null, undefined, {}]) {
      expect(isVerified(other)).toBe(false);
    }
  });

  test("by the text true, where the operator says so", () => {
    const rules = { ...strict, verifiedAsText: true };
    expect(isVerified("true", rules)).toBe(true);
    expect(isVerified("false", rules)).toBe(false);
    expect(isVerified("TRUE", rules)).toBe(false);
  });

  test("always, where the operator trusts the provider with addresses", () => {
    expect(isVerified(undefined, { ...strict, isTrusted: true })).toBe(true);
  });
});

test("an address is kept as it was written and compared in one form", () => {
  expect(readEmailClaim({ email: " Ada@Example.com" }, strict)).toEqual({
    email: "Ada@Example.com",
    emailNorm: "ada@example.com",
    isVerified: false,
  });
});

test("claims without an address name none", () => {
  for (const email of [undefined, null, 7, "", "ada", ["a@b"]]) {
    expect(readEmailClaim({ email, email_verified: true }, strict)).toBeUndefined();
  }
});

test("the provider is asked once more if its token lacks the address or its state", () => {
  expect(lacksEmailClaim({}, strict)).toBe(true);
  expect(lacksEmailClaim({ email: "a@b" }, strict)).toBe(true);
  expect(lacksEmailClaim({ email: "a@b" }, { ...strict, isTrusted: true })).toBe(false);
  expect(lacksEmailClaim({ email: "a@b", email_verified: false }, strict)).toBe(false);
});
