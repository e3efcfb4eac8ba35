import { expect, test } from "vitest";

import { deriveKey, openText, sealText } from "./sealed-text.ts";

const owner = Buffer.from("session 1");
const key = deriveKey("the browser's token", "trial key");
const sealed = sealText("tm_vk_secret ✓", key, owner);

test("a sealed text opens for its owner", () => {
  expect(openText(sealed, key, owner)).toBe("tm_vk_secret ✓");
});

test("a sealed text does not open for another owner, with another key, or after a change", () => {
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

test("sealing a text twice gives different bytes, which do not contain the text", () => {
  expect(sealText("x", key, owner).equals(sealText("x", key, owner))).toBe(false);
  expect(sealed.includes("tm_vk_")).toBe(false);
});
