import { expect, test } from "vitest";

import { silentLog } from "../../../test/support/silent-log.ts";
import type { ListingVerdict } from "./postgres-verdict-store.ts";
import { overbilledPercent, judgeVerdict, Verification, VERIFIED_FOR_MS } from "./verification.ts";

const NOW_MS = Date.parse("2026-11-23T10:00:00Z");
const EXPIRY_MS = NOW_MS - VERIFIED_FOR_MS;
const SHA256 = "ab".repeat(32);
const DEPLOYMENT = {
  id: "lab/lab/one",
  providerId: "lab",
  modelId: "lab/one",
  upstreamModelId: "one",
  manifestSha256: SHA256,
};

function verdict(more: Partial<ListingVerdict> = {}): ListingVerdict {
  return {
    providerId: "lab",
    modelId: "lab/one",
    upstreamModelId: "one",
    manifestSha256: SHA256,
    verdict: "pass",
    checkedAtMs: NOW_MS - 1,
    source: "run",
    checks: [],
    ...more,
  };
}

test.each([
  ["with a passed run", "verified", verdict()],
  ["whose run warned", "verified_in_part", verdict({ verdict: "warn" })],
  ["whose run failed", "failed", verdict({ verdict: "fail" })],
  ["whose run was inconclusive", "unchecked", verdict({ verdict: "inconclusive" })],
  ["without a run", "unchecked", undefined],
  ["whose run was of another manifest", "changed", verdict({ manifestSha256: "cd".repeat(32) })],
  ["whose run was of another upstream id", "changed", verdict({ upstreamModelId: "two" })],
  ["whose run is 30 days old", "verified", verdict({ checkedAtMs: EXPIRY_MS })],
  ["whose run is over 30 days old", "expired", verdict({ checkedAtMs: EXPIRY_MS - 1 })],
])("a listing %s is %s", (_name, state, last) => {
  expect(judgeVerdict(last, DEPLOYMENT, NOW_MS)).toBe(state);
});

type Store = ConstructorParameters<typeof Verification>[0]["store"];

function openVerification(store: Partial<Store>, onCleared?: (listingId: string) => void) {
  const nothing = { latest: () => Promise.resolve([]), suspects: () => Promise.resolve([]) };
  return new Verification({
    store: { ...nothing, ...store },
    clock: { nowMs: () => NOW_MS },
    log: silentLog,
    ...(onCleared && { onCleared }),
  });
}

test("while the store does not answer, the known verdicts stay in force, and none is of a changed manifest", async () => {
  const answers: (() => Promise<readonly ListingVerdict[]>)[] = [
    () => Promise.resolve([verdict()]),
    () => Promise.reject(new Error("away")),
  ];
  const verification = openVerification({
    latest: () => answers.shift()?.() ?? Promise.resolve([]),
  });
  expect(verification.isVerified(DEPLOYMENT)).toBe(false);
  const changed = { ...DEPLOYMENT, manifestSha256: "cd".repeat(32) };
  for (const isVerified of [true, true, false]) {
    await verification.refresh();
    expect(verification.isVerified(DEPLOYMENT)).toBe(isVerified);
    expect(verification.isVerified(changed)).toBe(false);
  }
});

test("a listing that is no longer suspect is reported once, so that its counts start again", async () => {
  const breaches = {
    answers: 200,
    substituted: 3,
    usageMissing: 0,
    usageImpossible: 0,
    boundExceeded: 0,
    wrongFinish: 0,
    unreadable: 0,
  };
  const suspect = { providerId: "lab", modelId: "lab/one", sinceMs: NOW_MS, breaches };
  const answers = [[suspect], [suspect], [], []];
  const cleared: string[] = [];
  const verification = openVerification(
    { suspects: () => Promise.resolve(answers.shift() ?? []) },
    (listingId) => cleared.push(listingId),
  );
  await verification.refresh();
  await verification.refresh();
  expect(verification.isSuspect(DEPLOYMENT)).toBe(true);
  expect(cleared).toEqual([]);
  await verification.refresh();
  await verification.refresh();
  expect(verification.isSuspect(DEPLOYMENT)).toBe(false);
  expect(cleared).toEqual(["lab/lab/one"]);
});

test.each([
  [{ percent_too_much: 16.6 }, 17],
  [{ percent_too_much: 1e9 }, 100_000],
  [{ percent_too_much: "much" }, null],
  [undefined, null],
])(
  "a failed usage check with the evidence %j shows %s percent of overbilling",
  (evidence, percent) => {
    const check = { id: "C4", status: "fail", title: "usage", message: "", ms: 1 } as const;
    const checks = [{ ...check, ...(evidence && { evidence }) }];
    expect(overbilledPercent(verdict({ verdict: "fail", checks }))).toBe(percent);
  },
);
