import * as fc from "fast-check";
import { expect, test } from "vitest";

import { listingKey } from "./conduct.ts";
import type { KnownRuns } from "./postgres-watch-store.ts";
import { dueListings, nextRunMs } from "./watch-schedule.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const WEEK_MS = 7 * DAY_MS;
const NOW_MS = Date.parse("2026-11-23T10:00:00Z");
const SHA256 = "ab".repeat(32);

function listing(modelId: string) {
  const providerId = "lab";
  const id = listingKey({ providerId, modelId });
  return { id, providerId, modelId, upstreamModelId: "one", manifestSha256: SHA256 };
}

const LISTING = listing("lab/one");

function due(runs: KnownRuns) {
  const known = new Map([["lab/lab/one", runs]]);
  const [first] = dueListings([LISTING], known, WEEK_MS);
  if (first === undefined) throw new Error("every listing has a time");
  return { isDue: first.atMs <= NOW_MS, reason: first.reason, atMs: first.atMs };
}

function verdict(agoMs: number, more: Partial<NonNullable<KnownRuns["verdict"]>> = {}) {
  return {
    upstreamModelId: "one",
    manifestSha256: SHA256,
    isConclusive: true,
    checkedAtMs: NOW_MS - agoMs,
    ...more,
  };
}

function attempt(agoMs: number, isRecorded: boolean) {
  return { startedMs: NOW_MS - agoMs, isRecorded };
}

const HOUR_AGO = verdict(HOUR_MS);
const WEEK_AGO = verdict(WEEK_MS);
const OTHER_MANIFEST = verdict(HOUR_MS, { manifestSha256: "cd".repeat(32) });
const OTHER_UPSTREAM_ID = verdict(1, { upstreamModelId: "two" });
const OPEN = { isConclusive: false };

test.each<[string, KnownRuns, string]>([
  ["that was never checked", {}, "unchecked"],
  ["whose run is older than the interval", { verdict: WEEK_AGO }, "interval"],
  [
    "that became suspect after its run",
    { verdict: HOUR_AGO, suspectSinceMs: NOW_MS - 1 },
    "suspect",
  ],
  ["whose manifest changed", { verdict: OTHER_MANIFEST }, "changed"],
  ["whose upstream id changed", { verdict: OTHER_UPSTREAM_ID }, "changed"],
  ["whose run was inconclusive a day ago", { verdict: verdict(DAY_MS, OPEN) }, "retry"],
  ["whose run was lost a day ago", { verdict: WEEK_AGO, attempt: attempt(DAY_MS, false) }, "retry"],
])("a listing %s is due", (_name, runs, reason) => {
  expect(due(runs)).toMatchObject({ isDue: true, reason });
});

const AFTER_A_LOST_RUN = { verdict: HOUR_AGO, attempt: attempt(2 * HOUR_MS, false) };
/** The run began after the suspicion by the database's clock. */
const SUSPECT_BEFORE_RUN = {
  verdict: verdict(2 * HOUR_MS),
  attempt: attempt(HOUR_MS, true),
  suspectSinceMs: NOW_MS - HOUR_MS - 1,
};

test.each<[string, KnownRuns, string]>([
  ["that was checked an hour ago", { verdict: HOUR_AGO }, "interval"],
  [
    "that became suspect before its run",
    { verdict: HOUR_AGO, suspectSinceMs: NOW_MS - 2 * HOUR_MS },
    "interval",
  ],
  ["that became suspect before its recorded run began", SUSPECT_BEFORE_RUN, "interval"],
  ["whose run was inconclusive an hour ago", { verdict: verdict(HOUR_MS, OPEN) }, "retry"],
  ["whose run began an hour ago", { verdict: WEEK_AGO, attempt: attempt(HOUR_MS, false) }, "retry"],
  ["whose first run is in progress", { attempt: attempt(1, false) }, "retry"],
  ["that was checked by hand after a scheduled run was lost", AFTER_A_LOST_RUN, "interval"],
])("a listing %s is not due", (_name, runs, reason) => {
  expect(due(runs)).toMatchObject({ isDue: false, reason });
});

test("the listing that is due first comes first", () => {
  const names = ["lab/late", "lab/old", "lab/new", "lab/older"];
  const known = new Map<string, KnownRuns>([
    ["lab/lab/late", { verdict: verdict(HOUR_MS) }],
    ["lab/lab/old", { verdict: verdict(4 * WEEK_MS) }],
    ["lab/lab/older", { verdict: verdict(6 * WEEK_MS) }],
  ]);
  const dues = dueListings(names.map(listing), known, WEEK_MS);
  expect(dues.map((each) => each.listing.modelId)).toEqual([
    "lab/new",
    "lab/older",
    "lab/old",
    "lab/late",
  ]);
});

const anyInterval = fc.integer({ min: HOUR_MS, max: 30 * DAY_MS });
const anyName = fc.record({
  providerId: fc.string({ minLength: 1 }),
  modelId: fc.string({ minLength: 1 }),
});

test("the next run is due a quarter of an interval to one interval after the last run", () => {
  fc.assert(
    fc.property(
      anyName,
      fc.integer({ min: 0, max: NOW_MS }),
      anyInterval,
      (name, lastMs, interval) => {
        const waitMs = nextRunMs(name, lastMs, interval) - lastMs;
        expect(waitMs).toBeGreaterThanOrEqual(interval / 4 - 1);
        expect(waitMs).toBeLessThanOrEqual(interval);
      },
    ),
  );
});

test("a thousand listings that were checked together are spread over the interval", () => {
  const names = Array.from({ length: 1_000 }, (_, at) => listing(`lab/${at}`));
  const lastMs = new Map(names.map((each) => [each, NOW_MS]));
  for (let runs = 0; runs < 3; runs += 1) {
    for (const each of names) {
      lastMs.set(each, nextRunMs(each, lastMs.get(each) ?? 0, WEEK_MS));
    }
  }
  const byTenth = Array.from({ length: 10 }, () => 0);
  for (const ms of lastMs.values()) {
    const tenth = Math.floor(((ms % WEEK_MS) / WEEK_MS) * 10);
    byTenth[tenth] = (byTenth[tenth] ?? 0) + 1;
  }
  expect(Math.min(...byTenth)).toBeGreaterThan(60);
  expect(Math.max(...byTenth)).toBeLessThan(150);
});
