import * as fc from "fast-check";
import { describe, expect, test } from "vitest";

import { BooksModel } from "../../../test/support/books-model.ts";
import { runs } from "../../../test/support/depth.ts";
import { ended, takenJob } from "../../../test/support/video-jobs.ts";
import { microUsd, picoUsd } from "../../kernel/core/money.ts";
import { systemClock } from "../../kernel/core/time.ts";
import type { CloseRow } from "../../ledger/ledger-store.ts";
import type { JobStore } from "./postgres-job-store.ts";
import type { VideoDeps } from "./video-deps.ts";
import type { VideoErrorCode } from "./video-job.ts";
import { endOfJob, VideoPoller } from "./video-poller.ts";

const NOW_MS = 90_000;
const ERROR_CODES: readonly VideoErrorCode[] = [
  "video_generation_failed",
  "content_policy_violation",
  "video_cancelled",
  "video_expired",
  "video_timeout",
];

/** Closes the attempt in the ledger's model; returns the debit and the overrun. */
function settle(close: CloseRow, reserve: bigint): { debit: bigint; overrun: bigint } {
  const model = new BooksModel();
  model.addOrg("org", ["key"]);
  model.grant("org", reserve, "start");
  const hold = { attempt: close.attemptId, org: "org", key: "key", provider: "acme" };
  expect(model.reserve({ ...hold, amount: reserve })).toEqual({ kind: "reserved" });
  const kind = close.basis === "none" ? "void" : "usage";
  const { attemptId: attempt, costPicoUsd: costPico } = close;
  const { debit, overrun } = model.close({ attempt, costPico, kind });
  expect(model.wallet("org")).toEqual({ settled: reserve - debit, held: 0n });
  return { debit, overrun };
}

describe("a completed job", () => {
  test("owes what the provider reports, exactly", () => {
    const job = takenJob({ startedAtMs: 20_000 });
    const end = endOfJob(job, ended({ costPicoUsd: picoUsd(1_999_999n) }), NOW_MS);
    expect(end).toMatchObject({
      state: "completed",
      errorCode: null,
      reportedCostPicoUsd: 1_999_999n,
    });
    expect(end.close).toEqual({
      attemptId: job.attemptId,
      outcome: "completed",
      usage: null,
      basis: "reported",
      costPicoUsd: 1_999_999n,
      upstreamStatus: 200,
      errorClass: null,
      startedAtMs: 20_000,
      firstByteMs: null,
      durationMs: 70_000,
      final: true,
    });
  });

  test("owes nothing when the provider reports nothing", () => {
    const { close, ...end } = endOfJob(takenJob(), ended(), NOW_MS);
    expect(close).toMatchObject({ outcome: "completed", basis: "none", costPicoUsd: 0n });
    expect(end).not.toHaveProperty("reportedCostPicoUsd");
  });

  test("owes nothing when the reported cost is impossible, and is flagged", () => {
    const costPicoUsd = picoUsd(10n ** 19n);
    const { close } = endOfJob(takenJob(), ended({ costPicoUsd }), NOW_MS);
    const flagged = { basis: "none", costPicoUsd: 0n, errorClass: "usage_impossible" };
    expect(close).toMatchObject({ outcome: "completed", ...flagged });
  });

  test("made with a customer's own provider key debits nothing", () => {
    const job = takenJob({ connectionId: "conn_1", reserveMicroUsd: microUsd(0n) });
    const { close } = endOfJob(job, ended({ costPicoUsd: picoUsd(10n ** 12n) }), NOW_MS);
    expect(close).toMatchObject({ basis: "reported", costPicoUsd: 0n });
    expect(settle(close, 0n)).toEqual({ debit: 0n, overrun: 0n });
  });
});

