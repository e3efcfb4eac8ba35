/** Bounds how many answers are read on after their client left. */
export class DrainGate {
  readonly #max: number;
  #active = 0;

  constructor(max: number) {
    this.#max = max;
  }

  get active(): number {
    return this.#active;
  }

  /** False: the bound is reached, the answer is cut instead of read on. */
  enter(): boolean {
    if (this.#active >= this.#max) return false;
    this.#active += 1;
    return true;
  }

  leave(): void {
    this.#active -= 1;
  }
}
