import { describe, expect, test } from "vitest";

import { sentence, presentMessage } from "./sentence.ts";

describe("a message of the gateway", () => {
  test.each([
    ["the provider failed", "The provider failed."],
    ["Too slow. Try again.", "Too slow. Try again."],
    ["max_tokens must be at most 200", "max_tokens must be at most 200."],
    ["", ""],
  ])("%j is shown as %j", (message, shown) => {
    expect(sentence(message)).toBe(shown);
  });
});

describe("a message of the console's API", () => {
  test.each([
    [
      "there is no such key in your organization; check the ID",
      "There is no such key in your organization; check the ID.",
    ],
    [
      "rpm 301 is above the ceiling of 300; choose less",
      "Requests per minute 301 is above the ceiling of 300; choose less.",
    ],
    [
      "month_max_usd must be at least amount_usd",
      "The monthly maximum must be at least the amount.",
    ],
    ["e-mail is not available here", "E-mail is not available here."],
    ["prompts[2] must not be empty", "Prompt 3 must not be empty."],
    ["tax_id.value is not valid", "The tax ID is not valid."],
    ["postal_code is missing", "Postal code is missing."],
    ["use `never`, or run `npm run build`", "Use never, or run npm run build."],
    [
      'models has "lab/my_model" and “nightly_batch until”',
      'Models has "lab/my_model" and “nightly_batch until”.',
    ],
    ["see https://a.example/some_page?my_id=1", "See https://a.example/some_page?my_id=1."],
  ])("%j is shown as %j", (message, shown) => {
    expect(presentMessage(message)).toBe(shown);
  });
});
