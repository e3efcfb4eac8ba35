import { expect, test } from "vitest";

import { RepeatedFailures } from "./health.ts";

const poison = { deploymentId: "d", orgId: "org_1", digest: "one" };

test("a repeat of a failed request is recognized for a minute after the first failure", () => {
  const failures = new RepeatedFailures();
  expect(failures.isRepeat(poison, 1_000)).toBe(false);
  expect(failures.isRepeat(poison, 30_000)).toBe(true);
  expect(failures.isRepeat(poison, 60_999)).toBe(true);
  expect(failures.isRepeat(poison, 61_000)).toBe(false);
  expect(failures.isRepeat(poison, 62_000)).toBe(true);
});

test("a failure of another organization, request or deployment is not a repeat", () => {
  const failures = new RepeatedFailures();
  failures.isRepeat(poison, 0);
  for (const other of [{ orgId: "org_2" }, { digest: "two" }, { deploymentId: "e" }]) {
    expect(failures.isRepeat({ ...poison, ...other }, 1)).toBe(false);
  }
});

test("remembered failures are bounded in time and in number", () => {
  const failures = new RepeatedFailures();
  for (let n = 0; n < 20_000; n += 1)
    failures.isRepeat({ ...poison, digest: String(n) }, n / 1_000);
  expect(failures.size).toBe(10_000);
  failures.isRepeat(poison, 100_000);
  expect(failures.size).toBe(1);
});
