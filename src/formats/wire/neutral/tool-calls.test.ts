import * as fc from "fast-check";
import { expect, test } from "vitest";

import { runs } from "../../../../test/support/depth.ts";
import { fromMessagesToolId, toMessagesToolId } from "./tool-calls.ts";

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
