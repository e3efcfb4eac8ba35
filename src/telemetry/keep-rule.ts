const MILLION = 1_000_000;
/** Of the 14 hexadecimal digits of seven bytes, those that a number holds exactly. */
const DIGITS = 13;
const RANDOM_VALUES = 16 ** DIGITS;

/**
 * Is a trace kept by chance? Decided by the last seven bytes of its id, so that every reader of
 * the id decides the same: kept where the number is at least 1 − the share.
 */
export function isChosen(traceId: string, samplePerMillion: number): boolean {
  const value = Number.parseInt(traceId.slice(-DIGITS - 1, -1), 16);
  return value >= ((MILLION - samplePerMillion) / MILLION) * RANDOM_VALUES;
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
