import { expect, test } from "vitest";

import { capsLeft, leftOf, type Cap } from "./cap-left.ts";

test("what is in flight counts against a cap, to the micro-dollar", () => {
  const cap = capOf({ cap_usd: "10.000000", spent_usd: "3.000001", in_flight_usd: "0.999999" });
  expect(leftOf(cap)).toBe("6.000000");
});

test("a cap that was lowered below what is spent leaves nothing, not less than nothing", () => {
  expect(leftOf(capOf({ cap_usd: "1.000000", spent_usd: "3.000000" }))).toBe("0.000000");
});

test("the cap with the least left bites first, whatever its height", () => {
  const org = capOf({ scope: "org", key_id: null, cap_usd: "100.000000", spent_usd: "99.500000" });
  const key = capOf({ cap_usd: "5.000000", spent_usd: "1.000000" });
  expect(capsLeft([key, org], "key_1").map(({ cap }) => cap.scope)).toEqual(["org", "key"]);
});

test("of two that leave as much the key's is named, as in a refusal", () => {
  const org = capOf({ scope: "org", key_id: null, cap_usd: "5.000000" });
  const key = capOf({ cap_usd: "5.000000" });
  expect(capsLeft([org, key], "key_1").map(({ cap }) => cap.scope)).toEqual(["key", "org"]);
});

test("other keys' caps and absent caps are left out", () => {
  expect(capsLeft([capOf({ key_id: "key_2" }), capOf({ cap_usd: null })], "key_1")).toEqual([]);
});

function capOf(some: Partial<Cap>): Cap {
  return {
    scope: "key",
    key_id: "key_1",
    name: "Production",
    cap_usd: "5.000000",
    spent_usd: "0.000000",
    in_flight_usd: "0.000000",
    ...some,
  };
}
