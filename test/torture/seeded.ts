/** Chances that follow from a seed alone: the same seed throws the same numbers. */
export class Dice {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** From 0 up to, not including, 1. */
  next(): number {
    // mulberry32: one addition and a few shifts, plenty for choosing victims.
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  /** A whole number from `low` to `high`, both included. */
  between(low: number, high: number): number {
    return low + Math.floor(this.next() * (high - low + 1));
  }

  chance(share: number): boolean {
    return this.next() < share;
  }

  pick<T>(list: readonly T[]): T {
    const picked = list[this.between(0, list.length - 1)];
    if (picked === undefined) throw new Error("nothing to pick from");
    return picked;
  }

  shuffled<T>(list: readonly T[]): T[] {
    return list
      .map((each) => ({ each, at: this.next() }))
      .sort((a, b) => a.at - b.at)
      .map(({ each }) => each);
  }

  /** Dice of their own for one part, so that parts do not disturb each other's throws. */
  split(): Dice {
    return new Dice(this.between(0, 2 ** 32 - 1));
  }
}
