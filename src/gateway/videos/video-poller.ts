import { setTimeout as sleep } from "node:timers/promises";

import {
  floorToMicroUsd,
  isWithinExcess,
  Job,
  type PicoUsd,
  ZERO_PICO_USD,
  defined,
} from "../../kernel/index.ts";
import type { CloseRow } from "../../ledger/index.ts";
import type { FetchedAnswer, RunningFetch } from "../../upstream/index.ts";
import { askProvider, findDeployment, toPollResult } from "./ask-video-provider.ts";
import { BREACH } from "../verification/conduct.ts";
import {
  type EndedJob,
  evaluatePoll,
  type JobEnd,
  type JobUpdate,
  type PollResult,
} from "./job-state.ts";
import type { VideoDeps } from "./video-deps.ts";
import { type TakenJob, VIDEO_ERRORS, type VideoErrorCode, type VideoJob } from "./video-job.ts";

const SWEEP_JOBS_MAX = 50;
/** Enough time to store the results of a poll. */
const STORE_MS = 10_000;

/**
 * Polls providers' jobs and stores the results: on a client's request, and in sweeps, so that a job
 * is settled even if its client never returns.
 */
export class VideoPoller {
  readonly #deps: VideoDeps;
  readonly #running = new Set<Promise<unknown>>();
  readonly #fetches = new Set<RunningFetch<unknown>>();
  /**
   * By deployment and, if the job has one, the customer's own provider key: until when (monotonic)
   * the provider is not polled, because it asked for a pause or did not answer.
   */
  readonly #cooldownUntilMs = new Map<string, number>();
  /** Deployments for which an unknown job state was logged; it is logged once. */
  readonly #reportedUnknown = new Set<string>();
  readonly #job: Job;

