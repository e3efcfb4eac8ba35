import { expect, test } from "vitest";

import { inputOutputFlaw } from "./usage-report.ts";

const HONEST = {
  input_tokens: 10,
  output_tokens: 5,
  total_tokens: 15,
  input_tokens_details: { cached_tokens: 4 },
};

test.each([
  ["adds up", HONEST],
  ["has the other names", { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 }],
  ["counts one of the two", { input_tokens: 10, total_tokens: 10 }],
  ["has no total", { ...HONEST, total_tokens: null }],
  ["has no counts", {}],
])("a report that %s has no flaw", (_what, usage) => {
  expect(inputOutputFlaw(usage)).toBeUndefined();
});

test.each([
  ["a sum that is wrong", { ...HONEST, total_tokens: 16 }, "total_tokens is not input plus"],
  ["a count that is negative", { ...HONEST, input_tokens: -1 }, "input_tokens is not a count"],
  ["a count with a fraction", { ...HONEST, output_tokens: 1.5 }, "output_tokens is not a count"],
  ["a count that is a text", { prompt_tokens: "10" }, "prompt_tokens is not a count"],
  [
    "more cached than there are",
    { ...HONEST, input_tokens_details: { cached_tokens: 11 } },
    "more input tokens are cached",
  ],
])("%s is named", (_what, usage, sentence) => {
  expect(inputOutputFlaw(usage)).toContain(sentence);
});
