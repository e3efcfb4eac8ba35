import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { KeptFragment } from "./kept-fragment.ts";

const PRESET = "#preset=eyJhIjoxfQ";
const MINUTE_MS = 60_000;
let kept: Map<string, string>;

beforeEach(() => {
  kept = new Map();
  vi.stubGlobal("sessionStorage", {
    getItem: (name: string) => kept.get(name) ?? null,
    setItem: (name: string, value: string) => kept.set(name, value),
    removeItem: (name: string) => kept.delete(name),
  });
});
afterEach(() => {
  vi.unstubAllGlobals();
});

test("a preset waits for its reader to sign in, and is opened once", () => {
  KeptFragment.keep(0, PRESET);
  expect(KeptFragment.read(5 * MINUTE_MS)).toBe(PRESET);
  KeptFragment.forget();
  expect(KeptFragment.read(5 * MINUTE_MS)).toBe("");
});

test("a preset that waited for too long, or has no end, is not opened by surprise", () => {
  KeptFragment.keep(0, PRESET);
  expect(KeptFragment.read(16 * MINUTE_MS)).toBe("");
  kept.set("tm-fragment", JSON.stringify({ fragment: PRESET, untilMs: 1e15 }));
  expect(KeptFragment.read(0)).toBe("");
});

test("nothing but a preset of the usual length is kept or opened", () => {
  for (const fragment of [
    "",
    "#main",
    "#preset=",
    "#preset=<b>",
    `#preset=${"a".repeat(16_001)}`,
  ]) {
    KeptFragment.keep(0, fragment);
    expect(kept.size).toBe(0);
  }
  kept.set("tm-fragment", JSON.stringify({ fragment: "#other=1", untilMs: MINUTE_MS }));
  expect(KeptFragment.read(0)).toBe("");
  kept.set("tm-fragment", "{");
  expect(KeptFragment.read(0)).toBe("");
});

test("a browser that keeps nothing for pages still shows them", () => {
  vi.stubGlobal("sessionStorage", {
    getItem: () => {
      throw new Error("denied");
    },
    setItem: () => {
      throw new Error("denied");
    },
    removeItem: () => {
      throw new Error("denied");
    },
  });
  KeptFragment.keep(0, PRESET);
  expect(KeptFragment.read(0)).toBe("");
  KeptFragment.forget();
});
