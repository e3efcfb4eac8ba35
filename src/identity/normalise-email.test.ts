import { describe, expect, test } from "vitest";

import { isEmail, normaliseEmail, orgNameOf } from "./normalise-email.ts";

describe("two spellings of one address are one address", () => {
  for (const [spelling, norm] of [["  Ada@Example.COM ", "ada@example.com"]] as const) {
    test(`${spelling} is ${norm}`, () => expect(normaliseEmail(spelling)).toBe(norm));
  }

  test("what only Unicode's compatibility joins are the mailboxes of different people", () => {
    for (const other of ["ａｄａ@example.com", "ada@ex\uff41mple.com", "\u212Aurt@example.com"]) {
      expect(normaliseEmail(other)).not.toBe(normaliseEmail(other.normalize("NFKC")));
    }
    expect(normaliseEmail("\u212Aurt@example.com")).not.toBe("kurt@example.com");
  });

  test("dots and plus signs make another address", () => {
    expect(normaliseEmail("a.da+x@example.com")).toBe("a.da+x@example.com");
  });
});

test("what cannot be an address is refused", () => {
  expect(isEmail("ada@example.com")).toBe(true);
  expect(isEmail("owner@localhost.localdomain")).toBe(true);
  for (const text of ["", "ada", "@example.com", "ada@", "a@b@c", "a da@b", "a\u0000@b"]) {
    expect(isEmail(text)).toBe(false);
  }
  expect(isEmail(`${"a".repeat(320)}@example.com`)).toBe(false);
});

test("an organization is called as its person, else as the first part of the address", () => {
  expect(orgNameOf("Ada Lovelace", "ada@example.com")).toBe("Ada Lovelace");
  expect(orgNameOf("  ", "ada@example.com")).toBe("ada");
  expect(orgNameOf(null, "ada@example.com")).toBe("ada");
  expect(orgNameOf("😀".repeat(80), "ada@example.com")).toBe("😀".repeat(32));
});
