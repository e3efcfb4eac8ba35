import { setTimeout as sleep } from "node:timers/promises";

import { floorToMicroUsd } from "../core/money.ts";
import type { FetchedAnswer, RunningFetch } from "../dispatch/fetch-json.ts";
import { endOfJob } from "./job-close.ts";
import { judgeLook, type EndedJob, type JobLook } from "./job-state.ts";
import type { JobNews } from "./job-store.ts";
import type { TakenJob, VideoJob } from "./video-job.ts";
import { askAfter, cancelJob, deploymentOf, lookOf } from "./ask-video-provider.ts";
import type { VideoDeps } from "./video-deps.ts";

/** Most polls at once of one sweep. */
const SWEEP_JOBS_MAX = 50;
/** A poll, at a job's deadline a cancellation, and storing their results. */
const LEASE_MS = 30_000;

/**
 * Polls the jobs of providers, and stores the results: for a client that asks, and by
 * itself for all that are due, so that a job is settled even if its client never asks.
 */
export class VideoPoller {
  readonly #deps: VideoDeps;
  readonly #running = new Set<Promise<unknown>>();
  readonly #fetches = new Set<RunningFetch<unknown>>();
  /** Providers that asked to be left alone, or gave no answer: until when. */
  readonly #restUntilMs = new Map<string, number>();
  /** Listings whose jobs had an unknown state: logged once. */
  readonly #toldUnknown = new Set<string>();
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(deps: VideoDeps) {
    this.#deps = deps;
  }

  /** Begins to sweep, until `close`. */
  start(): void {
    this.#sweepIn(this.#deps.videos.sweepMs);
  }

