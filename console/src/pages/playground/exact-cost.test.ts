import { expect, test } from "vitest";

import { exactCost } from "./gateway.ts";

test("a cost keeps all its digits", () => {
  expect(exactCost('{"usage":{"prompt_tokens":1,"cost":9007199254740993.000001}}')).toBe(
    "9007199254740993.000001",
  );
  expect(exactCost('{"usage":{"cost":0.00012}}')).toBe("0.000120");
  expect(exactCost('{"usage":{"cost":0}}')).toBe("0.000000");
  expect(exactCost('{"data":{"total_cost":2,"cost_micro_usd":2000000}}')).toBe("2.000000");
});

test("the cost of an answer that reports none is undefined, not zero", () => {
  expect(exactCost('{"usage":{"prompt_tokens":1}}')).toBeUndefined();
  expect(exactCost('{"usage":{"cost":null}}')).toBeUndefined();
});
