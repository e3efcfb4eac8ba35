import { expect, test } from "vitest";

import type { ListingVerdict } from "./postgres-verdict-store.ts";
import { overbilledPercent, judgeVerdict, Verification, VERIFIED_FOR_MS } from "./verification.ts";

const NOW_MS = Date.parse("2026-11-23T10:00:00Z");
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
  ["with a passed run is verified", verdict(), "verified"],
  ["whose run warned is verified in part", verdict({ verdict: "warn" }), "verified_in_part"],
  ["whose run failed is shown as failed", verdict({ verdict: "fail" }), "failed"],
  ["whose run was inconclusive is unchecked", verdict({ verdict: "inconclusive" }), "unchecked"],
  ["without a run is unchecked", undefined, "unchecked"],
  [
    "whose run was of another manifest is shown as changed",
    verdict({ manifestSha256: "cd".repeat(32) }),
    "changed",
  ],
  [
    "whose run was of another upstream id is shown as changed",
    verdict({ upstreamModelId: "two" }),
    "changed",
  ],
  [
    "whose run is 30 days old is still verified",
    verdict({ checkedAtMs: NOW_MS - VERIFIED_FOR_MS }),
    "verified",
  ],
  [
    "whose run is over 30 days old is expired",
    verdict({ checkedAtMs: NOW_MS - VERIFIED_FOR_MS - 1 }),
    "expired",
  ],
])("a listing %s", (_name, last, state) => {
  expect(judgeVerdict(last, DEPLOYMENT, NOW_MS)).toBe(state);
});

test("while the store does not answer, the known verdicts stay in force", async () => {
  const answers: (() => Promise<readonly ListingVerdict[]>)[] = [
    () => Promise.resolve([verdict()]),
    () => Promise.reject(new Error("away")),
  ];
  const verification = new Verification({
    store: {
      latest: () => answers.shift()?.() ?? Promise.resolve([]),
      suspects: () => Promise.resolve([]),
    },
    clock: { nowMs: () => NOW_MS },
    log: { warn: () => undefined },
  });
  const isVerified = (): boolean => verification.isVerified(DEPLOYMENT);
  expect(isVerified()).toBe(false);
  await verification.refresh();
  expect(isVerified()).toBe(true);
  await verification.refresh();
  expect(isVerified()).toBe(true);
  await verification.refresh();
  expect(isVerified()).toBe(false);
});

test("a listing that is no longer suspect is reported once, so that its counts start again", async () => {
  const suspect = {
    providerId: "lab",
    modelId: "lab/one",
    sinceMs: NOW_MS,
    breaches: {
      answers: 200,
      substituted: 3,
      usageMissing: 0,
      usageImpossible: 0,
      boundExceeded: 0,
      wrongFinish: 0,
      unreadable: 0,
    },
  };
  const answers = [[suspect], [suspect], [], []];
  const cleared: string[] = [];
  const verification = new Verification({
    store: {
      latest: () => Promise.resolve([]),
      suspects: () => Promise.resolve(answers.shift() ?? []),
    },
    clock: { nowMs: () => NOW_MS },
    log: { warn: () => undefined },
    onCleared: (listingId) => cleared.push(listingId),
  });
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
