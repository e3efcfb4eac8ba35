import * as fc from "fast-check";
import { expect, test } from "vitest";
import { providerWordsCharsMax } from "../../core/constants.ts";
import { cleanProviderWords } from "./provider-words.ts";

test.each([
  ["key sk-proj-abcdef0123456789 is over 5 tokens", "key [removed] is over 5 tokens"],
  ["see https://api.example.com/x?key=1 for 5 tokens", "see [removed] for 5 tokens"],
  ["see docs.example.com/limits for 5 tokens", "see [removed] for 5 tokens"],
  ["request req_011CSHoEeqs5C35K2UUqR7Fy has 5 tokens", "request [removed] has 5 tokens"],
  ["org-AbCdEf123456 sent 5 tokens", "[removed] sent 5 tokens"],
  ["id 01934b2c-7f00-7abc-8def-0123456789ab has 5 tokens", "id [removed] has 5 tokens"],
  ["write to help@example.org about 5 tokens", "write to [removed] about 5 tokens"],
  ["Bearer abc.def has 5 tokens", "[removed] has 5 tokens"],
  ["a\u0000b\nc\u202Ed 5", "a b c d 5"],
  [
    "prompt is too long: 208310 tokens > 200000 maximum",
    "prompt is too long: 208310 tokens > 200000 maximum",
  ],
  ["One. Two. Three.", "One."],
  ["Limit is 1.5 million. More.", "Limit is 1.5 million."],
])("%j is told as %j", (words, clean) => {
  expect(cleanProviderWords(words)).toBe(clean);
});

test("no words at all are replaced by our own", () => {
  expect(cleanProviderWords(" \n ")).toBe(
    "the prompt does not fit the context window of the model",
  );
});

test("any text comes out bounded, on one line and without a secret in it", () => {
  const secret = fc.stringMatching(/^[a-zA-Z0-9]{24}$/).map((tail) => `sk-${tail}`);
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), secret, fc.string(), (before, key, after) => {
      const clean = cleanProviderWords(`${before} ${key} ${after}`);
      expect(clean.length).toBeLessThanOrEqual(providerWordsCharsMax);
      expect(clean).not.toContain(key);
      expect(clean).not.toMatch(/[\p{Cc}\p{Cs}]/u);
    }),
  );
  expect(cleanProviderWords("word ".repeat(500)).length).toBeLessThanOrEqual(providerWordsCharsMax);
});
