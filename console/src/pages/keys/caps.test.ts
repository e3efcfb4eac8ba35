import { describe, expect, test } from "vitest";

import type { Key } from "../../../../src/account/console-api/contract.ts";
import { capInput, capRows, readCap, strictestCap, type Cap } from "./caps.ts";
import { buildKey } from "./sample-keys.test-data.ts";

describe("the rows of caps", () => {
  test("count requests in flight against a cap, to the micro-dollar, and never leave a negative amount", () => {
    const spent = { cap_usd: "10.000000", spent_usd: "3.000001", in_flight_usd: "0.999999" };
    expect(listRows([capOf({ ...ORG, ...spent })])).toMatchObject([{ leftUsd: "6.000000" }]);
    const over = capOf({ ...ORG, cap_usd: "1.000000", spent_usd: "3.000000" });
    expect(listRows([over])).toMatchObject([{ leftUsd: "0.000000" }]);
  });

  test("begin with the cap with the least left, even if it is the highest", () => {
    const org = capOf({ ...ORG, cap_usd: "100.000000", spent_usd: "99.500000" });
    const key = buildKey({ cap_usd: "5.000000", spent_month_usd: "1.000000" });
    expect(namesOf([org, capOf({})], key)).toEqual(["org month", "key month"]);
  });

  test("have daily and weekly caps with their reset times", () => {
    const key = buildKey({
      cap_usd: "50.000000",
      cap_week_usd: "9.000000",
      spent_week_usd: "7.000000",
      cap_day_usd: "3.000000",
      spent_day_usd: "1.500000",
    });
    expect(listRows([capOf({ in_flight_usd: "0.250000" })], key)).toMatchObject([
      { period: "day", leftUsd: "1.250000", resetAt: RESETS.day_reset_at },
      { period: "week", leftUsd: "1.750000", resetAt: RESETS.week_reset_at },
      { period: "month", leftUsd: "49.750000", resetAt: RESETS.cap_reset_at },
    ]);
  });

  test("list caps with the same amount left in the order in which they refuse requests", () => {
    const all = { cap_usd: "5.000000", cap_week_usd: "5.000000", cap_day_usd: "5.000000" };
    const key = buildKey({ ...all, spent_week_usd: "0.000000", spent_day_usd: "0.000000" });
    const org = capOf({ ...ORG, cap_usd: "5.000000" });
    const order = ["key month", "key week", "key day", "org month"];
    expect(namesOf([org, capOf({})], key)).toEqual(order);
    const last = { ...RESETS, week_reset_at: "2026-12-07T00:00:00.000Z" };
    const rows = capRows([capOf({})], { keys: [key], ...last });
    expect(rows.map(({ period }) => period)).toEqual(["week", "month", "day"]);
  });

  test("end with the one row of a key without any cap", () => {
    const org = capOf({ ...ORG, cap_usd: "5.000000" });
    const bare = capOf({ cap_usd: null });
    expect(namesOf([bare, org], buildKey({}))).toEqual(["org month", "key none"]);
    const daily = buildKey({ cap_day_usd: "1.000000", spent_day_usd: "0.000000" });
    expect(namesOf([bare], daily)).toEqual(["key day"]);
  });
});

const ORG = { scope: "org", key_id: null } as const;
const RESETS = {
  cap_reset_at: "2026-12-01T00:00:00.000Z",
  week_reset_at: "2026-11-30T00:00:00.000Z",
  day_reset_at: "2026-11-28T00:00:00.000Z",
};

function listRows(caps: readonly Cap[], ...keys: readonly Key[]): ReturnType<typeof capRows> {
  return capRows(caps, { keys, ...RESETS });
}

function namesOf(caps: readonly Cap[], key: Key): readonly string[] {
  return listRows(caps, key).map(
    ({ scope, period, capUsd }) => `${scope} ${capUsd === null ? "none" : period}`,
  );
}

function capOf(some: Partial<Cap>): Cap {
  return {
    scope: "key",
    key_id: "key_1",
    name: "Production",
    cap_usd: "5.000000",
    spent_usd: "0.000000",
    in_flight_usd: "0.000000",
    ...some,
  };
}

describe("a typed cap", () => {
  test.each(["", "   ", "$"])("changes nothing if it is blank (%j)", (text) => {
    expect(readCap(text)).toEqual({ kind: "unchanged" });
    expect(capInput(readCap(text))).toBeUndefined();
  });

  test.each(["0", "0.00", "$0", "000"])("removes the cap if it is %s", (text) => {
    expect(readCap(text)).toEqual({ kind: "removed" });
    expect(capInput(readCap(text))).toBe("0");
  });

  test.each([
    ["25", "25"],
    [" $0.000001 ", "0.000001"],
    ["$ 5", "5"],
    ["999999999.999999", "999999999.999999"],
  ])("is sent to the micro-dollar as it was typed: %s", (text, sent) => {
    expect(readCap(text)).toEqual({ kind: "capped", capUsd: sent });
    expect(capInput(readCap(text))).toBe(sent);
  });

  test.each(["-1", "1.0000001", "1,000", "ten", "1e3", "1000000000"])(
    "is refused with a sentence before it is sent: %s",
    (text) => {
      const read = readCap(text);
      expect(read.kind).toBe("problem");
      expect(capInput(read)).toBeUndefined();
    },
  );
});

const MIDDLE_MS = Date.UTC(2026, 11, 9, 12);
/** A Wednesday whose week ends after the month. */
const LAST_MS = Date.UTC(2026, 11, 30, 12);

const NO_CAPS = {
  cap_usd: null,
  spent_month_usd: "4.000000",
  cap_week_usd: null,
  spent_week_usd: null,
  cap_day_usd: null,
  spent_day_usd: null,
};

test("a key without a cap has no strictest cap", () => {
  expect(strictestCap(NO_CAPS, MIDDLE_MS)).toBeUndefined();
});

test("the strictest cap is the one with the least left, not with the largest spent share", () => {
  const month = { ...NO_CAPS, cap_usd: "10.000000" };
  expect(strictestCap(month, MIDDLE_MS)).toEqual({
    name: "monthly",
    share: 0.4,
    leftUsd: "6.000000",
  });
  const day = { ...month, cap_day_usd: "2.000000", spent_day_usd: "0.500000" };
  expect(strictestCap(day, MIDDLE_MS)).toEqual({ name: "daily", share: 0.25, leftUsd: "1.500000" });
});

test("the strictest of caps with the same amount left is the cap that resets last", () => {
  const both = { cap_week_usd: "1.000000", spent_week_usd: "3.000000" };
  const full = { ...NO_CAPS, ...both, cap_day_usd: "2.000000", spent_day_usd: "2.000000" };
  expect(strictestCap(full, MIDDLE_MS)).toMatchObject({ name: "weekly", leftUsd: "0.000000" });
  const all = { ...full, cap_usd: "4.000000" };
  expect(strictestCap(all, MIDDLE_MS)?.name).toBe("monthly");
  expect(strictestCap(all, LAST_MS)?.name).toBe("weekly");
});
