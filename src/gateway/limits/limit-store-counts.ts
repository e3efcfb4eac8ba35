import { type Family, HistogramFamily, oneValue } from "../../kernel/index.ts";

/** Counts how a shared limit store responds; a store in memory is always up. */
export class LimitStoreCounts {
  readonly #seconds = new HistogramFamily("tm_limit_store_seconds");
  #faults = 0;
  #isUp = true;

  note(asked: {
    readonly op: "claim" | "peek" | "change" | "rebuild" | "health";
    readonly isAnswered: boolean;
    readonly seconds: number;
  }): void {
    this.#seconds.of(asked.op).observe(asked.seconds);
    this.#isUp = asked.isAnswered;
    if (!asked.isAnswered) this.#faults += 1;
  }

  /** An answer did not come in time. */
  late(): void {
    this.#isUp = false;
    this.#faults += 1;
  }

  families(): readonly Family[] {
    return [
      this.#seconds,
      oneValue("tm_limit_store_faults_total", () => this.#faults),
      oneValue("tm_limit_store_up", () => Number(this.#isUp)),
    ];
  }
}
