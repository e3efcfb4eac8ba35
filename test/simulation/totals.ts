import type { FaultKind } from "./faults.ts";
import type { SimulationOutcome } from "./simulation.ts";

/** Totals over the scenarios of many seeds. */
export class Totals {
  readonly failures: SimulationOutcome[] = [];
  readonly faults: Map<FaultKind, number> = new Map();
  readonly struck: Map<string, number> = new Map();
  readonly endings: Map<string, number> = new Map();
  readonly priceKinds: Map<string, number> = new Map();
  runs = 0;
  steps = 0;
  requests = 0;
  dispatches = 0;
  simulatedMs = 0;
  faultyMs = 0;
  lateDispatches = 0;
  pendingAnswers = 0;
  recovered = 0;
  chargedRefusals = 0;

  add(outcome: SimulationOutcome): void {
    if (outcome.violation !== undefined) this.failures.push(outcome);
    this.runs += 1;
    this.steps += outcome.steps;
    this.requests += outcome.requests;
    this.dispatches += outcome.dispatches;
    this.simulatedMs += outcome.simulatedMs;
    this.faultyMs += outcome.faultyMs;
    this.lateDispatches += outcome.lateDispatches;
    this.pendingAnswers += outcome.pendingAnswers;
    this.recovered += outcome.recovered;
    this.chargedRefusals += outcome.chargedRefusals;
    addAll(this.faults, outcome.faults);
    addAll(this.priceKinds, outcome.priceKinds);
    addAll(this.struck, outcome.struck);
    addAll(this.endings, outcome.endings);
  }
}

/** Describes a scenario in which a promise was broken, and how to run it again. */
export function failureText({ seed, violation, trace }: SimulationOutcome): string {
  return [
    `seed ${seed}, step ${violation?.step}: ${violation?.message}`,
    `the last of what happened before (all of it: npm run sim -- --seed ${seed}):`,
    ...trace,
  ].join("\n");
}

function addAll<K>(sums: Map<K, number>, counts: ReadonlyMap<K, number>): void {
  for (const [key, count] of counts) sums.set(key, (sums.get(key) ?? 0) + count);
}
