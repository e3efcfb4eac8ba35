import { expect, test } from "vitest";

import { ownPorts } from "./embedded-port.ts";

test.each([
  ["the usual range", [32_768, 60_999], [20_000, 29_999]],
  ["no known range", undefined, [20_000, 29_999]],
  ["a range over the default ports with free ports above it", [1_024, 60_999], [61_000, 65_535]],
  ["a range over the upper half of the default ports", [25_000, 65_535], [20_000, 24_999]],
  ["a range of all ports, which cannot be avoided", [1_024, 65_535], [20_000, 29_999]],
] as const)(
  "the ports of embedded databases avoid the system's ephemeral range: %s",
  (_case, lent, expected) => {
    expect(ownPorts(lent)).toEqual(expected);
  },
);
