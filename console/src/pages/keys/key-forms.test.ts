import { describe, expect, test } from "vitest";

import type { Key } from "../../../../src/account/console-api/contract.ts";
import { NewKey } from "../../../../src/account/console-api/contract/keys.ts";
import { NO_EXPIRY } from "./expiry-choice.ts";
import { BLANK_CAPS } from "./key-caps.ts";
import {
  MODELS_MAX,
  readKeyChange,
  readKeysChange,
  readNewKey,
  type TypedKeysChange,
  stillWrong,
} from "./key-forms.ts";

const KEY: Key = {
  key_id: "key_1",
  name: "Production",
  label: "tm_vk_012345",
  origin: "trial",
  created_at: "2026-10-01T00:00:00.000Z",
  disabled_at: null,
  expires_at: null,
  is_expired: false,
  models: null,
  last_used_at: null,
  rpm_ceiling: 20,
  rpm: 10,
  rpm_effective: 10,
  cap_usd: "5.000000",
  spent_month_usd: "0.000000",
  cap_week_usd: null,
  spent_week_usd: null,
  cap_day_usd: null,
  spent_day_usd: null,
  tags: [],
};

const NOW_MS = Date.parse("2026-11-24T12:00:00Z");
const NEW = { rpmMax: 300, nowMs: NOW_MS };
const CHANGED = { key: KEY, nowMs: NOW_MS };

describe("a new key", () => {
  test("needs only a name, and blank limits are left out", () => {
    expect(
      readNewKey(
        {
          name: "  Nightly ",
          rpm: "",
          caps: BLANK_CAPS,
          tags: "",
          expiry: NO_EXPIRY,
          models: [],
        },
        NEW,
      ),
    ).toEqual({
      isReady: true,
      body: { name: "Nightly" },
    });
  });

  test("takes a limit and a cap", () => {
    expect(
      readNewKey(
        {
          name: "n",
          rpm: "60",
          caps: { ...BLANK_CAPS, month: "12.5" },
          tags: "",
          expiry: NO_EXPIRY,
          models: [],
        },
        NEW,
      ),
    ).toEqual({
      isReady: true,
      body: { name: "n", rpm: 60, cap_usd: "12.5" },
    });
  });

  test("takes an expiry", () => {
    const expiry = { choice: "30", date: "" } as const;
    expect(
      readNewKey({ name: "n", rpm: "", caps: BLANK_CAPS, tags: "", expiry, models: [] }, NEW),
    ).toEqual({
      isReady: true,
      body: { name: "n", expires_at: "2026-12-24T12:00:00.000Z" },
    });
  });

  test("reports the problems of all fields at once", () => {
    const read = readNewKey(
      {
        name: " ",
        rpm: "301",
        caps: { ...BLANK_CAPS, month: "-1" },
        tags: "",
        expiry: NO_EXPIRY,
        models: [],
      },
      NEW,
    );
    expect(read.isReady).toBe(false);
    expect(Object.keys(read.isReady ? {} : read.problems)).toEqual(["name", "rpm", "cap_usd"]);
  });

  test.each(["0", "-5", "1.5", "1e2", "many"])("refuses a limit of %s", (rpm) => {
    expect(
      readNewKey(
        {
          name: "n",
          rpm,
          caps: BLANK_CAPS,
          tags: "",
          expiry: NO_EXPIRY,
          models: [],
        },
        NEW,
      ).isReady,
    ).toBe(false);
  });
});

describe("a change of a key", () => {
  test("sends nothing for blank fields", () => {
    expect(
      readKeyChange(
        { rpm: "", caps: { ...BLANK_CAPS, month: " " }, tags: "", expiry: NO_EXPIRY, models: [] },
        CHANGED,
      ),
    ).toEqual({
      isReady: true,
      body: {},
    });
  });

  test("can remove the expiry, and refuses a date in the past", () => {
    const typed = { rpm: "", caps: BLANK_CAPS, tags: "", models: [] };
    const never = { ...typed, expiry: { choice: "never", date: "" } } as const;
    expect(readKeyChange(never, CHANGED)).toMatchObject({ body: { expires_at: "never" } });
    const past = { ...typed, expiry: { choice: "date", date: "2020-01-01" } } as const;
    expect(readKeyChange(past, CHANGED)).toEqual({
      isReady: false,
      problems: { expires_at: "Choose today or a later date." },
    });
  });

  test("sends models only if they differ, and an empty list for all models", () => {
    const capped = { ...CHANGED, key: { ...KEY, models: ["acme/a", "acme/b"] } };
    const typed = { rpm: "", caps: BLANK_CAPS, tags: "", expiry: NO_EXPIRY };
    const read = (models: readonly string[]): unknown =>
      readKeyChange({ ...typed, models }, capped);
    expect(read(["acme/b", "acme/a"])).toEqual({ isReady: true, body: {} });
    expect(read(["acme/a"])).toEqual({ isReady: true, body: { models: ["acme/a"] } });
    expect(read([])).toEqual({ isReady: true, body: { models: [] } });
  });

  test("removes the limit and the cap by 0", () => {
    expect(
      readKeyChange(
        { rpm: "0", caps: { ...BLANK_CAPS, month: "0" }, tags: "", expiry: NO_EXPIRY, models: [] },
        CHANGED,
      ),
    ).toEqual({
      isReady: true,
      body: { rpm: 0, cap_usd: "0" },
    });
  });

  test("refuses a limit above the key's ceiling and names the ceiling", () => {
    const read = readKeyChange(
      { rpm: "21", caps: BLANK_CAPS, tags: "", expiry: NO_EXPIRY, models: [] },
      CHANGED,
    );
    expect(read.isReady ? "" : read.problems.rpm).toContain("from 1 to 20");
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
  ] as const)("reports a problem of %s before it is sent", (field, typed) => {
    const read = readKeysChange({ ...KEEP, ...typed }, NOW_MS);
    expect(read).toMatchObject({ isReady: false, problems: { [field]: expect.any(String) } });
  });
});

test("a changed field has no problem until it is sent again", () => {
  const problems = { name: "a", cap_usd: "b", cap_day_usd: "c", expires_at: "d" };
  expect(stillWrong(problems, { name: "x" })).toEqual({ ...problems, name: undefined });
  const caps = { month: "1", week: "", day: "" };
  expect(stillWrong(problems, { caps })).toEqual({ name: "a", expires_at: "d" });
  expect(stillWrong(problems, { models: [] })).toEqual(problems);
});
