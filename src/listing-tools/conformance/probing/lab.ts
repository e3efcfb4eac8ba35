import type { Deployment } from "../../../catalog/index.ts";
import { asNumber, assert } from "../../../kernel/index.ts";
import type { ProviderJob } from "../../../formats/index.ts";
import { Chance } from "./chance.ts";
import type { JobQuestions } from "./job-questions.ts";
import { type Observation, ProbeNotSent } from "./observation.ts";
import type { Probe } from "./probe.ts";

/** Rejects with `ProbeNotSent` if no answer came that can be judged. */
export type Send = (probe: Probe) => Promise<Observation>;

/** After this number of timeouts a model gets no further probes, so that the run ends. */
const TIMEOUTS_MAX = 3;

/** A probe with a smaller output bound tests that bound, so `#varied` does not change it. */
const ENOUGH_TOKENS = 256;

export type Subject = Pick<Lab, "deployment" | "chance">;

export class Lab {
  readonly deployment: Deployment;
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

  /** Sends one probe per name: a later probe of that name, of any check, gets the same answer. */
  ask(probe: Probe): Promise<Observation> {
    const known = this.#asked.get(probe.name);
    if (known !== undefined) return known;
    if (this.#seen.filter(({ timedOut }) => timedOut).length >= TIMEOUTS_MAX) {
      const why = `${TIMEOUTS_MAX} probes were not answered in time`;
      return Promise.reject(new ProbeNotSent("skip", why));
    }
    const asking = this.#send(this.#varied(probe)).then((observation) => {
      assert(observation.probe === probe.name, "an observation is of the probe that was sent");
      this.#seen.push(observation);
      return observation;
    });
    this.#asked.set(probe.name, asking);
    return asking;
  }

  /** Sends and judges probes in turn. If one cannot be sent, returns the results so far. */
  async askEach<P extends Probe, J>(
    probes: readonly P[],
    judge: (seen: Observation, probe: P) => J,
  ): Promise<{ readonly parts: readonly J[]; readonly unsent?: ProbeNotSent }> {
    const parts: J[] = [];
    for (const probe of probes) {
      try {
        parts.push(judge(await this.ask(probe), probe));
      } catch (fault) {
        if (!(fault instanceof ProbeNotSent)) throw fault;
        return { parts, unsent: fault };
      }
    }
    return { parts };
  }

  /** Varies a large output bound by probe and run, so that the bound does not reveal a probe. */
  #varied(probe: Probe): Probe {
    const bound = asNumber(probe.body["max_tokens"]) ?? 0;
    if (bound < ENOUGH_TOKENS) return probe;
    const less = this.chance.whole(`bound of ${probe.name}`, 0, Math.floor(bound / 8));
    return { ...probe, body: { ...probe.body, max_tokens: bound - less } };
  }

  noteEnded(job: ProviderJob): void {
    this.#ended.push(job);
  }

  endedJobs(): readonly ProviderJob[] {
    return this.#ended;
  }

  /** All answers so far, in the order in which they ended. */
  seen(): readonly Observation[] {
    return this.#seen;
  }
}
