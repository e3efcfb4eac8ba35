import { describe, expect, test } from "vitest";

import type { ListingTrust } from "../../../../src/account/console-api/contract.ts";
import {
  breachLines,
  checkIds,
  checkLabel,
  countTrust,
  listingToShow,
  trustSentence,
} from "./verification-labels.ts";

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

test("the label of a mark names the check and its status", () => {
  const check = { id: "C7", title: "no silent substitution" };
  expect(checkLabel({ ...check, status: "fail" })).toBe("C7 no silent substitution: failed");
  expect(checkLabel({ ...check, status: "skip" })).toBe(
    "C7 no silent substitution: not applicable",
  );
});

test("check ids are sorted by number, each once", () => {
  const listings = [
    { checks: checksOf("C1", "C10", "C2") },
    { checks: checksOf("C12", "C2", "C3") },
  ];
  expect(checkIds(listings)).toEqual(["C1", "C2", "C3", "C10", "C12"]);
});

test("broken promises are listed with their share, without those that were kept", () => {
  expect(breachLines(SUSPICION)).toEqual(["5% named another model", "1% could not be read"]);
});

test("only the provider's own listings are counted", () => {
  const listings = [
    listing("a"),
    listing("b", { state: "failed", suspect: SUSPICION, overbilled_percent: 17 }),
    listing("c", { provider: "other" }),
  ];
  expect(countTrust(listings, "lab")).toEqual({
    listed: 2,
    verified: 1,
    failed: 1,
    suspect: 1,
    overbilledPercent: 17,
  });
});

test("the sentence about a state names the source of its run", () => {
  expect(
    trustSentence(listing("a", { state: "verified_in_part", verdict: "warn", source: "watch" })),
  ).toBe("The latest conformance run passed but for its warnings. Recorded from a scheduled run.");
  const none = { state: "unchecked", verdict: null, source: null } as const;
  expect(trustSentence(listing("a", none))).toBe("No conformance run has finished yet.");
  expect(trustSentence(listing("a", { ...none, verdict: "inconclusive", source: "run" }))).toBe(
    "No conformance run has finished yet. The last run could not complete enough checks. Recorded from a run by the operator.",
  );
});

describe("the listing shown first", () => {
  const failed = listing("b", { state: "failed" });
  const suspect = listing("s", { suspect: SUSPICION });
  const listings = [listing("a"), suspect, failed, listing("c")];

  test("is the one in the address", () => {
    expect(listingToShow(listings, "c")?.model).toBe("c");
  });

  test("is otherwise a failed one, then a suspect one", () => {
    expect(listingToShow(listings, undefined)).toBe(failed);
    expect(listingToShow([listing("a"), suspect], undefined)).toBe(suspect);
    expect(listingToShow(listings, "unknown")).toBe(failed);
  });

  test("is otherwise the first one, if there is any", () => {
    expect(listingToShow([listing("a"), listing("c")], undefined)?.model).toBe("a");
    expect(listingToShow([], undefined)).toBeUndefined();
  });
});
