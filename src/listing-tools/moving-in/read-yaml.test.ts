import { describe, expect, test } from "vitest";

import { CONFIG_BOUNDS, readYaml } from "./read-yaml.ts";
import { type RawJson, RawNumber } from "../../kernel/index.ts";
import { asList, asMap } from "./setting-tree.ts";

/** Converts to plain values. A number becomes its text with the prefix `#`. */
function plain(setting: RawJson): unknown {
  const map = asMap(setting);
  if (map !== undefined) {
    return Object.fromEntries([...map].map(([key, value]) => [key, plain(value)]));
  }
  return setting instanceof RawNumber
    ? `#${setting.raw}`
    : (asList(setting)?.map(plain) ?? setting);
}

function read(text: string): unknown {
  const reading = readYaml(text);
  return reading.ok ? plain(reading.value) : reading.message;
}

describe("the YAML of a configuration", () => {
  test("is read, and numbers keep the text they were written with", () => {
    expect(
      read("a: 2e-07\nb: [0.1, 10, '3']\nc: {d: true, e: ~, f: }\ng: |\n  two\n  lines\n"),
    ).toEqual({
      a: "#2e-07",
      b: ["#0.1", "#10", "3"],
      c: { d: true, e: null, f: null },
      g: "two\nlines\n",
    });
  });

  test("aliases and merged maps are written out, and a map's own keys win", () => {
    const text =
      "base: &b {x: 1, y: 2}\none: *b\ntwo:\n  <<: *b\n  y: 3\nthree:\n  <<: [*b, {z: 4}]\n";
    expect(read(text)).toEqual({
      base: { x: "#1", y: "#2" },
      one: { x: "#1", y: "#2" },
      two: { y: "#3", x: "#1" },
      three: { x: "#1", y: "#2", z: "#4" },
    });
  });
});

describe("YAML is refused without quoting it if it has", () => {
  const secret = "sk-0123456789abcdef";
  test.each([
    [
      "a key written twice",
      `a:\n  ${secret}: 1\nb: {c: ${secret}, c: 2}`,
      /the key b\.c more than once/,
    ],
    ["a tag", `a: !!python/object/apply:os.system ["${secret}"]`, /has a tag.*\(a\)/],
    ["two documents", `a: ${secret}\n---\nb: 1`, /several documents/],
    ["broken syntax", `a: [${secret}`, /is not valid YAML at line \d+, column \d+/],
    ["an alias without an anchor", `a: *b # ${secret}`, /not valid YAML|without an anchor/],
    ["an alias inside its own anchor", `a: &a {b: *a, c: ${secret}}`, /without an anchor/],
    ["a key that is a map", `? {a: ${secret}}\n: 1`, /key that is not a plain text/],
  ])("%s", (_what, text, message) => {
    const said = read(text);
    expect(said).toMatch(message);
    expect(said).not.toContain(secret);
  });
});

describe("a file made to exhaust the importer", () => {
  const timeMaxMs = 4_000;

  test.each<readonly [string, () => string, RegExp]>([
    [
      "by its size",
      () => `a: ${"x".repeat(CONFIG_BOUNDS.bytesMax)}`,
      /is larger than 1048576 bytes/,
    ],
    ["by lists in lists", () => "[".repeat(20_000), /nested over 32 levels|not valid YAML/],
    ["by dashes", () => "- ".repeat(20_000), /nested over 32 levels/],
    ["by aliases of aliases", () => laughs(30), /over 50000 settings/],
    ["by merges", () => `a: &a {${keys(300)}}\n${merges(400)}`, /over 50000 settings/],
    ["by keys of one map", () => `{${keys(51_000)}}`, /over 50000 settings/],
  ])("%s is refused within four seconds of processor time", (_how, make, message) => {
    const text = make();
    const before = process.cpuUsage();
    expect(read(text)).toMatch(message);
    const { user, system } = process.cpuUsage(before);
    expect((user + system) / 1_000).toBeLessThan(timeMaxMs);
  });

  test("is still read if it is just within the bounds of nesting and keys", () => {
    expect(readYaml(nested(30)).ok).toBe(true);
    expect(readYaml(`{${keys(5_000)}}`).ok).toBe(true);
  });
});

function nested(levels: number): string {
  return Array.from({ length: levels }, (_, at) => `${" ".repeat(at)}a:`).join("\n");
}

function laughs(levels: number): string {
  const lines = Array.from({ length: levels }, (_, at) => {
    return `a${at + 1}: &a${at + 1} [${Array(10).fill(`*a${at}`).join(", ")}]`;
  });
  return ["a0: &a0 lol", ...lines].join("\n");
}

function keys(count: number): string {
  return Array.from({ length: count }, (_, at) => `k${at}: 1`).join(", ");
}

function merges(count: number): string {
  return Array.from({ length: count }, (_, at) => `m${at}:\n  <<: *a`).join("\n");
}
