import { expect, test } from "vitest";
import { UniqueIds } from "./unique-ids.ts";

test("the provider's ids stay; missing and repeated ones are replaced, also by ids it sends later", () => {
  const ids = new UniqueIds("call_x");
  const taken = ["a", "a", "", "call_x_3", "", "call_x_1", "a"].map((id) => ids.take(id));
  expect(taken.slice(0, 1)).toEqual(["a"]);
  expect(taken[3]).toBe("call_x_3");
  expect(new Set(taken).size).toBe(taken.length);
});
