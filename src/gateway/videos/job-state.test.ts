import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { runs } from "../../../test/support/depth.ts";
import { JOB_DEADLINE_MS, keptJob, takenJob, reported } from "../../../test/support/video-jobs.ts";
import type { Deployment } from "../../catalog/catalog.ts";
import { picoUsd } from "../../kernel/core/money.ts";
import { toPollResult } from "./ask-video-provider.ts";
import {
  evaluatePoll,
  firstPollMs,
  type JobVerdict,
  MISSING_INTERVAL_MS,
  type PollResult,
} from "./job-state.ts";
import type { TakenJob } from "./video-job.ts";

const EVEN = 0.5;

function poll(job: TakenJob, seen: PollResult, random = EVEN): JobVerdict {
  return evaluatePoll(job, seen, random);
}

/** Returns a running job's state; for an ended job its error code, or `completed` without one. */
function resultOf(verdict: JobVerdict): string {
  if (verdict.kind === "continues") return verdict.update.state;
  return verdict.ended.errorCode ?? "completed";
}

function nextPollMsOf(verdict: JobVerdict): number {
  if (verdict.kind === "ended") throw new Error(`it has ended: ${verdict.ended.errorCode}`);
  return verdict.update.nextPollMs;
}

test("a failed poll waits for the reset of a rate-limit window only after a 429", () => {
  const answer = { headers: { "x-ratelimit-reset": "50" }, body: Buffer.alloc(0) };
  const resultAt = (status: number) => toPollResult({ ...answer, status }, {} as Deployment, 0);
  expect(resultAt(503)).toEqual({ kind: "failure" });
  expect(resultAt(429)).toEqual({ kind: "failure", retryAfterMs: 50_000 });
});

describe("a provider's report", () => {
  test.each([
    ["queued", "queued"],
    ["in_progress", "in_progress"],
    ["completed", "completed"],
    ["failed", "video_generation_failed"],
    ["refused", "content_policy_violation"],
    ["cancelled", "video_cancelled"],
    ["expired", "video_expired"],
    ["unknown", "queued"],
  ] as const)("of the state %s makes a queued job %s", (state, result) => {
    expect(resultOf(poll(takenJob(), { kind: "reported", job: reported(state) }))).toBe(result);
  });

  test("of an ended job is kept with its cost, and of a completed job also with the file's expiry", () => {
    const job = reported("completed", { costPicoUsd: picoUsd(5n), expiresAtMs: 7 });
    expect(poll(takenJob(), { kind: "reported", job })).toEqual({
      kind: "ended",
      ended: { errorCode: null, costPicoUsd: 5n, expiresAtMs: 7, upstreamStatus: 200 },
    });
    const failed = { ...job, state: "failed" as const };
    expect(poll(takenJob(), { kind: "reported", job: failed })).toMatchObject({
      ended: { costPicoUsd: 5n, expiresAtMs: undefined },
    });
  });

  test("never returns a started job to the queue", () => {
    const job = takenJob({ state: "in_progress", progress: 40 });
    for (const state of ["queued", "unknown"] as const) {
      expect(poll(job, { kind: "reported", job: reported(state, { progress: 3 }) })).toMatchObject({
        update: { state: "in_progress", progress: 40 },
      });
    }
  });

  test.each([
    [undefined, 40],
    [Number.NaN, 40],
    [-5, 40],
    [41.9, 41],
    [100, 99],
    [Number.POSITIVE_INFINITY, 99],
  ])("of the progress %s for a job at 40 shows %s", (progress, shown) => {
    const seen: PollResult = { kind: "reported", job: reported("in_progress", { progress }) };
    expect(poll(takenJob({ progress: 40 }), seen)).toMatchObject({ update: { progress: shown } });
  });
});

describe("a job that the provider does not know", () => {
  const missed = (polls: number, agoMs: number): TakenJob =>
    takenJob({ takenAtMs: 600_000, missingPolls: polls, missingAtMs: 600_000 - agoMs });

  test("expires at the third missing poll, if each comes at least a minute after the one before", () => {
    expect(resultOf(poll(takenJob(), { kind: "missing" }))).toBe("queued");
    expect(resultOf(poll(missed(1, MISSING_INTERVAL_MS), { kind: "missing" }))).toBe("queued");
    expect(resultOf(poll(missed(2, MISSING_INTERVAL_MS - 1), { kind: "missing" }))).toBe("queued");
    expect(resultOf(poll(missed(2, MISSING_INTERVAL_MS), { kind: "missing" }))).toBe(
      "video_expired",
    );
  });

  test("is polled again after at least a minute, when a missing poll counts again", () => {
    expect(nextPollMsOf(poll(takenJob(), { kind: "missing" }, 0))).toBe(MISSING_INTERVAL_MS);
    expect(nextPollMsOf(poll(takenJob(), { kind: "missing" }, 0.999))).toBeLessThan(72_001);
  });
});

