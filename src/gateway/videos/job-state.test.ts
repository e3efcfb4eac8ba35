import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { runs } from "../../../test/support/depth.ts";
import { JOB_DEADLINE_MS, keptJob, takenJob, reported } from "../../../test/support/video-jobs.ts";
import { picoUsd } from "../../kernel/core/money.ts";
import {
  type EndedJob,
  evaluatePoll,
  firstPollMs,
  type JobUpdate,
  type JobVerdict,
  MISSING_INTERVAL_MS,
  type PollResult,
} from "./job-state.ts";
import type { TakenJob } from "./video-job.ts";

const EVEN = 0.5;

function poll(job: TakenJob, seen: PollResult, random = EVEN): JobVerdict {
  return evaluatePoll(job, seen, random);
}

/** The text for a poll that ended a job, or the state in which it continues. */
function resultOf(verdict: JobVerdict): string {
  if (verdict.kind === "continues") return verdict.update.state;
  return verdict.ended.errorCode ?? "completed";
}

function updateOf(verdict: JobVerdict): JobUpdate {
  if (verdict.kind === "ended") throw new Error(`it has ended: ${verdict.ended.errorCode}`);
  return verdict.update;
}

function nextPollMsOf(verdict: JobVerdict): number {
  return updateOf(verdict).nextPollMs;
}

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
  ] as const)("%s makes a queued job %s", (state, result) => {
    expect(resultOf(poll(takenJob(), { kind: "reported", job: reported(state) }))).toBe(result);
  });

  test("of an end includes the cost, and of a completed job the file's expiry", () => {
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
  ])("progress reported as %s of a job at 40 is %s", (progress, shown) => {
    const seen: PollResult = { kind: "reported", job: reported("in_progress", { progress }) };
    expect(poll(takenJob({ progress: 40 }), seen)).toMatchObject({ update: { progress: shown } });
  });
});

describe("a job that the provider does not know", () => {
  const missed = (polls: number, agoMs: number): TakenJob =>
    takenJob({ takenAtMs: 600_000, missingPolls: polls, missingAtMs: 600_000 - agoMs });

  test("has expired at the third poll that comes a minute after the one before", () => {
    expect(resultOf(poll(takenJob(), { kind: "missing" }))).toBe("queued");
    expect(resultOf(poll(missed(1, MISSING_INTERVAL_MS), { kind: "missing" }))).toBe("queued");
    expect(resultOf(poll(missed(2, MISSING_INTERVAL_MS - 1), { kind: "missing" }))).toBe("queued");
    expect(resultOf(poll(missed(2, MISSING_INTERVAL_MS), { kind: "missing" }))).toBe(
      "video_expired",
    );
  });

  test("is polled again when that can count", () => {
    expect(nextPollMsOf(poll(takenJob(), { kind: "missing" }, 0))).toBe(MISSING_INTERVAL_MS);
    expect(nextPollMsOf(poll(takenJob(), { kind: "missing" }, 0.999))).toBeLessThan(72_001);
  });
});

