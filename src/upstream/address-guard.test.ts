import { expect, test } from "vitest";

import { guardedLookup, isPrivateAddress } from "./address-guard.ts";
import { rememberedNames } from "./resolve-names.ts";

test.each([
  ["127.0.0.1"],
  ["10.1.2.3"],
  ["172.16.0.1"],
  ["192.168.1.1"],
  ["169.254.169.254"],
  ["100.64.0.1"],
  ["0.0.0.0"],
  ["224.0.0.1"],
  ["::1"],
  ["[::1]"],
  ["fe80::1"],
  ["fd00::1"],
  ["::ffff:127.0.0.1"],
  ["::ffff:a9fe:a9fe"],
  ["64:ff9b::7f00:1"],
  ["64:ff9b:1::7f00:1"],
  ["64:ff9b:1:ffff::1"],
  ["2002:7f00:1::1"],
  ["2001::4136:e378"],
  ["2001:0:ffff::1"],
  ["fec0::1"],
  ["feff::1"],
  ["::127.0.0.1"],
  ["::a00:1"],
])("%s is not an address of a public provider", (address) => {
  expect(isPrivateAddress(address)).toBe(true);
});

test.each([
  ["1.1.1.1"],
  ["93.184.216.34"],
  ["2606:4700::1111"],
  ["::ffff:1.1.1.1"],
  ["2001:4860:4860::8888"],
  ["2001:1::1"],
  ["2003::1"],
])("%s is a public address", (address) => {
  expect(isPrivateAddress(address)).toBe(false);
});

test("a name that resolves to loopback is refused at the very lookup of its connection", async () => {
  const error = await new Promise<Error | null>((resolve) => {
    guardedLookup(rememberedNames(), false)("localhost", { all: true }, (fault) => resolve(fault));
  });
  expect(error).toMatchObject({ code: "PRIVATE_ADDRESS" });
});
