import { createHash, randomUUID } from "node:crypto";

import type { Deployment } from "../../../catalog/index.ts";
import { asNumber, asObject, assert, tryParse } from "../../../kernel/index.ts";
import type { ProviderJob, Wire } from "../../../formats/index.ts";
import type { JobQuestions } from "./job-questions.ts";
import { type Observation, ProbeNotSent } from "./observation.ts";

/** A request to a provider, written like a client's request to the gateway. */
export interface Probe {
  /** Unique among the probes of a model: a second probe with the same name is not sent. */
  readonly name: string;
  readonly wire?: Wire;
  /** The client's body without `model`, which the listing supplies. */
  readonly body: Readonly<Record<string, unknown>>;
  /** Makes a body that the gateway would never send. `as` changes only the model or the key. */
  readonly changeBody?: (body: Buffer) => Buffer;
  readonly as?: "wrong_key" | "unknown_model";
}

/** True if a customer could send this request. Only then does its answer show what they get. */
export function isPlain(probe: Probe): boolean {
  return probe.changeBody === undefined && probe.as === undefined;
}

export function cutInHalf(body: Buffer): Buffer {
  return body.subarray(0, Math.floor(body.length / 2));
}

export function withMembers(body: Buffer, members: Readonly<Record<string, unknown>>): Buffer {
  const parsed = asObject(tryParse(body.toString("utf8"))?.value) ?? {};
  return Buffer.from(JSON.stringify({ ...parsed, ...members }));
}

/** Random values by name: fixed in a run, new in each run, so that no provider learns answers. */
export class Chance {
  readonly #seed: string;

  constructor(seed: string = randomUUID()) {
    this.#seed = seed;
  }

  /** A whole number from `min` to below `end`. */
  whole(name: string, min: number, end: number): number {
    const hash = createHash("sha256").update(`${this.#seed} ${name}`).digest();
    return min + (hash.readUInt32BE(0) % (end - min));
  }

  pick<T>(name: string, items: readonly [T, ...T[]]): T {
    return items[this.whole(name, 0, items.length)] ?? items[0];
  }

  shuffled<T>(name: string, items: readonly T[]): readonly T[] {
    const keyed = items.map((item, at) => ({
      item,
      key: this.whole(`${name} ${at}`, 0, 2 ** 31),
    }));
    return keyed.toSorted((one, other) => one.key - other.key).map(({ item }) => item);
  }
}

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
