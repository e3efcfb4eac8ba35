import { expect, test } from "vitest";

import { deriveKey, openText, sealText } from "./sealed-text.ts";

const owner = Buffer.from("session 1");
const key = deriveKey("the browser's token", "trial key");
const sealed = sealText("tm_vk_secret ✓", key, owner);

test("a sealed text opens for its owner", () => {
  expect(openText(sealed, key, owner)).toBe("tm_vk_secret ✓");
});

test("it opens for no other owner, with no other key, and not after a change", () => {
  expect(openText(sealed, key, Buffer.from("session 2"))).toBeUndefined();
  expect(openText(sealed, deriveKey("another token", "trial key"), owner)).toBeUndefined();
  expect(openText(sealed, deriveKey("the browser's token", "refresh"), owner)).toBeUndefined();
  for (let at = 0; at < sealed.length; at += 1) {
    const changed = Buffer.from(sealed);
    changed.writeUInt8((changed.readUInt8(at) + 1) % 256, at);
    expect(openText(changed, key, owner)).toBeUndefined();
  }
  expect(openText(sealed.subarray(0, 20), key, owner)).toBeUndefined();
});

test("the same text is never the same bytes", () => {
  expect(sealText("x", key, owner).equals(sealText("x", key, owner))).toBe(false);
  expect(sealed.includes("tm_vk_")).toBe(false);
});
