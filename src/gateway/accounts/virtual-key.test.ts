import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { digestHex, isVirtualKey, newVirtualKey } from "./virtual-key.ts";

test("a new key is tm_vk_ and 48 hexadecimal characters, and never the same twice", () => {
  const keys = Array.from({ length: 100 }, () => newVirtualKey().raw);
  expect(new Set(keys).size).toBe(100);
  for (const raw of keys) expect(raw).toMatch(/^tm_vk_[0-9a-f]{48}$/);
});

test("what is stored is the SHA-256 of the key and its first twelve characters", () => {
  const { raw, digest, label } = newVirtualKey();
  const expected = createHash("sha256").update(raw).digest();
  expect(digest.equals(expected)).toBe(true);
  expect(digestHex(raw)).toBe(expected.toString("hex"));
  expect(label).toBe(raw.slice(0, 12));
});

test.each([
  ["tm_vk_" + "a".repeat(47)],
  ["tm_vk_" + "a".repeat(49)],
  ["tm_vk_" + "A".repeat(48)],
  ["tm_vk_" + "g".repeat(48)],
  ["sk-" + "a".repeat(48)],
  ["tm_vk_" + "a".repeat(48) + "\n"],
  [""],
])("%j is not a virtual key", (text) => {
  expect(isVirtualKey(text)).toBe(false);
});
