/** Numbers that depend on one seed and nothing else (sfc32, seeded by splitmix32). */
export class Random {
  #a: number;
  #b: number;
  #c: number;
  #counter = 1;

  constructor(seed: number) {
    let state = seed >>> 0;
    const mixed = (): number => {
      state = (state + 0x9e3779b9) | 0;
      let word = state ^ (state >>> 16);
      word = Math.imul(word, 0x21f0aaad);
      word ^= word >>> 15;
      word = Math.imul(word, 0x735a2d97);
      return (word ^ (word >>> 15)) >>> 0;
    };
    this.#a = mixed();
    this.#b = mixed();
    this.#c = (mixed() ^ Math.floor(seed / 2 ** 32)) >>> 0;
    for (let i = 0; i < 12; i++) this.unit();
  }

  /** Returns a number from 0 (included) to 1 (excluded). */
  unit(): number {
    const word = (this.#a + this.#b + this.#counter) | 0;
    this.#counter = (this.#counter + 1) | 0;
    this.#a = this.#b ^ (this.#b >>> 9);
    this.#b = (this.#c + (this.#c << 3)) | 0;
    this.#c = ((this.#c << 21) | (this.#c >>> 11)) + word;
    return (word >>> 0) / 2 ** 32;
  }

  chance(probability: number): boolean {
    return this.unit() < probability;
  }

  /** Returns a whole number from `least` to `most`, both included. */
  between(least: number, most: number): number {
    return least + Math.floor(this.unit() * (most - least + 1));
  }

  pick<T>(options: readonly T[]): T {
    const picked = options[Math.floor(this.unit() * options.length)];
    if (picked === undefined) throw new Error("nothing to pick from");
    return picked;
  }

  shuffled<T>(list: readonly T[]): T[] {
    return list
      .map((each) => ({ each, at: this.unit() }))
      .sort((a, b) => a.at - b.at)
      .map(({ each }) => each);
  }

  /** Returns milliseconds to the next of independent events, `meanMs` apart on average. */
  gapMs(meanMs: number): number {
    return Math.ceil(-Math.log(1 - this.unit()) * meanMs);
  }

  hex(digits: number): string {
    let text = "";
    while (text.length < digits) text += this.between(0, 15).toString(16);
    return text;
  }

  /**
   * Returns an independent generator; drawing from one does not change the numbers of the other.
   */
  fork(): Random {
    return new Random(this.between(0, 2 ** 32 - 1));
  }
}
