import * as fc from "fast-check";
import { expect, test } from "vitest";

import { runs } from "../../../../test/support/depth.ts";
import { fromMessagesToolId, toMessagesToolId, UniqueIds } from "./tool-calls.ts";

const anyId = fc.oneof(
  fc.string({ unit: "binary" }),
  fc.string().map((text) => toMessagesToolId(`.${text}`)),
  fc.constantFrom("", "call_1", "functions.Bash:0", "tmid_", "tmid_YQ", "tmiw_x", "\ud800", "é"),
);

test("every id becomes one that wire_b accepts, and comes back unchanged", () => {
  fc.assert(
    fc.property(anyId, (text) => {
      const rewritten = toMessagesToolId(text);
      expect(rewritten).toMatch(/^[a-zA-Z0-9_-]+$/);
      expect(fromMessagesToolId(rewritten)).toBe(text);
    }),
    { numRuns: runs(1000) },
  );
});

test("different ids stay different", () => {
  fc.assert(
    fc.property(anyId, anyId, (one, other) => {
      expect(toMessagesToolId(one) === toMessagesToolId(other)).toBe(one === other);
    }),
    { numRuns: runs(1000) },
  );
});

test("legal ids stay as they are in both directions", () => {
  for (const legal of ["call_1", "toolu_01AbC-x", "9"]) {
    expect(toMessagesToolId(legal)).toBe(legal);
    expect(fromMessagesToolId(legal)).toBe(legal);
  }
  expect(fromMessagesToolId("tmid_not packed")).toBe("tmid_not packed");
});

test("the provider's ids stay; missing and repeated ones are replaced, also by ids it sends later", () => {
  const ids = new UniqueIds("call_x");
  const taken = ["a", "a", "", "call_x_3", "", "call_x_1", "a"].map((id) => ids.take(id));
  expect(taken.slice(0, 1)).toEqual(["a"]);
  expect(taken[3]).toBe("call_x_3");
  expect(new Set(taken).size).toBe(taken.length);
});
