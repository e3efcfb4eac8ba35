/**
 * How long a candidate runs before it is measured: the same rule for every one. An engine compiles
 * for half a minute of load, and a figure taken meanwhile is partly that of its compiler.
 */
export interface WarmUpPlan {
  readonly windowMs: number;
  readonly windowsMin: number;
  readonly windowsMax: number;
}

/** So much less than before is a fall; anything smaller is the noise of a machine. */
const FALL = 0.03;

/** Of the first row of a process, and of a later one, by the longest that the first may last. */
export function warmUpPlan(secondsMax: number, isFirstRow: boolean): WarmUpPlan {
  const partsOfMax = isFirstRow ? 20 : 80;
  const windowMs = (secondsMax * 1_000) / partsOfMax;
  return isFirstRow
    ? { windowMs, windowsMin: 10, windowsMax: 20 }
    : { windowMs, windowsMin: 4, windowsMax: 10 };
}

/**
 * Whether another window is worth it: the cheapest of the newest windows is still cheaper than the
 * cheapest of as many before them. The cheapest, because a busy machine only adds to a cost.
 */
export function isWarm(costs: readonly number[], plan: WarmUpPlan): boolean {
  if (costs.length >= plan.windowsMax) return true;
  if (costs.length < plan.windowsMin) return false;
  const span = Math.floor(plan.windowsMin / 2);
  const newest = Math.min(...costs.slice(-span));
  const before = Math.min(...costs.slice(-2 * span, -span));
  return newest >= before * (1 - FALL);
}

/** What was seen while one row of one candidate was warmed up. */
export interface WarmUpReport {
  readonly seconds: number;
  /** Processor time for each request or chunk in every window, us. */
  readonly costs: readonly number[];
}
