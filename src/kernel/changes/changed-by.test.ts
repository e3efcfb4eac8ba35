import { expect, test } from "vitest";

import { maskedEmail, wideNetwork } from "./change.ts";

test.each([
  ["203.0.113.77", "203.0.113.0/24"],
  ["::ffff:203.0.113.77", "203.0.113.0/24"],
  ["2001:db8:12:3456:789a::1", "2001:db8:12::/48"],
  ["fe80::1%eth0", "fe80:0:0::/48"],
  ["unix socket", null],
  [undefined, null],
])("of the address %s the log keeps the network %s, no part of the host", (address, network) => {
  expect(wideNetwork(address)).toBe(network);
});

test("of an e-mail address the log keeps its first letter and its domain", () => {
  expect(maskedEmail("ann.example@mail.example.com")).toBe("a…@mail.example.com");
  expect(maskedEmail("no address")).toBe("…");
});
