import type { RequestId } from "../../kernel/index.ts";

const MILLION = 1_000_000n;
/** Seven bytes: what of a trace id is random. */
const RANDOM_DIGITS = 14;
const RANDOM_VALUES = 1n << 56n;

/**
 * Is a trace kept by chance? Decided by the last seven bytes of its id, so that every reader of
 * the id decides the same: kept where the number is at least 1 − the share. Hexadecimal digits of
 * one length have the order of their numbers: the texts are compared.
 */
export class KeepChance {
  /** As a request id has them: the last twelve digits are a group of their own. */
  readonly #leastTail: string;

  constructor(samplePerMillion: number) {
    const least = ((MILLION - BigInt(samplePerMillion)) * RANDOM_VALUES) / MILLION;
    // Behind every digit there is: nothing is kept.
    const digits = least === RANDOM_VALUES ? "g" : least.toString(16).padStart(RANDOM_DIGITS, "0");
    this.#leastTail = digits === "g" ? digits : `${digits.slice(0, 2)}-${digits.slice(2)}`;
  }

  /** Of the trace that is called like the request. */
  hasRequest(requestId: RequestId): boolean {
    return requestId.slice(-RANDOM_DIGITS - 1) >= this.#leastTail;
  }
}

/**
 * How many traces are kept in any second, whatever is asked for. Half of them are for failures:
 * a caller that marks all requests for keeping hides no failure, nor the other way round.
 */
export class KeepCeiling {
  readonly #failures: LastSecond;
  readonly #others: LastSecond;
  /** Traces that would have been kept. */
  refused = 0;

  constructor(keptPerSecond: number) {
    const forOthers = Math.floor(keptPerSecond / 2);
    this.#others = new LastSecond(forOthers);
    this.#failures = new LastSecond(keptPerSecond - forOthers);
  }

  take(isFailure: boolean, nowMs: number): boolean {
    const isTaken = (isFailure ? this.#failures : this.#others).take(nowMs);
    if (!isTaken) this.refused += 1;
    return isTaken;
  }
}

/** At most so many in any second, wherever it begins. */
class LastSecond {
  /** When the last ones were taken, as a ring. */
  readonly #takenMs: Float64Array;
  #next = 0;

  constructor(max: number) {
    this.#takenMs = new Float64Array(max).fill(Number.NEGATIVE_INFINITY);
  }

  take(nowMs: number): boolean {
    const oldestMs = this.#takenMs[this.#next] ?? Number.POSITIVE_INFINITY;
    if (nowMs - oldestMs < 1_000) return false;
    this.#takenMs[this.#next] = nowMs;
    this.#next = (this.#next + 1) % this.#takenMs.length;
    return true;
  }
}