describe("the deadline of a job", () => {
  const late = takenJob({ takenAtMs: JOB_DEADLINE_MS });

  test.each<[string, PollResult]>([
    ["reports it as in progress", { kind: "reported", job: reported("in_progress") }],
    ["reports an unknown state", { kind: "reported", job: reported("unknown") }],
    ["does not know the job", { kind: "missing" }],
    ["does not answer", { kind: "failure" }],
  ])("ends a job whose provider %s", (_, seen) => {
    expect(resultOf(poll(late, seen))).toBe("video_timeout");
    expect(resultOf(poll({ ...late, takenAtMs: JOB_DEADLINE_MS - 1 }, seen))).not.toBe(
      "video_timeout",
    );
  });

  test("does not replace an end that the provider reports in the same poll", () => {
    expect(resultOf(poll(late, { kind: "reported", job: reported("completed") }))).toBe(
      "completed",
    );
    expect(resultOf(poll(late, { kind: "reported", job: reported("failed") }))).toBe(
      "video_generation_failed",
    );
  });
});

describe("the next poll", () => {
  const running: PollResult = { kind: "reported", job: reported("in_progress") };

  test("comes after 5, 10, 15, 20, 30, 30, … seconds, 20 % sooner or later", () => {
    const spacings = [0, EVEN, 1].map((random) =>
      [0, 1, 2, 3, 4, 50].map((polls) => nextPollMsOf(poll(takenJob({ polls }), running, random))),
    );
    expect(firstPollMs).toBe(5_000);
    expect(spacings).toEqual([
      [8_000, 12_000, 16_000, 24_000, 24_000, 24_000],
      [10_000, 15_000, 20_000, 30_000, 30_000, 30_000],
      [12_000, 18_000, 24_000, 36_000, 36_000, 36_000],
    ]);
  });

  test("waits up to a minute for a provider that does not answer", () => {
    const spacings = [0, 1, 2, 3, 4, 1_000].map((pollFailures) =>
      nextPollMsOf(poll(takenJob({ pollFailures }), { kind: "failure" }, 0)),
    );
    expect(spacings).toEqual([10_000, 20_000, 40_000, 60_000, 60_000, 60_000]);
  });

  test("is no sooner than the provider's retry-after, up to a minute", () => {
    const after = (retryAfterMs: number): number =>
      nextPollMsOf(poll(takenJob(), { kind: "failure", retryAfterMs }, 0));
    expect([1_000, 45_000, 3_600_000].map(after)).toEqual([10_000, 45_000, 60_000]);
  });
});

test("for any history, a job ends at its first reported end, its third missing poll or its deadline", () => {
  const reportedAs = (...states: Parameters<typeof reported>[0][]) =>
    fc
      .constantFrom(...states)
      .map((state): PollResult => ({ kind: "reported", job: reported(state) }));
  const missing = fc.constant<PollResult>({ kind: "missing" });
  const failure = fc.constant<PollResult>({ kind: "failure" });
  const running = reportedAs("queued", "in_progress", "unknown");
  const end = reportedAs("completed", "failed", "refused", "expired");
  const isEnd = (seen: PollResult): boolean =>
    seen.kind === "reported" && !["queued", "in_progress", "unknown"].includes(seen.job.state);
  const step = fc.record({
    seen: fc.oneof(running, missing, failure, end),
    waitMs: fc.integer({ min: 0, max: 120_000 }),
  });
  const property = fc.property(fc.array(step, { maxLength: 40 }), (history) => {
    const last = { seen: { kind: "failure" } as PollResult, waitMs: JOB_DEADLINE_MS };
    const steps = [...history, last];
    let job = takenJob();
    let missed = 0;
    let reason: string | undefined;
    for (const [at, { seen, waitMs }] of steps.entries()) {
      job = { ...job, takenAtMs: job.takenAtMs + waitMs };
      if (seen.kind === "missing") missed += 1;
      const verdict = poll(job, seen);
      if (verdict.kind === "continues") {
        job = keptJob(job, verdict.update);
        if (!isEnd(seen)) continue;
        reason = "overlooked";
        break;
      }
      const { errorCode, upstreamStatus } = verdict.ended;
      const isMissed = upstreamStatus === 404 && missed >= 3;
      const isLate = errorCode === "video_timeout" && at === history.length;
      reason = isMissed ? "missed" : isLate ? "late" : isEnd(seen) ? "reported" : "too early";
      break;
    }
    expect(reason).toMatch(/^(missed|late|reported)$/);
  });
  fc.assert(property, { numRuns: runs(500) });
});