  /** Ends the sweeps; running polls are aborted and their leases released. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    for (const fetch of this.#fetches) fetch.abandon();
    await Promise.all(this.#running);
  }

  /** The job as it is now: after a poll of its provider, where the last one was long ago. */
  async refresh(job: VideoJob): Promise<VideoJob> {
    const { jobs, videos } = this.#deps;
    if (job.completedAtMs !== null || this.#isClosed || this.#restMs(job) > 0) return job;
    const wanted = { pollMinMs: videos.pollMinMs, leaseMs: LEASE_MS };
    const taken = await jobs.takeOne(job.orgId, job.jobId, wanted);
    if (taken === undefined) return job;
    const waited = new AbortController();
    const looked = await Promise.race([
      this.#tracked(this.#lookSafely(taken)),
      // The poll continues without its client.
      sleep(videos.clientWaitMs, undefined, { ref: false, signal: waited.signal }).catch(
        () => undefined,
      ),
    ]);
    waited.abort();
    return looked ?? taken;
  }

  /** One sweep: polls everything that is due, a batch at a time. */
  async sweep(): Promise<void> {
    const { jobs, videoMetrics, log } = this.#deps;
    try {
      for (let wasFull = true; wasFull && !this.#isClosed;) {
        const due = await jobs.takeDue({ limit: SWEEP_JOBS_MAX, leaseMs: LEASE_MS });
        await Promise.all(due.map((job) => this.#lookSafely(job)));
        wasFull = due.length === SWEEP_JOBS_MAX;
      }
    } catch (fault) {
      videoMetrics.failedSweeps += 1;
      log.warn({ err: fault }, "the video jobs could not be read; retried in the next round");
    }
  }

  #sweepIn(delayMs: number): void {
    if (this.#isClosed) return;
    this.#timer = setTimeout(() => void this.#tracked(this.#sweepAndGoOn()), delayMs);
    this.#timer.unref();
  }

  /** The next one begins a while after this one has ended: they never overlap. */
  async #sweepAndGoOn(): Promise<void> {
    await this.sweep();
    this.#sweepIn(this.#deps.videos.sweepMs);
  }

  #tracked<T>(work: Promise<T>): Promise<T> {
    this.#running.add(work);
    const forget = (): void => void this.#running.delete(work);
    work.then(forget, forget);
    return work;
  }

  /** A poll that cannot be stored is forgotten: its lease ends, and it is polled again. */
  async #lookSafely(job: TakenJob): Promise<VideoJob | undefined> {
    try {
      return await this.#look(job);
    } catch (fault) {
      const { jobId, providerId } = job;
      this.#deps.log.warn(
        { err: fault, job_id: jobId, provider: providerId },
        "a poll of a video job failed; it will be polled again",
      );
      return undefined;
    }
  }

  async #look(job: TakenJob): Promise<VideoJob> {
    const { jobs, videoMetrics, random } = this.#deps;
    const look = await this.#ask(job);
    videoMetrics.looked(job.providerId, look);
    this.#noteUnknown(job, look);
    const verdict = judgeLook(job, look, random());
    if (verdict.kind === "ended") {
      // A poll that was aborted for a shutdown says nothing about a job, not even at its deadline.
      return this.#isClosed && look.kind === "failure"
        ? job
        : await this.#finish(job, verdict.ended);
    }
    const news = this.#nextPollOf(job, verdict.news);
    await jobs.keep(job.jobId, news);
    return { ...job, state: news.state, progress: news.progress };
  }

  async #ask(job: TakenJob): Promise<JobLook> {
    const restMs = this.#restMs(job);
    if (restMs > 0) return { kind: "failure", retryAfterMs: restMs };
    const { clock, videos } = this.#deps;
    const deployment = await deploymentOf(this.#deps, job);
    if (deployment === undefined) return { kind: "failure" };
    const answer = await this.#ended(askAfter(this.#deps, deployment, job));
    const look = lookOf(answer, deployment, clock.nowMs());
    const askedMs = look.kind === "failure" ? look.retryAfterMs : undefined;
    const pauseMs = answer === undefined ? videos.noAnswerPauseMs : askedMs;
    if (pauseMs !== undefined) {
      this.#restUntilMs.set(accountOf(job), clock.monotonicMs() + pauseMs);
    }
    return look;
  }

  /** The end of a fetch, which a shutdown does not wait for. */
  async #ended(fetch: RunningFetch<FetchedAnswer>): Promise<FetchedAnswer | undefined> {
    this.#fetches.add(fetch);
    if (this.#isClosed) fetch.abandon();
    const answer = await fetch.ended;
    this.#fetches.delete(fetch);
    return answer;
  }

  async #finish(job: TakenJob, ended: EndedJob): Promise<VideoJob> {
    const { jobs, clock, metrics } = this.#deps;
    if (ended.errorCode === "video_timeout") await this.#cancel(job);
    const done = await jobs.finish(job.jobId, endOfJob(job, ended, clock.nowMs()));
    metrics.served(job, ended.served);
    this.#noteEnd(done, ended);
    return done;
  }

  async #cancel(job: TakenJob): Promise<void> {
    const deployment = await deploymentOf(this.#deps, job);
    if (deployment !== undefined) await this.#ended(cancelJob(this.#deps, deployment, job));
  }

  /** At its deadline a job is polled, not only when it would be due. */
  #nextPollOf(job: TakenJob, news: JobNews): JobNews {
    const untilDeadlineMs = Math.max(0, job.deadlineAtMs - job.takenAtMs);
    const nextPollMs = this.#isClosed && news.isFailure ? 0 : news.nextPollMs;
    return { ...news, nextPollMs: Math.min(nextPollMs, untilDeadlineMs) };
  }

  #restMs(job: Pick<VideoJob, "deploymentId" | "connectionId">): number {
    const account = accountOf(job);
    const restMs = (this.#restUntilMs.get(account) ?? 0) - this.#deps.clock.monotonicMs();
    if (restMs <= 0) this.#restUntilMs.delete(account);
    return Math.max(0, restMs);
  }

  #noteUnknown(job: TakenJob, look: JobLook): void {
    if (look.kind !== "told" || look.job.state !== "unknown") return;
    if (this.#toldUnknown.has(job.deploymentId)) return;
    this.#toldUnknown.add(job.deploymentId);
    const { jobId, deploymentId, providerJobId } = job;
    this.#deps.log.warn(
      { job_id: jobId, deployment: deploymentId, provider_job: providerJobId },
      "a provider reported an unknown state of a video job; it counts as running",
    );
  }

  #noteEnd(job: VideoJob, { costPicoUsd }: EndedJob): void {
    const { videoMetrics, metrics } = this.#deps;
    videoMetrics.jobEnded(job);
    if (job.costMicroUsd !== null) metrics.settled(job.modelId, job.costMicroUsd);
    if (job.state !== "completed" || job.connectionId !== undefined) return;
    if (costPicoUsd === undefined) this.#flag("costMissing", job);
    else if (floorToMicroUsd(costPicoUsd) > job.reserveMicroUsd) this.#flag("costOverReserve", job);
  }

  #flag(flag: "costMissing" | "costOverReserve", job: VideoJob): void {
    const { videoMetrics, log } = this.#deps;
    videoMetrics.flagged(flag, job);
    log.warn({ job_id: job.jobId, deployment: job.deploymentId, flag }, FLAG_WORDS[flag]);
  }
}

const FLAG_WORDS = {
  costMissing: "a finished video has no reported cost: nothing was debited",
  costOverReserve: "a finished video cost more than its ceiling: the reserve was debited",
} as const;

/** What a provider counts questions by. */
function accountOf({
  deploymentId,
  connectionId = "",
}: Pick<VideoJob, "deploymentId" | "connectionId">): string {
  return `${deploymentId} ${connectionId}`;
}