  constructor(deps: VideoDeps) {
    this.#deps = deps;
    this.#job = new Job(
      deps.videos.sweepMs,
      () => this.#sweep(),
      (err) => {
        deps.videoMetrics.failedSweeps += 1;
        deps.log.warn({ err }, "the video jobs could not be read; retried in the next round");
      },
    );
  }

  start(): void {
    this.#job.start();
  }

  /**
   * Aborts running polls. Their jobs may be polled again at once, except a job at its deadline,
   * which stays leased until its lease ends.
   */
  async close(): Promise<void> {
    const swept = this.#job.close();
    for (const fetch of this.#fetches) fetch.abandon();
    await Promise.all([swept, ...this.#running]);
  }

  /** False while this instance stops or lacks the ledger's lease: it then asks no provider. */
  get #mayPoll(): boolean {
    return !this.#job.isStopping && this.#deps.ledger.healthy;
  }

  /** Long enough for the poll, a cancellation at the job's deadline, and storing the results. */
  get #leaseMs(): number {
    return 2 * this.#deps.videos.answerTimeoutMs + STORE_MS;
  }

  /** Returns the current job, after a poll of its provider if the last one is old. */
  async refresh(job: VideoJob): Promise<VideoJob> {
    const { jobs, videos } = this.#deps;
    if (job.completedAtMs !== null || !this.#mayPoll || this.#cooldownMs(job) > 0) return job;
    const wanted = { pollMinMs: videos.pollMinMs, leaseMs: this.#leaseMs };
    const taken = await jobs.takeOne(job.orgId, job.jobId, wanted);
    if (taken === undefined) return job;
    const waited = new AbortController();
    const polled = await Promise.race([
      this.#tracked(this.#pollSafely(taken)),
      // The client is answered after this time; the poll continues.
      sleep(videos.clientWaitMs, undefined, { ref: false, signal: waited.signal }).catch(
        () => undefined,
      ),
    ]);
    waited.abort();
    return polled ?? taken;
  }

  async #sweep(): Promise<void> {
    const { jobs } = this.#deps;
    for (let wasFull = true; wasFull && this.#mayPoll;) {
      const due = await jobs.takeDue({ limit: SWEEP_JOBS_MAX, leaseMs: this.#leaseMs });
      await Promise.all(due.map((job) => this.#pollSafely(job)));
      wasFull = due.length === SWEEP_JOBS_MAX;
    }
  }

  #tracked<T>(work: Promise<T>): Promise<T> {
    this.#running.add(work);
    const forget = (): void => void this.#running.delete(work);
    work.then(forget, forget);
    return work;
  }

  /** Polls a job. If the result cannot be stored, the job is polled again once its lease ends. */
  async #pollSafely(job: TakenJob): Promise<VideoJob | undefined> {
    try {
      return await this.#poll(job);
    } catch (fault) {
      const { jobId, providerId } = job;
      this.#deps.log.warn(
        { err: fault, job_id: jobId, provider: providerId },
        "a poll of a video job failed; it will be polled again",
      );
      return undefined;
    }
  }

  async #poll(job: TakenJob): Promise<VideoJob> {
    const { jobs, videoMetrics, random } = this.#deps;
    const poll = await this.#ask(job);
    videoMetrics.polled(job.providerId, poll);
    this.#noteUnknown(job, poll);
    const verdict = evaluatePoll(job, poll, random());
    if (verdict.kind === "ended") {
      // A poll that was not made or was aborted must not end the job, even at its deadline. The job
      // stays leased until its lease ends.
      const saysNothing =
        poll.kind === "failure" && (poll.isPaused === true || this.#job.isStopping);
      return saysNothing ? job : await this.#finish(job, verdict.ended);
    }
    const update = this.#planNextPoll(job, verdict.update);
    await jobs.keep(job.jobId, update);
    return { ...job, state: update.state, progress: update.progress };
  }

  async #ask(job: TakenJob): Promise<PollResult> {
    const cooldownMs = this.#cooldownMs(job);
    if (cooldownMs > 0) return { kind: "failure", retryAfterMs: cooldownMs, isPaused: true };
    const { clock, videos } = this.#deps;
    const deployment = await findDeployment(this.#deps, job);
    if (deployment === undefined) return { kind: "failure" };
    const answer = await this.#ended(askProvider(this.#deps, deployment, job));
    const poll = toPollResult(answer, deployment, clock.nowMs());
    const askedMs = poll.kind === "failure" ? poll.retryAfterMs : undefined;
    const pauseMs = answer === undefined ? videos.noAnswerPauseMs : askedMs;
    if (pauseMs !== undefined) this.#pause(toPollAccount(job), pauseMs);
    return poll;
  }

  /** Drops what is over, because an account may have no job any more that would look for it. */
  #pause(account: string, pauseMs: number): void {
    const nowMs = this.#deps.clock.monotonicMs();
    for (const [other, untilMs] of this.#cooldownUntilMs) {
      if (untilMs <= nowMs) this.#cooldownUntilMs.delete(other);
    }
    this.#cooldownUntilMs.set(account, nowMs + pauseMs);
  }

  async #ended(fetch: RunningFetch<FetchedAnswer>): Promise<FetchedAnswer | undefined> {
    this.#fetches.add(fetch);
    if (this.#job.isStopping) fetch.abandon();
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
    const deployment = await findDeployment(this.#deps, job);
    if (deployment !== undefined)
      await this.#ended(askProvider(this.#deps, deployment, job, "delete"));
  }

  /** The next poll is due by the job's deadline; or at once, if the shutdown aborted this poll. */
  #planNextPoll(job: TakenJob, update: JobUpdate): JobUpdate {
    const untilDeadlineMs = Math.max(0, job.deadlineAtMs - job.takenAtMs);
    const nextPollMs = this.#job.isStopping && update.isFailure ? 0 : update.nextPollMs;
    return { ...update, nextPollMs: Math.min(nextPollMs, untilDeadlineMs) };
  }

  #cooldownMs(job: Pick<VideoJob, "deploymentId" | "connectionId">): number {
    const untilMs = this.#cooldownUntilMs.get(toPollAccount(job)) ?? 0;
    return Math.max(0, untilMs - this.#deps.clock.monotonicMs());
  }

  #noteUnknown(job: TakenJob, poll: PollResult): void {
    if (poll.kind !== "reported" || poll.job.state !== "unknown") return;
    if (this.#reportedUnknown.has(job.deploymentId)) return;
    this.#reportedUnknown.add(job.deploymentId);
    const { jobId, deploymentId, providerJobId } = job;
    this.#deps.log.warn(
      { job_id: jobId, deployment: deploymentId, provider_job: providerJobId },
      "a provider reported an unknown state of a video job; it counts as running",
    );
  }

  #noteEnd(job: VideoJob, ended: EndedJob): void {
    const { videoMetrics, metrics } = this.#deps;
    videoMetrics.jobEnded(job);
    if (job.costMicroUsd !== null) metrics.settled(job.modelId, job.costMicroUsd);
    if (job.state !== "completed" || job.connectionId !== undefined) return;
    const { catalog, standing } = this.#deps;
    const listing = catalog.current.findDeployment(job.deploymentId);
    const { reserveMicroUsd } = job;
    const owed = owedFor(job, ended);
    const missing = owed === undefined ? BREACH.usageMissing : 0;
    const breaches = owed === "impossible" ? BREACH.usageImpossible : missing;
    if (listing !== undefined) standing.note(listing, job.orgId, breaches);
    if (owed === undefined) return this.#flag("costMissing", job);
    if (owed === "impossible") return this.#flag("costImpossible", job);
    if (floorToMicroUsd(owed) > reserveMicroUsd) this.#flag("costOverReserve", job);
    metrics.owed(job, { costPicoUsd: owed, owedPicoUsd: owed, reserveMicroUsd });
  }

  #flag(flag: keyof typeof FLAG_LABELS, job: VideoJob): void {
    const { videoMetrics, metrics, log } = this.#deps;
    if (flag === "costImpossible") metrics.reportedImpossible(job);
    else videoMetrics.flagged(flag, job);
    log.warn({ job_id: job.jobId, deployment: job.deploymentId, flag }, FLAG_LABELS[flag]);
  }
}

