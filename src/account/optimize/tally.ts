import { microUsd, type MicroUsd, ZERO_MICRO_USD } from "../../kernel/index.ts";
import type { EndedCall } from "./model-caller.ts";
import type { OptimizeObjective, OptimizeResult } from "./postgres-optimize-store.ts";

type Counted = Pick<EndedCall, "isAnswered" | "costMicroUsd" | "firstByteMs">;

export class Tally {
  readonly #objective: OptimizeObjective;
  readonly #counts: ReadonlyMap<string, Count>;
  #verdicts = 0;

  constructor(objective: OptimizeObjective, modelIds: readonly string[]) {
    this.#objective = objective;
    this.#counts = new Map(modelIds.map((modelId) => [modelId, newCount()]));
  }

  addCall(modelId: string, call: Counted): void {
    const count = this.#findCount(modelId);
    count.calls += 1;
    if (!call.isAnswered) count.failed += 1;
    count.costMicroUsd = microUsd(count.costMicroUsd + call.costMicroUsd);
    if (call.isAnswered && call.firstByteMs !== null) count.firstByteMs.push(call.firstByteMs);
  }

  addVerdict(modelIds: readonly string[], winner: string): void {
    this.#verdicts += 1;
    for (const modelId of modelIds) this.#findCount(modelId).judged += 1;
    this.#findCount(winner).won += 1;
  }

  results(): readonly OptimizeResult[] {
    const unranked = [...this.#counts].map(([modelId, count]) => toResult(modelId, count));
    const order = unranked
      .filter((each) => each.calls > each.failed && this.#isDecided())
      .toSorted((a, b) => compare(this.#objective, a, b));
    return unranked.map((each) => {
      const place = order.indexOf(each);
      return { ...each, rank: place < 0 ? null : place + 1 };
    });
  }

  /** False if `best_judged` lacks verdicts on half of the prompts; then no candidate is ranked. */
  #isDecided(): boolean {
    if (this.#objective !== "best_judged") return true;
    const prompts = Math.max(...[...this.#counts.values()].map(({ calls }) => calls));
    return this.#verdicts > 0 && this.#verdicts * 2 >= prompts;
  }

  #findCount(modelId: string): Count {
    const count = this.#counts.get(modelId);
    if (count === undefined) throw new Error(`${modelId} is not a candidate of this search`);
    return count;
  }
}

interface Count {
  calls: number;
  failed: number;
  costMicroUsd: MicroUsd;
  firstByteMs: number[];
  judged: number;
  won: number;
}

function newCount(): Count {
  const none = { calls: 0, failed: 0, judged: 0, won: 0 };
  return { ...none, costMicroUsd: ZERO_MICRO_USD, firstByteMs: [] };
}

function toResult(modelId: string, count: Count): OptimizeResult {
  const { calls, failed, costMicroUsd, firstByteMs, judged, won } = count;
  const answered = calls - failed;
  return {
    modelId,
    calls,
    failed,
    costMicroUsd,
    costPerCallMicroUsd: answered === 0 ? null : microUsd(costMicroUsd / BigInt(answered)),
    firstByteP50Ms: findMedian(firstByteMs),
    winRate: judged === 0 ? null : won / judged,
    rank: null,
  };
}

/** Takes the lower of two middle values, so that the median is a measured value. */
function findMedian(values: readonly number[]): number | null {
  return values.toSorted((a, b) => a - b)[Math.ceil(values.length / 2) - 1] ?? null;
}

/**
 * A model that failed more than a fifth of its calls ranks behind all others, since a missing
 * answer is neither cheap nor fast. Cost breaks ties, then speed.
 */
function compare(objective: OptimizeObjective, a: OptimizeResult, b: OptimizeResult): number {
  return (
    Number(isUnreliable(a)) - Number(isUnreliable(b)) ||
    (objective === "best_judged" ? (b.winRate ?? -1) - (a.winRate ?? -1) : 0) ||
    (objective === "fastest" ? compareSpeed(a, b) : 0) ||
    compareCost(a, b) ||
    compareSpeed(a, b)
  );
}

function isUnreliable({ calls, failed }: OptimizeResult): boolean {
  return failed * 5 > calls;
}

function compareSpeed(a: OptimizeResult, b: OptimizeResult): number {
  return (
    (a.firstByteP50Ms ?? Number.MAX_SAFE_INTEGER) - (b.firstByteP50Ms ?? Number.MAX_SAFE_INTEGER)
  );
}

/** Compares cost per answer as exact fractions, not as rounded values. */
function compareCost(a: OptimizeResult, b: OptimizeResult): number {
  const left = a.costMicroUsd * BigInt(b.calls - b.failed);
  const right = b.costMicroUsd * BigInt(a.calls - a.failed);
  return left < right ? -1 : left > right ? 1 : 0;
}
