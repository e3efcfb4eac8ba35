import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { runs } from "../../test/support/depth.ts";
import { JOB_DEADLINE_MS, keptJob, takenJob, told } from "../../test/support/video-jobs.ts";
import { picoUsd } from "../core/money.ts";
import {
  firstPollMs,
  judgeLook,
  missingApartMs,
  type EndedJob,
  type JobLook,
  type JobVerdict,
} from "./job-state.ts";
import type { JobNews } from "./job-store.ts";
import type { TakenJob } from "./video-job.ts";

const EVEN = 0.5;

function look(job: TakenJob, seen: JobLook, random = EVEN): JobVerdict {
  return judgeLook(job, seen, random);
}

/** The text for a poll that ended a job, or the state in which it continues. */
function resultOf(verdict: JobVerdict): string {
  if (verdict.kind === "goes_on") return verdict.news.state;
  return verdict.ended.errorCode ?? "completed";
}

function newsOf(verdict: JobVerdict): JobNews {
  if (verdict.kind === "ended") throw new Error(`it has ended: ${verdict.ended.errorCode}`);
  return verdict.news;
}

function nextPollMsOf(verdict: JobVerdict): number {
  return newsOf(verdict).nextPollMs;
}

describe("what a provider says", () => {
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
    expect(resultOf(look(takenJob(), { kind: "told", job: told(state) }))).toBe(result);
  });

  test("an end brings its cost, and a completed one its file's last day", () => {
    const job = told("completed", { costPicoUsd: picoUsd(5n), expiresAtMs: 7 });
    expect(look(takenJob(), { kind: "told", job })).toEqual({
      kind: "ended",
      ended: { errorCode: null, costPicoUsd: 5n, expiresAtMs: 7, upstreamStatus: 200 },
    });
    const failed = { ...job, state: "failed" as const };
    expect(look(takenJob(), { kind: "told", job: failed })).toMatchObject({
      ended: { costPicoUsd: 5n, expiresAtMs: undefined },
    });
  });

  test("a job that has started does not wait again, whatever the provider says", () => {
    const job = takenJob({ state: "in_progress", progress: 40 });
    for (const state of ["queued", "unknown"] as const) {
      expect(look(job, { kind: "told", job: told(state, { progress: 3 }) })).toMatchObject({
        news: { state: "in_progress", progress: 40 },
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
    const seen: JobLook = { kind: "told", job: told("in_progress", { progress }) };
    expect(look(takenJob({ progress: 40 }), seen)).toMatchObject({ news: { progress: shown } });
  });
});

describe("a job that the provider does not know", () => {
  const missed = (polls: number, agoMs: number): TakenJob =>
    takenJob({ takenAtMs: 600_000, missingPolls: polls, missingAtMs: 600_000 - agoMs });

  test("has expired at the third poll that is a minute behind the one before", () => {
    expect(resultOf(look(takenJob(), { kind: "missing" }))).toBe("queued");
    expect(resultOf(look(missed(1, missingApartMs), { kind: "missing" }))).toBe("queued");
    expect(resultOf(look(missed(2, missingApartMs - 1), { kind: "missing" }))).toBe("queued");
    expect(resultOf(look(missed(2, missingApartMs), { kind: "missing" }))).toBe("video_expired");
  });

  test("is polled again when that can count", () => {
    expect(nextPollMsOf(look(takenJob(), { kind: "missing" }, 0))).toBe(missingApartMs);
    expect(nextPollMsOf(look(takenJob(), { kind: "missing" }, 0.999))).toBeLessThan(72_001);
  });
});

describe("the deadline", () => {
  const late = takenJob({ takenAtMs: JOB_DEADLINE_MS });

  test.each<[string, JobLook]>([
    ["still runs", { kind: "told", job: told("in_progress") }],
    ["reports an unknown state", { kind: "told", job: told("unknown") }],
    ["does not know the job", { kind: "missing" }],
    ["does not answer", { kind: "failure" }],
  ])("ends a job whose provider %s", (_, seen) => {
    expect(resultOf(look(late, seen))).toBe("video_timeout");
    expect(resultOf(look({ ...late, takenAtMs: JOB_DEADLINE_MS - 1 }, seen))).not.toBe(
      "video_timeout",
    );
  });

  test("takes no film away that was finished before any poll", () => {
    expect(resultOf(look(late, { kind: "told", job: told("completed") }))).toBe("completed");
    expect(resultOf(look(late, { kind: "told", job: told("failed") }))).toBe(
      "video_generation_failed",
    );
  });
});

describe("the next poll", () => {
  const running: JobLook = { kind: "told", job: told("in_progress") };

  test("comes after 5, 10, 15, 20, 30, 30, … seconds, 20 % sooner or later", () => {
    const spacings = [0, EVEN, 1].map((random) =>
      [0, 1, 2, 3, 4, 50].map((polls) => nextPollMsOf(look(takenJob({ polls }), running, random))),
    );
    expect(firstPollMs).toBe(5_000);
    expect(spacings).toEqual([
      [8_000, 12_000, 16_000, 24_000, 24_000, 24_000],
      [10_000, 15_000, 20_000, 30_000, 30_000, 30_000],
      [12_000, 18_000, 24_000, 36_000, 36_000, 36_000],
    ]);
  });

  test("a film of four minutes is polled some ten times", () => {
    let job = takenJob({ takenAtMs: firstPollMs });
    let looks = 1;
    for (; job.takenAtMs < 240_000; looks++) {
      const verdict = look(job, running);
      const takenAtMs = job.takenAtMs + nextPollMsOf(verdict);
      job = { ...keptJob(job, newsOf(verdict)), takenAtMs };
    }
    expect(looks).toBe(11);
  });

  test("backs off from a provider that does not answer, up to a minute", () => {
    const spacings = [0, 1, 2, 3, 4, 1_000].map((pollFailures) =>
      nextPollMsOf(look(takenJob({ pollFailures }), { kind: "failure" }, 0)),
    );
    expect(spacings).toEqual([10_000, 20_000, 40_000, 60_000, 60_000, 60_000]);
  });

  test("is no sooner than the provider asks for, within a minute", () => {
    const after = (retryAfterMs: number): number =>
      nextPollMsOf(look(takenJob(), { kind: "failure", retryAfterMs }, 0));
    expect([1_000, 45_000, 3_600_000].map(after)).toEqual([10_000, 45_000, 60_000]);
  });
});

describe("any history of polls", () => {
  const anyTold = fc.record({
    state: fc.constantFrom("queued" as const, "in_progress" as const, "unknown" as const),
    progress: fc.option(fc.double(), { nil: undefined }),
    costPicoUsd: fc.constant(undefined),
    expiresAtMs: fc.constant(undefined),
  });
  const anyEnd = fc
    .constantFrom("completed" as const, "failed" as const, "refused" as const, "expired" as const)
    .map((state): JobLook => ({ kind: "told", job: told(state) }));
  const running = anyTold.map((job): JobLook => ({ kind: "told", job }));
  const missing = fc.constant<JobLook>({ kind: "missing" });
  const failure = fc
    .integer({ min: 0, max: 600_000 })
    .map((retryAfterMs): JobLook => ({ kind: "failure", retryAfterMs }));
  const steps = (...looks: fc.Arbitrary<JobLook>[]) =>
    fc.array(
      fc.record({
        seen: fc.oneof(...looks),
        waitMs: fc.integer({ min: 0, max: 120_000 }),
        random: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
      }),
      { maxLength: 40 },
    );
  const isEnd = (seen: JobLook | undefined): boolean =>
    seen?.kind === "told" && !["queued", "in_progress", "unknown"].includes(seen.job.state);
  type Step = { readonly seen: JobLook; readonly waitMs: number; readonly random: number };

  /** Plays it to its end; `check` sees every poll after which it continues. */
  function play(
    history: readonly Step[],
    check: (before: TakenJob, verdict: JobVerdict & { kind: "goes_on" }, step: Step) => void,
  ): { readonly ended: EndedJob | undefined; readonly at: number } {
    let job = takenJob();
    for (const [at, step] of history.entries()) {
      job = { ...job, takenAtMs: job.takenAtMs + step.waitMs };
      const verdict = judgeLook(job, step.seen, step.random);
      if (verdict.kind === "ended") return { ended: verdict.ended, at };
      check(job, verdict, step);
      job = keptJob(job, verdict.news);
    }
    return { ended: undefined, at: history.length };
  }

  test("never takes progress or a state back, and never shows a running job as done", () => {
    const property = fc.property(steps(running, missing, failure), (history) => {
      play(history, (before, { news }) => {
        expect(news.progress).toBeGreaterThanOrEqual(before.progress);
        expect(news.progress).toBeLessThan(100);
        expect(Number.isInteger(news.progress)).toBe(true);
        expect([before.state, "in_progress"]).toContain(news.state);
      });
    });
    fc.assert(property, { numRuns: runs(500) });
  });

  test("asks again between 8 seconds and 72, and 36 while the provider answers", () => {
    const property = fc.property(steps(running, missing, failure), (history) => {
      play(history, (_, { news }, { seen }) => {
        expect(news.nextPollMs).toBeGreaterThanOrEqual(8_000);
        expect(news.nextPollMs).toBeLessThanOrEqual(seen.kind === "told" ? 36_000 : 72_000);
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
      const why =
        ended.upstreamStatus === 404 && missed >= 3
          ? "missed"
          : ended.errorCode === "video_timeout" && at === history.length
            ? "late"
            : "told";
      expect(why === "told").toBe(isEnd(seen.at(-1)?.seen));
    });
    fc.assert(property, { numRuns: runs(500) });
  });

  test("a provider that does not answer ends nothing before the deadline", () => {
    const property = fc.property(steps(failure), (history) => {
      const { ended } = play(history, () => undefined);
      const lastsMs = history.reduce((sum, { waitMs }) => sum + waitMs, 0);
      expect(ended !== undefined).toBe(lastsMs >= JOB_DEADLINE_MS);
    });
    fc.assert(property, { numRuns: runs(200) });
  });
});
