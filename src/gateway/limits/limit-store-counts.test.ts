import { expect, test } from "vitest";

import { systemClock } from "../../kernel/core/time.ts";
import { LimitStoreCounts, measuredLink } from "./limit-store-counts.ts";

function shown(counts: LimitStoreCounts): string {
  return counts
    .families()
    .flatMap((family) => [...family.parts("classic")])
    .join("");
}

test("a store that stops answering is down until it answers again, and each fault is counted", async () => {
  const counts = new LimitStoreCounts();
  let isAway = false;
  const run = (): Promise<unknown> =>
    isAway ? Promise.reject(new Error("away")) : Promise.resolve([1]);
  const link = measuredLink({ run }, counts, systemClock);
  await link.run("claimLimits", [], []);
  expect(shown(counts)).toContain('\ntm_limit_store_seconds_count{op="claim"} 1\n');
  expect(shown(counts)).toContain("\ntm_limit_store_up 1\n");
  isAway = true;
  await expect(link.run("readCooldowns", [], [])).rejects.toThrow("away");
  counts.late();
  expect(shown(counts)).toContain("\ntm_limit_store_up 0\n");
  expect(shown(counts)).toContain("\ntm_limit_store_faults_total 2\n");
  expect(shown(counts)).toContain('\ntm_limit_store_seconds_count{op="health"} 1\n');
  isAway = false;
  await link.run("handBackLimits", [], []);
  expect(shown(counts)).toContain("\ntm_limit_store_up 1\n");
});
