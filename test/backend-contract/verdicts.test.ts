import { expect, test } from "vitest";

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
