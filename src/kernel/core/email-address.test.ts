import { describe, expect, test } from "vitest";

import { isEmail, normaliseEmail } from "./email-address.ts";

describe("normaliseEmail", () => {
  test("ignores case and surrounding blanks", () => {
    expect(normaliseEmail("  Ada@Example.COM ")).toBe("ada@example.com");
  });

  test("does not fold characters that Unicode's compatibility forms would make equal", () => {
    for (const other of ["ａｄａ@example.com", "ada@ex\uff41mple.com", "\u212Aurt@example.com"]) {
      expect(normaliseEmail(other)).not.toBe(normaliseEmail(other.normalize("NFKC")));
    }
    expect(normaliseEmail("\u212Aurt@example.com")).not.toBe("kurt@example.com");
  });

  test("keeps dots and plus signs, which make another address", () => {
    expect(normaliseEmail("a.da+x@example.com")).toBe("a.da+x@example.com");
  });
});

test("isEmail accepts common forms of addresses", () => {
  for (const text of [
    "ada@example.com",
    "owner@localhost.localdomain",
    "dev@localhost",
    "o'neil+news@a-b.example",
    "{a}|b~c@xn--bcher-kva.example",
    `${"a".repeat(64)}@example.com`,
  ]) {
    expect({ text, isEmail: isEmail(text) }).toEqual({ text, isEmail: true });
  }
});

test("isEmail refuses malformed addresses, lists, display names, and non-ASCII or invisible characters", () => {
  const forms = ["", "ada", "@example.com", "ada@", "a@b@c", "a da@b", "a@e.com>", "<a@e.com>"];
  const parsed = ["a@e.com,b@e.com", "a@e.com;b@e.com", "Ada a@e.com", '"a b"@e.com', "a(x)@e.com"];
  const domains = [
    "a@-e.com",
    "a@e-.com",
    "a@e..com",
    "a@.com",
    "a@e.com.",
    "a@[127.0.0.1]",
    "a@e_x",
  ];
  const dots = [".a@e.com", "a.@e.com", "a..b@e.com", "a\\@e.com", "a:b@e.com"];
  const long = [`${"a".repeat(65)}@e.com`, `a@${"b".repeat(64)}.com`, `a@${"b.".repeat(130)}com`];
  for (const text of [...forms, ...parsed, ...domains, ...dots, ...long]) {
    expect({ text, isEmail: isEmail(text) }).toEqual({ text, isEmail: false });
  }
  // Refuses non-ASCII and invisible characters at each position: some look like ASCII letters.
  const others = [...Array.from({ length: 33 }, (_, code) => code), 127, 0xa0, 0xad, 0x430, 0x200b];
  const more = [0x200d, 0x200e, 0x202e, 0x2028, 0x2060, 0x2066, 0xfeff, 0xff41, 0xe0061, 0xe4];
  for (const code of [...others, ...more]) {
    const odd = String.fromCodePoint(code);
    for (const text of [`${odd}a@e.com`, `a${odd}@e.com`, `a@${odd}e.com`, `a@e.com${odd}`]) {
      expect({ code, isEmail: isEmail(text) }).toEqual({ code, isEmail: false });
    }
  }
});
