import { assert, microUsd, type MicroUsd, ZERO_MICRO_USD } from "../../../kernel/index.ts";

/**
 * The budget of one run: the most that a probe can cost is held before it is sent, so that probes
 * in flight never pass the budget together. What a provider bills above its own prices is counted
 * all the same, and ends the run the sooner.
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

  /** Holds the worst-case cost; false if the budget does not allow it. */
  hold(worstMicroUsd: MicroUsd): boolean {
    const after = this.#spentMicroUsd + this.#heldMicroUsd + worstMicroUsd;
    if (after > this.budgetMicroUsd) return false;
    this.#heldMicroUsd = microUsd(this.#heldMicroUsd + worstMicroUsd);
    return true;
  }

  /** Replaces a hold by the probe's actual cost. */
  settle(heldMicroUsd: MicroUsd, costMicroUsd: MicroUsd): void {
    assert(heldMicroUsd <= this.#heldMicroUsd, "what is settled was held");
    this.#heldMicroUsd = microUsd(this.#heldMicroUsd - heldMicroUsd);
    this.#spentMicroUsd = microUsd(this.#spentMicroUsd + costMicroUsd);
  }
}
