import { expect, test } from "vitest";

import { usageFlaw } from "./usage-flaws.ts";

const WIRE_A = {
  prompt_tokens: 10,
  completion_tokens: 5,
  total_tokens: 15,
  prompt_tokens_details: { cached_tokens: 4 },
  completion_tokens_details: { reasoning_tokens: 2 },
};
const WIRE_B = { input_tokens: 10, output_tokens: 5, cache_read_input_tokens: 40 };

test("reports of both wires that add up have no flaw", () => {
  expect(usageFlaw(WIRE_A)).toBeUndefined();
  // On this wire cached tokens are beside the input tokens, not among them.
  expect(usageFlaw(WIRE_B)).toBeUndefined();
  expect(usageFlaw({})).toBeUndefined();
});

test.each([
  ["a sum that is wrong", { ...WIRE_A, total_tokens: 16 }, /total_tokens/],
  ["a count that is negative", { ...WIRE_A, prompt_tokens: -1 }, /prompt_tokens is not a count/],
  ["a count with a fraction", { ...WIRE_B, output_tokens: 1.5 }, /output_tokens is not a count/],
  ["a count that is a text", { ...WIRE_B, input_tokens: "10" }, /input_tokens is not a count/],
  [
    "more cached tokens than prompt",
    { ...WIRE_A, prompt_tokens_details: { cached_tokens: 11 } },
    /cached/,
  ],
  [
    "more reasoning than output",
    { ...WIRE_A, completion_tokens_details: { reasoning_tokens: 6 } },
    /reasoning/,
  ],
  [
    "more thinking than output",
    { ...WIRE_B, output_tokens_details: { thinking_tokens: 6 } },
    /thinking/,
  ],
])("%s is named", (_name, usage, words) => {
  expect(usageFlaw(usage)).toMatch(words);
});
