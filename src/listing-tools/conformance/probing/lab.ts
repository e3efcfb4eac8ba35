import type { Deployment } from "../../../catalog/index.ts";
import { assert } from "../../../kernel/index.ts";
import type { ProviderJob } from "../../../formats/index.ts";
import { Chance } from "./chance.ts";
import type { JobQuestions } from "./job-questions.ts";
import { type Observation, ProbeNotSent } from "./observation.ts";
import type { Probe } from "./probe.ts";

/** Sends a probe once; rejects with `ProbeNotSent` when there is no answer to judge. */
export type Send = (probe: Probe) => Promise<Observation>;

/** After so many probes without an answer a model gets no further ones, so that a run ends. */
const TIMEOUTS_MAX = 3;

/** Smaller output bounds are the subject of a probe, and are not varied. */
const ENOUGH_TOKENS = 256;

/** A listing, and the random values of its run. */
export type Subject = Pick<Lab, "deployment" | "chance">;

/** A model under test, with all answers to its probes. */
export class Lab {
  readonly deployment: Deployment;
  /** Requests about video jobs; undefined if this run follows none. */
  readonly jobs: JobQuestions | undefined;
  readonly chance: Chance;
  readonly #send: Send;
  readonly #asked = new Map<string, Promise<Observation>>();
  readonly #seen: Observation[] = [];
  readonly #ended: ProviderJob[] = [];

  constructor(deployment: Deployment, send: Send, jobs?: JobQuestions, chance = new Chance()) {
    this.deployment = deployment;
    this.chance = chance;
    this.#send = send;
    this.jobs = jobs;
  }

  /** The answer to a probe. Probes with one name are sent once, also for several checks. */
  ask(probe: Probe): Promise<Observation> {
    const known = this.#asked.get(probe.name);
    if (known !== undefined) return known;
    if (this.#seen.filter(({ timedOut }) => timedOut).length >= TIMEOUTS_MAX) {
      return Promise.reject(
        new ProbeNotSent("skip", `${TIMEOUTS_MAX} probes were not answered in time`),
      );
    }
    const asking = this.#send(this.#varied(probe)).then((observation) => {
      assert(observation.probe === probe.name, "an observation is of the probe that was sent");
      this.#seen.push(observation);
      return observation;
    });
    this.#asked.set(probe.name, asking);
    return asking;
  }

  /**
   * A bound that is only enough is another one in each probe and run: by no bound a provider knows
   * that it is checked.
   */
  #varied(probe: Probe): Probe {
    const { max_tokens: bound } = probe.body;
    if (typeof bound !== "number" || bound < ENOUGH_TOKENS) return probe;
    const less = this.chance.whole(`bound of ${probe.name}`, 0, Math.floor(bound / 8));
    return { ...probe, body: { ...probe.body, max_tokens: bound - less } };
  }

  /** Keeps the last record of a job that has ended. */
  noteEnded(job: ProviderJob): void {
    this.#ended.push(job);
  }

  /** The last records of all jobs that have ended so far. */
  endedJobs(): readonly ProviderJob[] {
    return this.#ended;
  }

  /** Every answer so far, in the order in which they ended. */
  seen(): readonly Observation[] {
    return this.#seen;
  }
}
