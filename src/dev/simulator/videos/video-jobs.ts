import type { Clock } from "../../../kernel/index.ts";
import type { JobFault } from "../faults.ts";
import { makeSerial } from "../serial.ts";
import type { VideoOrder } from "./video-order.ts";

/** The events of a job so far. */
export interface JobCounts {
  /** Requests that created it: more than one when they named the same idempotency key. */
  creates: number;
  polls: number;
  contents: number;
  /** Fetches of the file's own address. */
  files: number;
  cancels: number;
}

/** One job of the simulated provider. */
export interface VideoJob {
  readonly id: string;
  /** The root of the provider that has it: `/vid/v1`. */
  readonly root: string;
  readonly order: VideoOrder;
  readonly plan: JobFault;
  readonly createdS: number;
  readonly startedMs: number;
  readonly counts: JobCounts;
  ending: "none" | "cancelled" | "deleted";
}

/** A job as `GET /jobs` and tests see it. */
export interface JobSummary extends Readonly<JobCounts> {
  readonly id: string;
  readonly root: string;
  readonly model: string;
  readonly state: string;
}

/** The state of a job. */
export interface JobView {
  /** `queued`, `in_progress`, `completed`, `failed`, `cancelled`, `expired`, or a scripted word. */
  readonly state: string;
  readonly isFinal: boolean;
  /** 0 to 100. */
  readonly progress: number;
}

const JOBS_KEPT = 10_000;
const STATES = ["queued", "in_progress"];

/** The facts from which a request makes a job; `idPrefix` precedes its id. */
export interface NewJob extends Pick<VideoJob, "root" | "order" | "plan" | "createdS"> {
  readonly idPrefix: string;
}

/** The jobs of all simulated providers. They live as long as the simulator. */
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

  /** A new job; the old one when its provider has seen `key` before. */
  create(made: NewJob, key: string | undefined): VideoJob {
    const known = key === undefined ? undefined : this.#idOfKey.get(`${made.root} ${key}`);
    const job = (known === undefined ? undefined : this.#jobs.get(known)) ?? this.#add(made);
    if (key !== undefined) this.#idOfKey.set(`${made.root} ${key}`, job.id);
    job.counts.creates += 1;
    return job;
  }

  /** The job that a path names, `/vid/v1/videos/ID/content`; a deleted one is not there. */
  at(path: string): VideoJob | undefined {
    const ids = path.split("/").map((segment) => segment.replace(/\.mp4$/, ""));
    const job = ids.map((id) => this.#jobs.get(id)).find((found) => found !== undefined);
    const isThere = job !== undefined && path.startsWith(`${job.root}/`);
    return isThere && job.ending !== "deleted" ? job : undefined;
  }

  /** The state of the job after the polls it has had, or by the time. */
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

  /*
   * The number of a call would not do: it begins anew when the counters are reset. The time makes a
   * simulator that starts again, before a gateway that knows the old jobs, give other ids.
   */
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