describe("the deadline", () => {
  const late = takenJob({ takenAtMs: JOB_DEADLINE_MS });

  test.each<[string, PollResult]>([
    ["still runs", { kind: "reported", job: reported("in_progress") }],
    ["reports an unknown state", { kind: "reported", job: reported("unknown") }],
    ["does not know the job", { kind: "missing" }],
    ["does not answer", { kind: "failure" }],
  ])("ends a job whose provider %s", (_, seen) => {
    expect(resultOf(poll(late, seen))).toBe("video_timeout");
    expect(resultOf(poll({ ...late, takenAtMs: JOB_DEADLINE_MS - 1 }, seen))).not.toBe(
      "video_timeout",
    );
  });

  test("does not end a video that was finished before any poll", () => {
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

  test("is no sooner than the provider asks for, within a minute", () => {
    const after = (retryAfterMs: number): number =>
      nextPollMsOf(poll(takenJob(), { kind: "failure", retryAfterMs }, 0));
    expect([1_000, 45_000, 3_600_000].map(after)).toEqual([10_000, 45_000, 60_000]);
  });
});

describe("any history of polls", () => {
  const anyReported = fc.record({
    state: fc.constantFrom("queued" as const, "in_progress" as const, "unknown" as const),
    progress: fc.option(fc.double(), { nil: undefined }),
    costPicoUsd: fc.constant(undefined),
    expiresAtMs: fc.constant(undefined),
  });
  const anyEnd = fc
    .constantFrom("completed" as const, "failed" as const, "refused" as const, "expired" as const)
    .map((state): PollResult => ({ kind: "reported", job: reported(state) }));
  const running = anyReported.map((job): PollResult => ({ kind: "reported", job }));
  const missing = fc.constant<PollResult>({ kind: "missing" });
  const failure = fc
    .integer({ min: 0, max: 600_000 })
    .map((retryAfterMs): PollResult => ({ kind: "failure", retryAfterMs }));
  const steps = (...polls: fc.Arbitrary<PollResult>[]) =>
    fc.array(
      fc.record({
        seen: fc.oneof(...polls),
        waitMs: fc.integer({ min: 0, max: 120_000 }),
        random: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
      }),
      { maxLength: 40 },
    );
  const isEnd = (seen: PollResult | undefined): boolean =>
    seen?.kind === "reported" && !["queued", "in_progress", "unknown"].includes(seen.job.state);
  type Step = { readonly seen: PollResult; readonly waitMs: number; readonly random: number };

  /** Plays it to its end; `check` sees every poll after which it continues. */
  function play(
    history: readonly Step[],
    check: (before: TakenJob, verdict: JobVerdict & { kind: "continues" }, step: Step) => void,
  ): { readonly ended: EndedJob | undefined; readonly at: number } {
    let job = takenJob();
    for (const [at, step] of history.entries()) {
      job = { ...job, takenAtMs: job.takenAtMs + step.waitMs };
      const verdict = evaluatePoll(job, step.seen, step.random);
      if (verdict.kind === "ended") return { ended: verdict.ended, at };
      check(job, verdict, step);
      job = keptJob(job, verdict.update);
    }
    return { ended: undefined, at: history.length };
  }

  test("never takes progress or a state back, and never shows a running job as done", () => {
    const property = fc.property(steps(running, missing, failure), (history) => {
      play(history, (before, { update }) => {
        expect(update.progress).toBeGreaterThanOrEqual(before.progress);
        expect(update.progress).toBeLessThan(100);
        expect(Number.isInteger(update.progress)).toBe(true);
        expect([before.state, "in_progress"]).toContain(update.state);
      });
    });
    fc.assert(property, { numRuns: runs(500) });
  });

  test("asks again between 8 seconds and 72, and 36 while the provider answers", () => {
    const property = fc.property(steps(running, missing, failure), (history) => {
      play(history, (_, { update }, { seen }) => {
        expect(update.nextPollMs).toBeGreaterThanOrEqual(8_000);
        expect(update.nextPollMs).toBeLessThanOrEqual(seen.kind === "reported" ? 36_000 : 72_000);
      });
    });
    fc.assert(property, { numRuns: runs(500) });
  });

  test("ends at the first end that is reported, or by the deadline, or when it was missed thrice", () => {
    const property = fc.property(steps(running, missing, failure, anyEnd), (history) => {
      const last: Step = { seen: { kind: "failure" }, waitMs: JOB_DEADLINE_MS, random: EVEN };
      const { ended, at } = play([...history, last], () => undefined);
      if (ended === undefined) throw new Error("it continues behind its deadline");
      const seen = [...history, last].slice(0, at + 1);
      const missed = seen.filter((step) => step.seen.kind === "missing").length;
      const reason =
        ended.upstreamStatus === 404 && missed >= 3
          ? "missed"
          : ended.errorCode === "video_timeout" && at === history.length
            ? "late"
            : "reported";
      expect(reason === "reported").toBe(isEnd(seen.at(-1)?.seen));
    });
    fc.assert(property, { numRuns: runs(500) });
  });
});
