import { expect, test } from "vitest";

import { chooseOrgName, plainText } from "./plain-text.ts";

test("a text from outside loses control characters and is cut to its bound", () => {
  expect(plainText(" Ada\u0000 \u001b[31mLovelace\n", 300)).toBe("Ada [31mLovelace");
  expect(plainText("a".repeat(400), 300)).toHaveLength(300);
});

test("no character is cut in half", () => {
  expect(plainText("😀😀", 3)).toBe("😀");
});

test("a text without visible characters is null", () => {
  for (const text of [undefined, "", " ", "\u0000\n"]) expect(plainText(text, 10)).toBeNull();
});

test("an organization is named after its person, else after the local part of the e-mail address", () => {
  expect(chooseOrgName("Ada Lovelace", "ada@example.com")).toBe("Ada Lovelace");
  expect(chooseOrgName("  ", "ada@example.com")).toBe("ada");
  expect(chooseOrgName(null, "ada@example.com")).toBe("ada");
  expect(chooseOrgName("😀".repeat(80), "ada@example.com")).toBe("😀".repeat(32));
});
