import * as fc from "fast-check";
import { expect, test } from "vitest";

import { textTokens } from "./text-tokens.ts";

test.each([
  ["", 0],
  [" ", 0],
  ["Hello", 1],
  ["Hello world", 2],
  ["internationalization", 4],
  ["naïve Größe", 2],
  ["1234567", 3],
  ["x = 10;", 4],
  ["if (a) {\n    b();\n}", 10],
  ["東京都", 3],
  ["Привет", 3],
  ["🙂", 2],
])("%j is estimated at %d tokens", (text, tokens) => {
  expect(textTokens(text)).toBe(tokens);
});

test("plain English comes out near the common rule of three tokens for four words", () => {
  const text =
    "The worst case is held before anything is sent to a provider, and the settlement replaces " +
    "it exactly once, before the last byte goes to the client.";
  const words = text.split(" ").length;
  expect(textTokens(text)).toBeGreaterThan(words);
  expect(textTokens(text)).toBeLessThan(words * 1.7);
});

test("no text has more tokens than characters, and a longer text never has fewer", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), fc.string({ unit: "binary" }), (head, tail) => {
      expect(textTokens(head)).toBeLessThanOrEqual(head.length);
      expect(textTokens(head + tail)).toBeGreaterThanOrEqual(textTokens(head));
    }),
  );
});
