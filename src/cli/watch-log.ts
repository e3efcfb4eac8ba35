import { formatUsd, instantOrNull, type MicroUsd } from "../kernel/index.ts";
import type { DueListing } from "../gateway/index.ts";
import type { WatchedListing } from "./watched-listings.ts";
import type { WatchedRun } from "./watched-run.ts";

/** What the runs of the last interval have cost, of how much. */
export interface IntervalSpending {
  readonly intervalMicroUsd: MicroUsd;
  readonly intervalBudgetMicroUsd: MicroUsd;
}

/** What a watch does, one line each: for people, or one JSON document each. */
export class WatchLog {
  readonly #output: NodeJS.WritableStream;
  readonly #isJson: boolean;
  #lastState = "";
  #runs = 0;
  #failed = 0;

  constructor(output: NodeJS.WritableStream, isJson: boolean) {
    this.#output = output;
    this.#isJson = isJson;
  }

  ran(
    { listing, reason }: DueListing<WatchedListing>,
    run: WatchedRun,
    left: number,
    spending: IntervalSpending,
  ): void {
    this.#runs += 1;
    if (run.verdict === "fail") this.#failed += 1;
    const { providerId, modelId } = listing;
    const { verdict = "none", failed, problem, outcome } = run;
    const why = [...failed, ...(problem === undefined ? [] : [problem])];
    const cost = formatUsd(run.spentMicroUsd);
    this.#lastState = "";
    this.#write(
      {
        event: "run",
        provider: providerId,
        model: modelId,
        reason,
        verdict,
        recorded: outcome === "recorded",
        failed,
        ...(problem !== undefined && { problem }),
        spend_usd: cost,
        ...spendingJson(spending),
        due: left,
      },
      `${providerId}/${modelId} (${reason}): ${verdict}, $${cost}${why.map((each) => `\n  ${each}`).join("")}\n` +
        `${spendingText(spending)}, ${left} more due`,
    );
  }

  waiting(listings: number, nextMs: number | undefined, spending: IntervalSpending): void {
    const next = instantOrNull(nextMs);
    this.#writeState(
      { event: "waiting", listings, next_at: next, ...spendingJson(spending) },
      next === null
        ? "there is no listing to check"
        : `nothing is due; the next of ${listings} listings is due at ${next}; ${spendingText(spending)}`,
    );
  }

  overBudget(due: number, spending: IntervalSpending): void {
    this.#writeState(
      { event: "over_budget", due, ...spendingJson(spending) },
      `${due} listings are due and wait: ${spendingText(spending)}; raise --interval-budget-usd, or lower --budget-usd`,
    );
  }

  problem(message: string): void {
    this.#writeState({ event: "problem", message }, message);
  }

  /** The last document and line, which the caller writes. */
  ended(): { readonly json: object; readonly text: string } {
    return {
      json: { event: "ended", runs: this.#runs, failed: this.#failed },
      text: `ended after ${this.#runs} runs, of which ${this.#failed} failed`,
    };
  }

  /** Written once, as long as it stays like that. */
  #writeState(json: object, text: string): void {
    if (text === this.#lastState) return;
    this.#lastState = text;
    this.#write(json, text);
  }

  #write(json: object, text: string): void {
    this.#output.write(`${this.#isJson ? JSON.stringify(json) : text}\n`);
  }
}

function spendingJson({ intervalMicroUsd, intervalBudgetMicroUsd }: IntervalSpending): object {
  return {
    interval_spend_usd: formatUsd(intervalMicroUsd),
    interval_budget_usd: formatUsd(intervalBudgetMicroUsd),
  };
}

function spendingText({ intervalMicroUsd, intervalBudgetMicroUsd }: IntervalSpending): string {
  return `$${formatUsd(intervalMicroUsd)} of $${formatUsd(intervalBudgetMicroUsd)} spent in the interval`;
}
