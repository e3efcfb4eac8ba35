import { describe, expect, test } from "vitest";

import { readBad } from "../../../../test/fixtures/modality/request-kit.ts";
import { slowestBodies } from "../../../../test/fixtures/modality/slowest-bodies.ts";

describe.each(["wire_a", "wire_b"] as const)("the slowest bodies of %s", (wire) => {
  test("have no more keys and values than the bounds", () => {
    for (const [, text] of slowestBodies(200_000, 1_000_000)) {
      expect(readBad(wire, text)).toMatchObject({ class: "invalid_request", status: 400 });
    }
  });
});
