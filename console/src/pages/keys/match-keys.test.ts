import { describe, expect, test } from "vitest";

import type { Key } from "../../../../src/account/console-api/contract.ts";
import { matchKeys, findNamesake, toSearchTerm } from "./match-keys.ts";

const SECRET = `tm_vk_${"0123456789abcdef".repeat(3)}`;
const LABEL = "tm_vk_012345";

describe("a pasted key never leaves the field", () => {
  test.each([
    ["the key itself", SECRET],
    ["in capitals", SECRET.toUpperCase()],
    ["with a header around it", `Authorization: Bearer ${SECRET}`],
    ["from a shell line", `export TOKEN_MARKET_KEY="${SECRET}"`],
    ["without its prefix", SECRET.slice(6)],
    ["cut short", SECRET.slice(0, 30)],
  ])("%s: only its first 12 characters stay", (_how, pasted) => {
    expect(toSearchTerm(pasted)).toBe(LABEL);
  });

  test("what is not a key stays as it was typed, up to the length of a name", () => {
    expect(toSearchTerm("nightly batch")).toBe("nightly batch");
    expect(toSearchTerm("tm_vk_01")).toBe("tm_vk_01");
    expect(toSearchTerm("x".repeat(500))).toHaveLength(64);
  });
});

describe("finding keys", () => {
  const keys = [
    key({ name: "Production", label: LABEL }),
    key({ name: "Nightly batch", label: "tm_vk_fedcba" }),
    key({ name: "Old laptop", label: "tm_vk_aaaaaa", disabled_at: "2026-11-01T00:00:00.000Z" }),
  ];
  const names = (found: readonly Key[]): string[] => found.map(({ name }) => name);

  test("a whole key finds the one it is", () => {
    expect(names(matchKeys(keys, { status: "all", search: SECRET }))).toEqual(["Production"]);
  });

  test("part of a name finds it, whatever the case", () => {
    expect(names(matchKeys(keys, { status: "all", search: "LAP" }))).toEqual(["Old laptop"]);
  });

  test("active and disabled keys are distinguished, and all shows both", () => {
    expect(names(matchKeys(keys, { status: "active", search: "" }))).toEqual([
      "Production",
      "Nightly batch",
    ]);
    expect(names(matchKeys(keys, { status: "disabled", search: "" }))).toEqual(["Old laptop"]);
    expect(matchKeys(keys, { status: "all", search: "" })).toHaveLength(3);
  });
});

function key(some: Partial<Key>): Key {
  return {
    key_id: "key_1",
    name: "Key",
    label: LABEL,
    origin: "console",
    created_at: "2026-10-01T00:00:00.000Z",
    disabled_at: null,
    expires_at: null,
    is_expired: false,
    models: null,
    last_used_at: null,
    rpm_ceiling: 300,
    rpm: null,
    rpm_effective: 300,
    cap_usd: null,
    spent_month_usd: "0.000000",
    cap_week_usd: null,
    spent_week_usd: null,
    cap_day_usd: null,
    spent_day_usd: null,
    tags: [],
    ...some,
  };
}

test("a name that a working key has already is noticed, and that of a disabled one is free", () => {
  const label = "tm_vk_aaaaaa";
  const keys = [
    key({ name: "Production", label }),
    key({ name: "Old", label, disabled_at: "2026-11-01T00:00:00.000Z" }),
    key({ name: "Past", label, is_expired: true }),
  ];
  expect(findNamesake(" production ", keys)).toBe(keys[0]);
  for (const name of ["Old", "Past", "", "prod"]) expect(findNamesake(name, keys)).toBeUndefined();
});
