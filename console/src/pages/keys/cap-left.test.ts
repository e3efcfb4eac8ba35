import { expect, test } from "vitest";

import type { Key } from "../../../../src/account/console-api/contract.ts";
import { capRows, type Cap } from "./caps.ts";
import { buildKey } from "./sample-keys.test-data.ts";

test("requests in flight count against a cap, to the micro-dollar", () => {
  const cap = capOf({
    ...ORG,
    cap_usd: "10.000000",
    spent_usd: "3.000001",
    in_flight_usd: "0.999999",
  });
  expect(capRows([cap], { keys: [], ...RESETS })).toMatchObject([{ leftUsd: "6.000000" }]);
});

test("a cap below the spent amount leaves zero, not a negative amount", () => {
  const cap = capOf({ ...ORG, cap_usd: "1.000000", spent_usd: "3.000000" });
  expect(capRows([cap], { keys: [], ...RESETS })).toMatchObject([{ leftUsd: "0.000000" }]);
});

test("the cap with the least left comes first, even if it is the highest", () => {
  const org = capOf({ ...ORG, cap_usd: "100.000000", spent_usd: "99.500000" });
  const key = buildKey({ cap_usd: "5.000000", spent_month_usd: "1.000000" });
  expect(namesOf([org, capOf({})], key)).toEqual(["org month", "key month"]);
});

test("daily and weekly caps have rows with their reset times", () => {
  const key = buildKey({
    cap_usd: "50.000000",
    cap_week_usd: "9.000000",
    spent_week_usd: "7.000000",
    cap_day_usd: "3.000000",
    spent_day_usd: "1.500000",
  });
  const own = capOf({ in_flight_usd: "0.250000" });
  expect(capRows([own], { keys: [key], ...RESETS })).toMatchObject([
    { period: "day", leftUsd: "1.250000", resetAt: RESETS.day_reset_at },
    { period: "week", leftUsd: "1.750000", resetAt: RESETS.week_reset_at },
    { period: "month", leftUsd: "49.750000", resetAt: RESETS.cap_reset_at },
  ]);
});

test("caps with the same amount left are listed in the order in which they refuse requests", () => {
  const all = { cap_usd: "5.000000", cap_week_usd: "5.000000", cap_day_usd: "5.000000" };
  const key = buildKey({ ...all, spent_week_usd: "0.000000", spent_day_usd: "0.000000" });
  const org = capOf({ ...ORG, cap_usd: "5.000000" });
  const order = ["key month", "key week", "key day", "org month"];
  expect(namesOf([org, capOf({})], key)).toEqual(order);
  const last = { ...RESETS, week_reset_at: "2026-12-07T00:00:00.000Z" };
  const rows = capRows([capOf({})], { keys: [key], ...last });
  expect(rows.map(({ period }) => period)).toEqual(["week", "month", "day"]);
});

test("a key without any cap has one row without a cap, which comes last", () => {
  const org = capOf({ ...ORG, cap_usd: "5.000000" });
  const bare = capOf({ cap_usd: null });
  expect(namesOf([bare, org], buildKey({}))).toEqual(["org month", "key none"]);
  const daily = buildKey({ cap_day_usd: "1.000000", spent_day_usd: "0.000000" });
  expect(namesOf([bare], daily)).toEqual(["key day"]);
});

const ORG = { scope: "org", key_id: null } as const;
const RESETS = {
  cap_reset_at: "2026-12-01T00:00:00.000Z",
  week_reset_at: "2026-11-30T00:00:00.000Z",
  day_reset_at: "2026-11-28T00:00:00.000Z",
};

function namesOf(caps: readonly Cap[], key: Key): readonly string[] {
  return capRows(caps, { keys: [key], ...RESETS }).map(
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
