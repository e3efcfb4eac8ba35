import { describe, expect, test } from "vitest";

import type { ListingTrust } from "../../../../src/account/console-api/contract.ts";
import { checkIds, listingToShow } from "./verification-labels.ts";

const SUSPICION = {
  since: "2026-11-20T10:00:00.000Z",
  substituted_percent: 5,
  usage_missing_percent: 0,
  usage_impossible_percent: 0,
  bound_exceeded_percent: 0,
  wrong_finish_percent: 0,
  unreadable_percent: 1,
};

function listing(model: string, change: Partial<ListingTrust> = {}): ListingTrust {
  return {
    provider: "lab",
    model,
    state: "verified",
    verdict: "pass",
    source: "run",
    checked_at: "2026-11-20T10:00:00.000Z",
    ends_at: null,
    flaws: [],
    overbilled_percent: null,
    suspect: null,
    checks: [],
    ...change,
  };
}

function checksOf(...ids: readonly string[]): ListingTrust["checks"] {
  return ids.map((id) => ({ id, title: "", status: "pass", message: "", evidence: [] }));
}

test("check ids are sorted by number, each once", () => {
  const listings = [
    { checks: checksOf("C1", "C10", "C2") },
    { checks: checksOf("C12", "C2", "C3") },
  ];
  expect(checkIds(listings)).toEqual(["C1", "C2", "C3", "C10", "C12"]);
});

describe("the listing shown first", () => {
  const failed = listing("b", { state: "failed" });
  const suspect = listing("s", { suspect: SUSPICION });
  const listings = [listing("a"), suspect, failed, listing("c")];

  test("is the listing whose model is in the address", () => {
    expect(listingToShow(listings, "c")?.model).toBe("c");
  });

  test("is a failed listing, else a suspect listing, if the address names no known model", () => {
    expect(listingToShow(listings, undefined)).toBe(failed);
    expect(listingToShow([listing("a"), suspect], undefined)).toBe(suspect);
    expect(listingToShow(listings, "unknown")).toBe(failed);
  });

  test("is the first listing if none is failed or suspect", () => {
    expect(listingToShow([listing("a"), listing("c")], undefined)?.model).toBe("a");
    expect(listingToShow([], undefined)).toBeUndefined();
  });
});
