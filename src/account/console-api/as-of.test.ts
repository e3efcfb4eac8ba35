import { expect, test } from "vitest";

import type { UsageReports } from "../../gateway/records/postgres-usage-reports.ts";
import { datedReports } from "./overview.ts";

/** Reports whose parts were served at these instants; undefined stands for the primary. */
function reportsOf(ages: readonly (number | undefined)[]): UsageReports {
  return {
    noting: (onServed: (asOfMs: number) => void) => {
      for (const asOfMs of ages) if (asOfMs !== undefined) onServed(asOfMs);
      return {} as UsageReports;
    },
  } as UsageReports;
}

test("an answer has the age of its oldest part, and none if the primary served all of it", () => {
  const at = (text: string): number => Date.parse(text);
  const parts = [undefined, at("2026-11-22T01:00:07Z"), at("2026-11-22T01:00:03Z")];
  expect(datedReports(reportsOf(parts)).asOf()).toEqual({ as_of: "2026-11-22T01:00:03.000Z" });
  expect(datedReports(reportsOf([undefined])).asOf()).toEqual({});
});
