import { expect, onTestFinished, test, vi } from "vitest";

import type { ListingVerdict } from "../../src/gateway/verification/postgres-verdict-store.ts";
import { withBackend, withOtherBackend } from "../support/postgres.ts";
import { testOperator } from "../support/test-operator.ts";

const backend = withBackend();
/** The same database, opened by another process. */
const other = withOtherBackend(backend);
const START_MS = Date.parse("2026-01-01T00:00:00Z");
const MINUTE_MS = 60_000;

function verdict(providerId: string, modelId: string, minute: number): ListingVerdict {
  return {
    providerId,
    modelId,
    upstreamModelId: "up",
    manifestSha256: "a".repeat(64),
    verdict: "fail",
    checkedAtMs: START_MS + minute * MINUTE_MS,
    source: "watch",
    checks: [
      {
        id: "C7",
        status: "fail",
        title: "no silent substitution",
        message: "another model",
        ms: 3,
        evidence: { reported: ["mini", null], tokens: 1.5 },
      },
    ],
  };
}

test("the history of a listing has its own records, newest first, at most 20", async () => {
  const { verdictStore } = backend;
  const newestFirst = Array.from({ length: 25 }, (_, at) => verdict("lab", "m", 24 - at));
  await verdictStore.record(newestFirst, testOperator);
  await verdictStore.record([verdict("lab", "other", 99), verdict("labs", "m", 99)], testOperator);
  const history = await verdictStore.history({ providerId: "lab", modelId: "m" });
  expect(history).toEqual(newestFirst.slice(0, 20));
});

test("the latest verdicts include those that another process recorded", async () => {
  const { verdictStore } = backend;
  const later = { ...verdict("lab", "m", 200), verdict: "pass" as const };
  await verdictStore.record([verdict("lab", "m", 100)], testOperator);
  const before = await verdictStore.latest();
  expect(before.find(({ modelId }) => modelId === "m")).toEqual(verdict("lab", "m", 100));
  expect(await verdictStore.latest()).toBe(before);
  await other.verdictStore.record([later], testOperator);
  const after = await verdictStore.latest();
  expect(after.find(({ modelId }) => modelId === "m")).toEqual(later);
});

test.each([
  { when: "before", runIsLaterMs: 0, isStillSuspect: true },
  { when: "after", runIsLaterMs: 10_000, isStillSuspect: false },
])(
  "a run that began $when a listing became suspect is known as such though its host is an hour ahead",
  async ({ when, runIsLaterMs, isStillSuspect }) => {
    const { verdictStore } = backend;
    const now = Date.now;
    const ahead = vi.spyOn(Date, "now").mockImplementation(() => now() + 60 * MINUTE_MS);
    onTestFinished(() => ahead.mockRestore());
    const broken = { substituted: 3, usageMissing: 0, usageImpossible: 0, boundExceeded: 0 };
    const breaches = { answers: 9, ...broken, wrongFinish: 0, unreadable: 0 };
    const listing = { providerId: "lab", modelId: `suspect ${when}` };
    const checkedAtMs = Date.now() + runIsLaterMs;
    await verdictStore.suspect(listing, breaches);
    const passed = { ...verdict("lab", listing.modelId, 0), verdict: "pass" as const, checkedAtMs };
    await verdictStore.record([passed], testOperator);
    const suspects = await verdictStore.suspects();
    expect(suspects.some(({ modelId }) => modelId === listing.modelId)).toBe(isStillSuspect);
  },
);
