import { expect, test } from "vitest";

import { maskedEmail, wideNetwork } from "./change.ts";

test.each([
  ["203.0.113.77", "203.0.113.0/24"],
  ["::ffff:203.0.113.77", "203.0.113.0/24"],
  ["2001:db8:12:3456:789a::1", "2001:db8:12::/48"],
  ["fe80::1%eth0", "fe80:0:0::/48"],
  ["unix socket", null],
  [undefined, null],
])("the change log keeps of the address %s only the network %s", (address, network) => {
  expect(wideNetwork(address)).toBe(network);
});

test("the change log keeps only the first letter and the domain of an e-mail address", () => {
  expect(maskedEmail("ann.example@mail.example.com")).toBe("a…@mail.example.com");
  expect(maskedEmail("no address")).toBe("…");
});
