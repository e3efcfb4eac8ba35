import { expect, test } from "vitest";

import { nameInMail } from "./mail-text.ts";

test("an ordinary name is unchanged in an e-mail", () => {
  for (const name of [
    "Acme Inc.",
    "Müller & Söhne (Köln)",
    "株式会社",
    "team-a_1, v2.1",
    "O'Neil",
  ]) {
    expect(nameInMail(name)).toBe(name);
  }
});

test("a name in an e-mail cannot form a link, an address or a new line, and is bounded", () => {
  expect(nameInMail("Pay at https://evil.example/x?a=1 now")).toBe(
    "Pay at https evil example x a 1 now",
  );
  for (const evil of [
    "www.evil.com",
    "evil。com",
    "evil．com",
    "a@evil.com",
    "tel:112",
    "evil.com.",
    "e.vil.c\u200dom",
  ]) {
    expect(nameInMail(evil)).not.toMatch(/[a-z][.。．@:]+[a-z]|\u200d/);
  }
  expect(nameInMail("a\r\nBcc: b\u202e\u0000c\u2066<b>")).toBe("a Bcc b c b");
  expect(nameInMail("n".repeat(500))).toHaveLength(64);
  expect(nameInMail("\u202e://")).toBe("unnamed");
});
