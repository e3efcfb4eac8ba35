import { BlockList, isIP } from "node:net";

import * as fc from "fast-check";
import { describe, expect, test } from "vitest";

import { runs, seedOf } from "../../../test/support/depth.ts";
import { ClientAddresses, IpNetworks, networksProblem, parseIp } from "./client-address.ts";

const PROXIES = new ClientAddresses("10.0.0.0/8, 192.0.2.1, 2001:db8:5::/48");

test.each<[string | undefined, string | undefined, string | undefined, string]>([
  ["203.0.113.9", "198.51.100.1", "203.0.113.9", "an unknown peer"],
  ["10.1.2.3", undefined, "10.1.2.3", "no header"],
  ["10.1.2.3", "198.51.100.1", "198.51.100.1", "one proxy"],
  ["192.0.2.1", "198.51.100.1", "198.51.100.1", "a single address"],
  ["192.0.2.2", "198.51.100.1", "192.0.2.2", "the neighbour of a single address"],
  ["2001:db8:5::7", "2001:db8:9::1", "2001:db8:9::1", "IPv6"],
  [
    "10.1.2.3",
    "1.1.1.1, 198.51.100.1, 10.9.9.9",
    "198.51.100.1",
    "two proxies after a forged entry",
  ],
  ["10.1.2.3", "10.0.0.5, 10.0.0.6", "10.0.0.5", "all trusted"],
  ["::ffff:10.1.2.3", "198.51.100.1", "198.51.100.1", "a mapped peer"],
  ["10.1.2.3", "198.51.100.1:4711", "198.51.100.1", "a port"],
  ["10.1.2.3", "[2001:db8:9::1]:80", "2001:db8:9::1", "brackets"],
  ["10.1.2.3", "1.1.1.1, unknown, 10.4.4.4", "10.4.4.4", "an entry that is not an address"],
  [undefined, "198.51.100.1", undefined, "no peer"],
])("the client of the peer %s with the header %s is %s: %s", (peer, forwarded, client, _reason) => {
  expect(PROXIES.of(peer, forwarded)).toBe(client);
});

test("without trusted proxies every header is ignored", () => {
  expect(new ClientAddresses("").of("10.1.2.3", "198.51.100.1")).toBe("10.1.2.3");
});

test("only the last 32 entries and 2,048 characters of a long header are read", () => {
  const chain = ["198.51.100.1", ...Array.from({ length: 100 }, () => "10.0.0.7")];
  expect(PROXIES.of("10.1.2.3", chain.join(","))).toBe("10.0.0.7");
  expect(PROXIES.of("10.1.2.3", `${"x".repeat(100_000)}, 198.51.100.1`)).toBe("198.51.100.1");
  // An entry that the length bound cuts is dropped, because its rest could be another address.
  expect(PROXIES.of("10.1.2.3", `1${"9".repeat(2_000)}8.51.100.1`.padStart(2_050))).toBe(
    "10.1.2.3",
  );
  expect(PROXIES.of("10.1.2.3", `198.51.100.1${" ".repeat(2_038)}`)).toBe("10.1.2.3");
});

describe("a list of networks", () => {
  test.each(["", "10.0.0.0/8", " 10.0.0.0/8 , ::1 ", "0.0.0.0/0,::/0"])(
    "is accepted if it is %j",
    (text) => {
      expect(networksProblem(text)).toBeUndefined();
    },
  );

  test.each([
    ["10.0.0.0/33", "10.0.0.0/33"],
    ["10.0.0.0/8,proxy.example", "proxy.example"],
    ["2001:db8::/129", "2001:db8::/129"],
    ["10.0.0.0/", "10.0.0.0/"],
    [",", ""],
  ])("is refused if it is %j, and the problem names the entry", (text, entry) => {
    expect(networksProblem(text)).toContain(JSON.stringify(entry));
  });

  test("is refused if it has more than 256 entries", () => {
    const text = Array.from({ length: 257 }, () => "10.0.0.1").join(",");
    expect(networksProblem(text)).toContain("256");
  });
});

test("a text is an address exactly if Node's isIP accepts it", () => {
  const texts =
    "1.2.3.4 0.0.0.0 255.255.255.255 256.1.1.1 1.2.3 01.2.3.4 1.2.3.4.5 :: ::1 1:: 2001:db8::1 " +
    "1:2:3:4:5:6:7:8 1:2:3:4:5:6:7 1:2:3:4:5:6:7:8:9 1::2::3 ::: :1 1: ::1.2.3.4 g:: 12345:: " +
    "1:2:3:4:5:6:1.2.3.4 1.2.3.4:: 1:2:3:4:5:6:7:: 1:2:3:4:5:6:7:8:: ::ffff:1.2.3.4 [::1] a.b " +
    "::ffff:1.2.3.256";
  for (const text of ["", ...texts.split(" ")]) {
    expect({ text, isAddress: parseIp(text) !== undefined }).toEqual({
      text,
      isAddress: isIP(text) !== 0,
    });
  }
});

test("an IPv4 address mapped into IPv6 is read as IPv4, and a zone is dropped", () => {
  expect(parseIp("::ffff:10.1.2.3")).toEqual(parseIp("10.1.2.3"));
  expect(parseIp("fe80::1%eth0")).toEqual(parseIp("fe80::1"));
});

test("random networks contain the same addresses as Node's BlockList", () => {
  const inputs = [fc.ipV4(), fc.ipV6()].map((address) => fc.tuple(address, address, fc.nat(128)));
  const property = fc.property(fc.oneof(...inputs), ([of, other, length]) => {
    const family = isIP(of) === 4 ? "ipv4" : "ipv6";
    const prefix = Math.min(length, family === "ipv4" ? 32 : 128);
    // `BlockList` treats an IPv4 address mapped into IPv6 as IPv6, `IpNetworks` as IPv4.
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
  "the IPv6 network %s contains no IPv4 address",
  (network) => {
    const networks = new IpNetworks();
    expect(networks.add(network)).toBe(true);
    const addresses = ["::1", "127.0.0.1", "8.8.8.8", "::ffff:8.8.8.8"];
    expect(addresses.map((address) => networks.has(address))).toEqual([true, false, false, false]);
  },
);
