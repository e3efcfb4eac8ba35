import { describe, expect, test } from "vitest";

import type { Key } from "../../../../src/account/console-api/contract.ts";
import { buildKey } from "./sample-keys.test-data.ts";
import { matchKeys, findNamesake, toSearchTerm } from "./match-keys.ts";

const SECRET = `tm_vk_${"0123456789abcdef".repeat(3)}`;
const LABEL = "tm_vk_012345";

describe("the search term", () => {
  test.each([
    ["as it is", SECRET],
    ["in capitals", SECRET.toUpperCase()],
    ["with a header around it", `Authorization: Bearer ${SECRET}`],
    ["from a shell line", `export TOKEN_MARKET_KEY="${SECRET}"`],
    ["without its prefix", SECRET.slice(6)],
    ["cut short", SECRET.slice(0, 30)],
  ])("has only the first 12 characters of a key pasted %s", (_how, pasted) => {
    expect(toSearchTerm(pasted)).toBe(LABEL);
  });

  test("is any other text as it was typed, up to 64 characters", () => {
    expect(toSearchTerm("nightly batch")).toBe("nightly batch");
    expect(toSearchTerm("tm_vk_01")).toBe("tm_vk_01");
    expect(toSearchTerm("x".repeat(500))).toHaveLength(64);
  });
});

describe("the search for keys", () => {
  const keys = [
    buildKey({ name: "Production", label: LABEL }),
    buildKey({ name: "Nightly batch", label: "tm_vk_fedcba" }),
    buildKey({
      name: "Old laptop",
      label: "tm_vk_aaaaaa",
      disabled_at: "2026-11-01T00:00:00.000Z",
    }),
  ];
  const names = (found: readonly Key[]): string[] => found.map(({ name }) => name);

  test("finds a key by its whole secret", () => {
    expect(names(matchKeys(keys, { status: "all", search: SECRET }))).toEqual(["Production"]);
  });

  test("finds a key by a part of its name, in any case", () => {
    expect(names(matchKeys(keys, { status: "all", search: "LAP" }))).toEqual(["Old laptop"]);
  });

  test("filters by status, and `all` finds every key", () => {
    expect(names(matchKeys(keys, { status: "active", search: "" }))).toEqual([
      "Production",
      "Nightly batch",
    ]);
    expect(names(matchKeys(keys, { status: "disabled", search: "" }))).toEqual(["Old laptop"]);
    expect(matchKeys(keys, { status: "all", search: "" })).toHaveLength(3);
  });
});

test("a key with the same name is found only among active keys", () => {
  const label = "tm_vk_aaaaaa";
  const keys = [
    buildKey({ name: "Production", label }),
    buildKey({ name: "Old", label, disabled_at: "2026-11-01T00:00:00.000Z" }),
    buildKey({ name: "Past", label, is_expired: true }),
  ];
  expect(findNamesake(" production ", keys)).toBe(keys[0]);
  for (const name of ["Old", "Past", "", "prod"]) expect(findNamesake(name, keys)).toBeUndefined();
});