const FLAG_LABELS = {
  costMissing: "a finished video has no reported cost: nothing was debited",
  costImpossible: "a finished video has an impossible reported cost: nothing was debited",
  costOverReserve: "a finished video cost more than its ceiling: the reserve was debited",
} as const;

/** A provider limits polls by deployment and key. */
function toPollAccount({
  deploymentId,
  connectionId = "",
}: Pick<VideoJob, "deploymentId" | "connectionId">): string {
  return `${deploymentId} ${connectionId}`;
}

/** The longest duration that the journal can store; a job may wait for weeks until it is polled. */
const DURATION_MS_MAX = 2_147_483_647;
/** The year 10,000. A later time, or one before the job, is in another unit or no instant. */
const EXPIRES_AT_MS_MAX = 253_402_300_800_000;

/**
 * Builds the end of a job and of its attempt. A completed job costs what the provider reports, by
 * the ledger's rule (rounded down, never above the reserve), or nothing. A job that failed, or that
 * used a customer's own key, costs nothing, whatever is reported. `nowMs` is by the same clock as
 * `startedAtMs`.
 */
export function endOfJob(job: VideoJob, ended: EndedJob, nowMs: number): JobEnd {
  const { errorCode, expiresAtMs, upstreamStatus, served } = ended;
  const owed = owedFor(job, ended);
  const flag = owed === "impossible" ? "usage_impossible" : undefined;
  const costPicoUsd = owed === "impossible" ? undefined : owed;
  const isBelievable =
    expiresAtMs !== undefined && expiresAtMs > job.startedAtMs && expiresAtMs < EXPIRES_AT_MS_MAX;
  return {
    state: errorCode === null ? "completed" : "failed",
    errorCode,
    expiresAtMs: isBelievable ? Math.floor(expiresAtMs) : null,
    ...defined({ reportedCostPicoUsd: ended.costPicoUsd }),
    close: {
      attemptId: job.attemptId,
      outcome: errorCode === null ? "completed" : VIDEO_ERRORS[errorCode].outcome,
      usage: null,
      basis: costPicoUsd === undefined ? "none" : "reported",
      costPicoUsd: costPicoUsd ?? ZERO_PICO_USD,
      upstreamStatus,
      errorClass: flag ?? toErrorClass(errorCode),
      startedAtMs: job.startedAtMs,
      firstByteMs: null,
      durationMs: Math.max(0, Math.min(DURATION_MS_MAX, nowMs - job.startedAtMs)),
      ...defined({ served }),
      final: true,
    },
  };
}

/** Undefined if the job failed or has no cost; `impossible` for a cost far above the reserve. */
function owedFor(
  job: VideoJob,
  { errorCode, costPicoUsd }: EndedJob,
): PicoUsd | "impossible" | undefined {
  if (errorCode !== null) return undefined;
  // The gateway bills nothing for a job on a customer's own key; the provider bills the customer.
  if (job.connectionId !== undefined) return ZERO_PICO_USD;
  if (costPicoUsd === undefined) return undefined;
  return isWithinExcess(costPicoUsd, job.reserveMicroUsd) ? costPicoUsd : "impossible";
}

function toErrorClass(errorCode: VideoErrorCode | null): CloseRow["errorClass"] {
  if (errorCode === null) return null;
  return errorCode === "content_policy_violation" ? "content_policy" : "upstream_error";
}
