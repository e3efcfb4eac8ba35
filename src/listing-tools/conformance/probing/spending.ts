import { assert, microUsd, type MicroUsd, ZERO_MICRO_USD } from "../../../kernel/index.ts";

/**
 * The budget of a run. Worst-case costs are held before sending, so that concurrent probes cannot
 * exceed the budget together. A cost above its hold counts in full.
 */
export class Spending {
  readonly budgetMicroUsd: MicroUsd;
  #heldMicroUsd: MicroUsd = ZERO_MICRO_USD;
  #spentMicroUsd: MicroUsd = ZERO_MICRO_USD;

  constructor(budgetMicroUsd: MicroUsd) {
    assert(budgetMicroUsd >= 0n, "a budget is not negative");
    this.budgetMicroUsd = budgetMicroUsd;
  }

  get spentMicroUsd(): MicroUsd {
    return this.#spentMicroUsd;
  }

  /** Returns false, and holds nothing, if the budget does not cover the cost. */
  hold(worstMicroUsd: MicroUsd): boolean {
    const after = this.#spentMicroUsd + this.#heldMicroUsd + worstMicroUsd;
    if (after > this.budgetMicroUsd) return false;
    this.#heldMicroUsd = microUsd(this.#heldMicroUsd + worstMicroUsd);
    return true;
  }

  settle(heldMicroUsd: MicroUsd, costMicroUsd: MicroUsd): void {
    assert(heldMicroUsd <= this.#heldMicroUsd, "what is settled was held");
    this.#heldMicroUsd = microUsd(this.#heldMicroUsd - heldMicroUsd);
    this.#spentMicroUsd = microUsd(this.#spentMicroUsd + costMicroUsd);
  }
}
