import { createHook } from "node:async_hooks";

import { expect, onTestFinished, test } from "vitest";

import { until } from "../../test/support/books.ts";
import { nameServer } from "../../test/support/name-server.ts";
import { ForeignNames, guardedLookup, isPrivateAddress, rememberedNames } from "./address-guard.ts";

const PRIVATE =
  "127.0.0.1 10.1.2.3 172.16.0.1 192.168.1.1 169.254.169.254 100.64.0.1 0.0.0.0 224.0.0.1 ::1 [::1] " +
  "fe80::1 fd00::1 ::ffff:127.0.0.1 ::ffff:a9fe:a9fe ::ffff:0:7f00:1 64:ff9b::7f00:1 " +
  "64:ff9b:1::7f00:1 64:ff9b:1:ffff::1 2002:7f00:1::1 2001::4136:e378 2001:0:ffff::1 fec0::1 " +
  "feff::1 ::127.0.0.1 ::a00:1";
const PUBLIC =
  "1.1.1.1 93.184.216.34 2606:4700::1111 ::ffff:1.1.1.1 2001:4860:4860::8888 2001:1::1 2003::1";

test.each(PRIVATE.split(" "))("%s is not an address of a public provider", (address) => {
  expect(isPrivateAddress(address)).toBe(true);
});

test.each(PUBLIC.split(" "))("%s is a public address", (address) => {
  expect(isPrivateAddress(address)).toBe(false);
});

test("a name that resolves to loopback is refused at the very lookup of its connection", async () => {
  const error = await new Promise<Error | null>((resolve) => {
    guardedLookup(rememberedNames(), false)("localhost", { all: true }, (fault) => resolve(fault));
  });
  expect(error).toMatchObject({ code: "PRIVATE_ADDRESS" });
});

/** Counts look-ups by the system's resolver, each of which blocks one of its few threads. */
function countSystemLookups(): () => number {
  let count = 0;
  const hook = createHook({
    init: (_id, type) => {
      if (type === "GETADDRINFOREQWRAP") count += 1;
    },
  }).enable();
  onTestFinished(() => void hook.disable());
  return () => count;
}

test.concurrent("names at a silent name server delay no other organization's look-up", async () => {
  const silent = await nameServer("silent");
  const names = new ForeignNames([silent.address]);
  const systemLookups = countSystemLookups();
  const asked = Array.from({ length: 40 }, async (_, n) => {
    await expect(names.of("org_stranger")(`a${n}.example`)).rejects.toThrow();
  });
  const before = performance.now();
  // Meanwhile, the names of the operator and of another organization are still resolved.
  await rememberedNames()("localhost");
  const { address } = await nameServer("93.184.215.14");
  const found = await new ForeignNames([address]).of("org_other")("hooks.example");
  expect(found).toEqual([{ address: "93.184.215.14", family: 4 }]);
  expect(performance.now() - before).toBeLessThan(2_000);
  expect(systemLookups()).toBe(1);
  await Promise.all(asked);
  expect(performance.now() - before).toBeLessThan(8_000);
  // The server was asked for two names, each for IPv4 and IPv6; the others were refused at once.
  expect(new Set(silent.asked)).toEqual(new Set(["a0.example", "a1.example"]));
});

test.concurrent("an organization's third look-up is refused until the first two end", async () => {
  const silent = await nameServer("silent");
  const find = new ForeignNames([silent.address]).of("org_1");
  const first = [find("a.example"), find("b.example")].map((each) => each.catch(() => "ended"));
  await expect(find("c.example")).rejects.toMatchObject({ code: "NAMES_BUSY" });
  await Promise.all(first);
  void find("c.example").catch(() => "ended");
  await until("it is asked", () => silent.asked.includes("c.example"));
});

test.concurrent("a webhook delivery waits for earlier look-ups and is not refused", async () => {
  const silent = await nameServer("silent");
  const find = new ForeignNames([silent.address]).of("org_1", "wait");
  const all = ["a", "b", "c"].map((name) => find(`${name}.example`).catch(() => "ended"));
  await until("two are asked", () => new Set(silent.asked).size === 2);
  expect(await Promise.all(all.slice(0, 2))).toEqual(["ended", "ended"]);
  await until("the third is asked", () => silent.asked.includes("c.example"));
});

test("a name in the operator's manifests is looked up once, however many connections begin", async () => {
  const find = rememberedNames();
  const systemLookups = countSystemLookups();
  const all = await Promise.all(Array.from({ length: 20 }, () => find("localhost")));
  await find("localhost");
  expect(new Set(all).size).toBe(1);
  expect(systemLookups()).toBe(1);
  // A name that was not found is looked up again.
  await expect(find("not-there.invalid")).rejects.toThrow();
  await expect(find("not-there.invalid")).rejects.toThrow();
  expect(systemLookups()).toBe(3);
});