test.each([
  ["video_generation_failed", "failed", "upstream_error"],
  ["content_policy_violation", "refused", "content_policy"],
  ["video_cancelled", "failed", "upstream_error"],
  ["video_expired", "failed", "upstream_error"],
  ["video_timeout", "timeout", "upstream_error"],
] as const)(
  "a failed job with the error %s is recorded as %s and costs nothing",
  (errorCode, outcome, errorClass) => {
    const costPicoUsd = picoUsd(7n);
    const end = endOfJob(takenJob(), ended({ errorCode, costPicoUsd }), NOW_MS);
    expect(end).toMatchObject({ state: "failed", errorCode, reportedCostPicoUsd: 7n });
    expect(end.close).toMatchObject({ outcome, errorClass, basis: "none", costPicoUsd: 0n });
  },
);

describe("a value that the ledger cannot store", () => {
  test("is capped if it is too long a duration, and is 0 if the clock stepped back", () => {
    const { close } = endOfJob(takenJob(), ended(), 10 * 365 * 86_400_000);
    expect(close.durationMs).toBe(2_147_483_647);
    expect(endOfJob(takenJob({ startedAtMs: 9 }), ended(), 5).close.durationMs).toBe(0);
  });

  test.each([
    [undefined, null],
    [Number.POSITIVE_INFINITY, null],
    [1e20, null],
    [1_795_000_000_000.5, 1_795_000_000_000],
  ])(
    "of a file's expiry is stored as an integer or not at all: %s becomes %s",
    (expiresAtMs, shown) => {
      expect(endOfJob(takenJob(), ended({ expiresAtMs }), NOW_MS).expiresAtMs).toBe(shown);
    },
  );
});

test.each([3_600_000, 1_790_000_000_000])(
  "an expiry of %i, which is not after the job's start, does not hide a file that was paid for",
  (expiresAtMs) => {
    const job = takenJob({ startedAtMs: 1_790_000_000_000 });
    const end = endOfJob(job, ended({ expiresAtMs }), 1_790_000_060_000);
    expect(end.expiresAtMs).toBeNull();
  },
);

test("for any reported cost, a debit is at most its reserve, and a failed job has none", () => {
  const anyCost = fc.option(fc.bigInt({ min: 0n, max: 10n ** 60n }).map(picoUsd), {
    nil: undefined,
  });
  const property = fc.property(
    fc.bigInt({ min: 0n, max: 10n ** 12n }),
    fc.oneof(anyCost, fc.bigInt({ min: 0n, max: 10n ** 9n }).map(picoUsd)),
    fc.option(fc.constantFrom(...ERROR_CODES)),
    (reserve, costPicoUsd, errorCode) => {
      const job = takenJob({ reserveMicroUsd: microUsd(reserve) });
      const { close } = endOfJob(job, ended({ costPicoUsd, errorCode }), NOW_MS);
      const { debit, overrun } = settle(close, reserve);
      const isBelieved = (costPicoUsd ?? 0n) <= reserve * 1_000_000n + 10n ** 18n;
      const owed = errorCode === null && isBelieved ? (costPicoUsd ?? 0n) / 1_000_000n : 0n;
      expect(debit).toBe(owed < reserve ? owed : reserve);
      // The platform pays at most a million dollars for a job, because a higher cost is ignored.
      expect(overrun).toBeLessThanOrEqual(10n ** 12n);
    },
  );
  fc.assert(property, { numRuns: runs(1_000) });
});

test("a poll is leased for longer than its provider may take to answer and to cancel", async () => {
  const leases: number[] = [];
  const takeOne: JobStore["takeOne"] = async (_orgId, _jobId, { leaseMs }) => {
    leases.push(leaseMs);
    return undefined;
  };
  for (const answerTimeoutMs of [10_000, 60_000]) {
    const videos = { sweepMs: 5_000, pollMinMs: 3_000, answerTimeoutMs };
    const deps = { jobs: { takeOne }, videos, clock: systemClock, ledger: { healthy: true } };
    await new VideoPoller(deps as unknown as VideoDeps).refresh(takenJob());
  }
  expect(leases).toEqual([30_000, 130_000]);
});
