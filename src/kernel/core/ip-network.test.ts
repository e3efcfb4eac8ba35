import { BlockList, isIP } from "node:net";

import * as fc from "fast-check";
import { expect, test } from "vitest";

import { runs, seedOf } from "../../../test/support/depth.ts";
import { IpNetworks, parseIp } from "./ip-network.ts";

test.each([
  "1.2.3.4",
  "0.0.0.0",
  "255.255.255.255",
  "256.1.1.1",
  "1.2.3",
  "01.2.3.4",
  "1.2.3.4.5",
  "",
  "::",
  "::1",
  "1::",
  "2001:db8::1",
  "1:2:3:4:5:6:7:8",
  "1:2:3:4:5:6:7",
  "1:2:3:4:5:6:7:8:9",
  "1::2::3",
  ":::",
  ":1",
  "1:",
  "::1.2.3.4",
  "1:2:3:4:5:6:1.2.3.4",
  "1.2.3.4::",
  "g::",
  "12345::",
  "1:2:3:4:5:6:7::",
  "1:2:3:4:5:6:7:8::",
  "::ffff:1.2.3.4",
  "::ffff:1.2.3.256",
  "[::1]",
  "a.b",
])("%j is an address exactly when the system says so", (text) => {
  expect(parseIp(text) !== undefined).toBe(isIP(text) !== 0);
});

test("a mapped address is the IPv4 address, and a zone is left out", () => {
  expect(parseIp("::ffff:10.1.2.3")).toEqual(parseIp("10.1.2.3"));
  expect(parseIp("fe80::1%eth0")).toEqual(parseIp("fe80::1"));
});

test("random networks hold the addresses that the system's list says", () => {
  const inputs = [fc.ipV4(), fc.ipV6()].map((address) => fc.tuple(address, address, fc.nat(128)));
  const property = fc.property(fc.oneof(...inputs), ([of, other, length]) => {
    const family = isIP(of) === 4 ? "ipv4" : "ipv6";
    const prefix = Math.min(length, family === "ipv4" ? 32 : 128);
    // A mapped address is of the other family for the system's list.
    const parts = family === "ipv4" ? 4 : 8;
    fc.pre(parseIp(of)?.length === parts && parseIp(other)?.length === parts);
    const networks = new IpNetworks();
    expect(networks.add(`${of}/${prefix}`)).toBe(true);
    const list = new BlockList();
    list.addSubnet(of, prefix, family);
    expect(networks.has(other)).toBe(list.check(other, family));
  });
  fc.assert(property, { seed: seedOf("networks"), numRuns: runs(300) });
});

test.each(["::/0", "::/1", "0::1/24", "::/80"])(
  "a network of IPv6 as wide as %s holds no address of IPv4",
  (network) => {
    const networks = new IpNetworks();
    expect(networks.add(network)).toBe(true);
    const addresses = ["::1", "127.0.0.1", "8.8.8.8", "::ffff:8.8.8.8"];
    expect(addresses.map((address) => networks.has(address))).toEqual([true, false, false, false]);
  },
);
