import type { Clock } from "../../../kernel/index.ts";
import type { JobFault } from "../faults.ts";
import { makeSerial } from "../call-log.ts";
import type { VideoOrder } from "./video-order.ts";

export interface JobCounts {
  /** Create calls for this job: more than one if later calls had the same idempotency key. */
  creates: number;
  polls: number;
  contents: number;
  files: number;
  cancels: number;
}

export interface VideoJob {
  readonly id: string;
  /** Path of the provider that has the job, such as `/vid/v1`. */
  readonly root: string;
  readonly order: VideoOrder;
  readonly plan: JobFault;
  readonly createdS: number;
  readonly startedMs: number;
  readonly counts: JobCounts;
  ending: "none" | "cancelled" | "deleted";
}

export interface JobSummary extends Readonly<JobCounts> {
  readonly id: string;
  readonly root: string;
  readonly model: string;
  readonly state: string;
}

export interface JobView {
  /** `queued`, `in_progress`, `completed`, `failed`, `cancelled`, `expired`, or a scripted word. */
  readonly state: string;
  readonly isFinal: boolean;
  /** Percent, from 0 to 100. */
  readonly progress: number;
}

const JOBS_KEPT = 10_000;
const STATES = ["queued", "in_progress"];

export interface NewJob extends Pick<VideoJob, "root" | "order" | "plan" | "createdS"> {
  readonly idPrefix: string;
}

export class VideoJobs {
  readonly #clock: Clock;
  readonly #seed: string;
  #made = 0;
  readonly #jobs = new Map<string, VideoJob>();
  readonly #idOfKey = new Map<string, string>();

  constructor(clock: Clock, seed: string) {
    this.#clock = clock;
    this.#seed = seed;
  }

  /** Creates a job, or returns the provider's existing job with this idempotency `key`. */
  create(made: NewJob, key: string | undefined): VideoJob {
    const known = key === undefined ? undefined : this.#idOfKey.get(`${made.root} ${key}`);
    const job = (known === undefined ? undefined : this.#jobs.get(known)) ?? this.#add(made);
    if (key !== undefined) this.#idOfKey.set(`${made.root} ${key}`, job.id);
    job.counts.creates += 1;
    return job;
  }

  /** The job that a path such as `/vid/v1/videos/ID/content` names; undefined for a deleted job. */
  at(path: string): VideoJob | undefined {
    const ids = path.split("/").map((segment) => segment.replace(/\.mp4$/, ""));
    const job = ids.map((id) => this.#jobs.get(id)).find((found) => found !== undefined);
    const isThere = job !== undefined && path.startsWith(`${job.root}/`);
    return isThere && job.ending !== "deleted" ? job : undefined;
  }

  /** A job's state: cancelled if ended; else by time if its plan sets `ms`, else by its polls. */
  view({ plan, counts, startedMs, ending }: VideoJob): JobView {
    if (ending !== "none") return { state: "cancelled", isFinal: true, progress: 0 };
    const states = plan.states ?? STATES;
    const step =
      plan.ms === undefined
        ? counts.polls
        : Math.floor((this.#clock.monotonicMs() - startedMs) / Math.max(1, plan.ms));
    const at = plan.never === true ? Math.min(step, states.length - 1) : step;
    const state = states[at];
    if (state !== undefined) {
      return { state, isFinal: false, progress: Math.floor((100 * at) / states.length) };
    }
    const final = plan.final ?? (plan.moderated === true ? "failed" : "completed");
    return { state: final, isFinal: true, progress: final === "completed" ? 100 : 0 };
  }

  summaries(): readonly JobSummary[] {
    return [...this.#jobs.values()].map((job) => ({
      id: job.id,
      root: job.root,
      model: job.order.model,
      state: job.ending === "deleted" ? "deleted" : this.view(job).state,
      ...job.counts,
    }));
  }

  /* The id also hashes the time, because a restarted simulator counts its jobs from 1 again. */
  #add({ idPrefix, ...made }: NewJob): VideoJob {
    this.#made += 1;
    const job: VideoJob = {
      ...made,
      id: `${idPrefix}${makeSerial(`${this.#seed}:job:${made.createdS}`, this.#made)}`,
      startedMs: this.#clock.monotonicMs(),
      counts: { creates: 0, polls: 0, contents: 0, files: 0, cancels: 0 },
      ending: "none",
    };
    this.#jobs.set(job.id, job);
    const [oldest] = this.#jobs.keys();
    if (this.#jobs.size > JOBS_KEPT && oldest !== undefined) this.#jobs.delete(oldest);
    return job;
  }
}
