import type { Random } from "./random.ts";

/**
 * The probability of each kind of fault each time that it may strike, before the seed scales it.
 * Instance faults strike before the code after an await continues, or right after a commit.
 */
const LIKELINESS = {
  "database: reply lost after the commit": 0.02,
  "database: request lost before the commit": 0.02,
  "database: commit after the caller gave up": 0.02,
  "database: slow": 0.04,
  "database: busy": 0.02,
  "database: batch rejected": 0.004,
  "database: gone for a while": 1,
  "database: out of reach of one instance": 1,
  "instance: crash": 0.0025,
  "instance: crash right after a commit": 0.006,
  "instance: paused": 0.002,
  "instance: frozen, its monotonic clock too": 0.001,
  "instance: wall clock jumps forwards": 0.002,
  "instance: wall clock jumps backwards": 0.002,
  "instance: restarted in order": 1,
  "instance: restarted on another host": 0.3,
  "instance: code throws while it encodes a fallback": 0.06,
  "instance: code throws while it opens an answer": 0.01,
  "instance: code throws while it finishes an answer": 0.01,
  "provider: refuses the connection": 0.08,
  "provider: resets before headers": 0.03,
  "provider: answers 5xx": 0.12,
  "provider: answers 429": 0.05,
  "provider: slow headers": 0.06,
  "provider: hangs before headers": 0.02,
  "provider: hangs in the body": 0.03,
  "provider: stream dies": 0.06,
  "provider: answer is unreadable": 0.02,
  "provider: refuses the content": 0.02,
  "provider: reports no usage": 0.05,
  "provider: costs more than the reserve": 0.05,
  "client: disconnects": 0.12,
  "client: reads slowly": 0.08,
  "client: stops reading": 0.01,
} as const;

export type FaultKind = keyof typeof LIKELINESS;

export const FAULT_KINDS: readonly FaultKind[] = Object.keys(LIKELINESS) as FaultKind[];

/** Probability that a scenario lacks a kind of fault; else its likeliness is scaled by 0 to 3. */
const ABSENT = 0.3;
const TEMPER_MAX = 3;

/** Decides by the seed where faults strike, and counts them. */
export class Faults {
  readonly counts: Map<FaultKind, number> = new Map();
  /** True once no fault may strike any more. */
  areOver = false;
  readonly #random: Random;
  readonly #likeliness: Map<FaultKind, number>;

  constructor(random: Random) {
    this.#random = random;
    this.#likeliness = new Map(
      FAULT_KINDS.map((kind) => {
        const temper = random.chance(ABSENT) ? 0 : random.unit() * TEMPER_MAX;
        return [kind, LIKELINESS[kind] * temper];
      }),
    );
  }

  /** Returns whether a fault strikes here. `weight` scales its probability at this place. */
  strikes(kind: FaultKind, weight = 1): boolean {
    const likeliness = this.#likeliness.get(kind) ?? 0;
    if (this.areOver || likeliness === 0) return false;
    if (!this.#random.chance(likeliness * weight)) return false;
    this.counts.set(kind, (this.counts.get(kind) ?? 0) + 1);
    return true;
  }
}
