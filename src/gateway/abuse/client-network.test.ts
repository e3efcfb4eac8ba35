import { expect, test } from "vitest";

import { clientNetwork } from "./client-network.ts";

test.each([
  ["203.0.113.7", "203.0.113.7"],
  ["::ffff:203.0.113.7", "203.0.113.7"],
  ["0:0:0:0:0:FFFF:203.0.113.7", "203.0.113.7"],
  ["2001:db8:1:2:aaaa:bbbb:cccc:dddd", "2001:db8:1:2::/64"],
  ["2001:0DB8:0001:0002::1", "2001:db8:1:2::/64"],
  ["2001:db8::1", "2001:db8:0:0::/64"],
  ["::1", "0:0:0:0::/64"],
  ["64:ff9b::203.0.113.7", "64:ff9b:0:0::/64"],
  ["fe80::1%eth0", "fe80:0:0:0::/64"],
  ["2001:db8:1:2:3::", "2001:db8:1:2::/64"],
  ["not an address", "not an address"],
  ["203.0.113.7.9", "203.0.113.7.9"],
  ["203.0.113.7%eth0", "203.0.113.7"],
])("the network of %s is %s", (address, network) => {
  expect(clientNetwork(address)).toBe(network);
});

test("two addresses of one IPv6 subscriber are one network, two subscribers are two", () => {
  expect(clientNetwork("2001:db8:1:2::a")).toBe(clientNetwork("2001:db8:1:2:9:8:7:6"));
  expect(clientNetwork("2001:db8:1:2::a")).not.toBe(clientNetwork("2001:db8:1:3::a"));
});
