import { describe, expect, test } from "vitest";

import { NewKey } from "../../../../src/account/console-api/contract/keys.ts";
import { NO_EXPIRY } from "./expiry-choice.ts";
import { BLANK_CAPS } from "./caps.ts";
import { buildKey } from "./sample-keys.test-data.ts";
import {
  MODELS_MAX,
  readKeyChange,
  readKeysChange,
  readNewKey,
  type TypedKeysChange,
  stillWrong,
} from "./key-forms.ts";

const KEY = buildKey({ rpm_ceiling: 20, rpm: 10, cap_usd: "5.000000" });
const NOW_MS = Date.parse("2026-11-24T12:00:00Z");
/** Every field of a key's form as it is before anything is typed. */
const BLANK = { rpm: "", caps: BLANK_CAPS, tags: "", expiry: NO_EXPIRY, models: [] };

describe("a new key", () => {
  const read = (typed: object) =>
    readNewKey({ ...BLANK, name: "n", ...typed }, { rpmMax: 300, nowMs: NOW_MS });

  test.each<[string, object, object]>([
    ["needs only a name", { name: "  Nightly " }, { name: "Nightly" }],
    [
      "takes a limit and a cap",
      { rpm: "60", caps: { ...BLANK_CAPS, month: "12.5" } },
      { name: "n", rpm: 60, cap_usd: "12.5" },
    ],
    [
      "takes an expiry",
      { expiry: { choice: "30", date: "" } },
      { name: "n", expires_at: "2026-12-24T12:00:00.000Z" },
    ],
  ])("%s, and blank fields are left out", (_, typed, body) => {
    expect(read(typed)).toEqual({ isReady: true, body });
  });

  test("reports the problems of all fields at once", () => {
    const wrong = read({ name: " ", rpm: "301", caps: { ...BLANK_CAPS, month: "-1" } });
    expect(wrong.isReady).toBe(false);
    expect(Object.keys(wrong.isReady ? {} : wrong.problems)).toEqual(["name", "rpm", "cap_usd"]);
  });

  test.each(["0", "1.5", "1e2"])("refuses a limit of %s", (rpm) => {
    expect(read({ rpm }).isReady).toBe(false);
  });
});

describe("a change of a key", () => {
  const read = (typed: object, key = KEY) =>
    readKeyChange({ ...BLANK, ...typed }, { key, nowMs: NOW_MS });

  test.each<[string, object, object]>([
    ["sends nothing for blank fields", { caps: { ...BLANK_CAPS, month: " " } }, {}],
    ["can remove the expiry", { expiry: { choice: "never", date: "" } }, { expires_at: "never" }],
    [
      "removes the limit and the cap if 0 is typed",
      { rpm: "0", caps: { ...BLANK_CAPS, month: "0" } },
      { rpm: 0, cap_usd: "0" },
    ],
  ])("%s", (_, typed, body) => {
    expect(read(typed)).toEqual({ isReady: true, body });
  });

  test("sends models only if they differ, and an empty list for all models", () => {
    const key = buildKey({ models: ["acme/a", "acme/b"] });
    expect(read({ models: ["acme/b", "acme/a"] }, key)).toEqual({ isReady: true, body: {} });
    expect(read({ models: ["acme/a"] }, key)).toMatchObject({ body: { models: ["acme/a"] } });
    expect(read({ models: [] }, key)).toEqual({ isReady: true, body: { models: [] } });
  });

  test("refuses a date in the past, and a limit above the key's ceiling, which is named", () => {
    expect(read({ expiry: { choice: "date", date: "2020-01-01" } })).toEqual({
      isReady: false,
      problems: { expires_at: "Choose today or a later date." },
    });
    const above = read({ rpm: "21" });
    expect(above.isReady ? "" : above.problems.rpm).toContain("from 1 to 20");
  });
});

test("as many models can be chosen as the server accepts", () => {
  expect(NewKey.properties.models).toMatchObject({ maxItems: MODELS_MAX });
});

describe("a change of several keys", () => {
  const KEEP: TypedKeysChange = {
    caps: BLANK_CAPS,
    expiry: NO_EXPIRY,
    tagsChoice: "keep",
    tags: "left, over",
  };

  test.each<[string, Partial<TypedKeysChange>, object]>([
    ["sends nothing for blank and kept fields", {}, {}],
    [
      "sets and removes caps by their period",
      { caps: { ...BLANK_CAPS, month: "0", week: "7", day: "1.5" } },
      { cap_usd: "0", cap_week_usd: "7", cap_day_usd: "1.5" },
    ],
    ["replaces tags", { tagsChoice: "replace", tags: "b, a ,b" }, { tags: ["a", "b"] }],
    ["removes tags if that is chosen", { tagsChoice: "remove" }, { tags: [] }],
    [
      "moves the expiry",
      { expiry: { choice: "7", date: "" } },
      { expires_at: "2026-12-01T12:00:00.000Z" },
    ],
  ])("%s", (_, typed, body) => {
    expect(readKeysChange({ ...KEEP, ...typed }, NOW_MS)).toEqual({ isReady: true, body });
  });

  test.each([
    ["cap_day_usd", { caps: { ...BLANK_CAPS, day: "-1" } }],
    ["tags", { tagsChoice: "replace", tags: " , " }],
    ["tags", { tagsChoice: "replace", tags: "no spaces" }],
    ["expires_at", { expiry: { choice: "date", date: "" } }],
  ] as const)("reports a problem of the field %s instead of sending %j", (field, typed) => {
    const read = readKeysChange({ ...KEEP, ...typed }, NOW_MS);
    expect(read).toMatchObject({ isReady: false, problems: { [field]: expect.any(String) } });
  });
});

test("changing a field clears its problem and keeps the problems of the other fields", () => {
  const problems = { name: "a", cap_usd: "b", cap_day_usd: "c", expires_at: "d" };
  expect(stillWrong(problems, { name: "x" })).toEqual({ ...problems, name: undefined });
  const caps = { month: "1", week: "", day: "" };
  expect(stillWrong(problems, { caps })).toEqual({ name: "a", expires_at: "d" });
  expect(stillWrong(problems, { models: [] })).toEqual(problems);
  expect(stillWrong({ tags: "e", expires_at: "d" }, { tagsChoice: "keep" })).toEqual({
    expires_at: "d",
  });
});
