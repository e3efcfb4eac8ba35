import { unreachable } from "../core/assert.ts";

/**
 * What an attempt says of its deployment's health.
 *
 * - `strike`: 5xx, failed connection, upstream 401/402/403, an unusable 2xx.
 * - `timeout`: counts half, and never opens a circuit by itself.
 * - `neutral`: 429, content policy, context overflow, other 4xx. `aborted`: the client left.
 */
export type HealthOutcome = "success" | "strike" | "timeout" | "neutral" | "aborted";

interface Bucket {
  readonly second: number;
  readonly successes: number;
  readonly strikes: number;
  readonly timeouts: number;
}

export interface ClosedCircuit {
  readonly phase: "closed";
  /** Outcomes of the last 30 seconds, oldest first, one bucket a second. */
  readonly buckets: readonly Bucket[];
  /** Half-strikes since the last success: a strike is two, a timeout one. */
  readonly streak: number;
}

/** Cooling until `untilMs`, half-open from then on. */
export interface OpenCircuit {
  readonly phase: "open";
  readonly untilMs: number;
  readonly coolMs: number;
  /** Successful probes so far. */
  readonly probeSuccesses: number;
  /** A probe is on its way until then; 0 = none is. */
  readonly probeUntilMs: number;
}

export type CircuitState = ClosedCircuit | OpenCircuit;

export const HEALTHY: ClosedCircuit = { phase: "closed", buckets: [], streak: 0 };

const WINDOW_SECONDS = 30;
const HALVES_PER_STRIKE = 2;
const STRIKES_TO_OPEN = 5;
const STREAK_TO_OPEN = 3;
const PROBES_TO_CLOSE = 2;
const COOL_MS_MIN = 5_000;
const COOL_MS_MAX = 60_000;
const JITTER = 0.2;

/**
 * The circuit after an outcome. `random` in [0, 1) spreads the cooling time by 20 % either way.
 * Times are of one monotonic clock.
 */
export function nextCircuitState(
  state: CircuitState,
  outcome: HealthOutcome,
  nowMs: number,
  random: number,
): CircuitState {
  return state.phase === "closed"
    ? afterOutcome(state, outcome, nowMs, random)
    : afterProbe(state, outcome, nowMs, random);
}

/** May a request be sent? `probe` = only as the one that tries a half-open circuit. */
export function permission(state: CircuitState, nowMs: number): "yes" | "probe" | "no" {
  if (state.phase === "closed") return "yes";
  return nowMs >= state.untilMs && nowMs >= state.probeUntilMs ? "probe" : "no";
}

/** Marks a probe as on its way; should it never report, another may be sent after `leaseMs`. */
export function withProbe(state: CircuitState, nowMs: number, leaseMs: number): CircuitState {
  return state.phase === "closed" ? state : { ...state, probeUntilMs: nowMs + leaseMs };
}

function afterOutcome(
  state: ClosedCircuit,
  outcome: HealthOutcome,
  nowMs: number,
  random: number,
): CircuitState {
  if (outcome === "neutral" || outcome === "aborted") return state;
  const second = Math.floor(nowMs / 1000);
  const buckets = withOutcome(state.buckets, outcome, second);
  const streak = outcome === "success" ? 0 : recentStreak(state, second) + halves(outcome);
  return outcome !== "success" && mustOpen(buckets, streak)
    ? opened(COOL_MS_MIN, nowMs, random)
    : { phase: "closed", buckets, streak };
}

function afterProbe(
  state: OpenCircuit,
  outcome: HealthOutcome,
  nowMs: number,
  random: number,
): CircuitState {
  // Requests that were already on their way when the circuit opened say nothing new.
  if (nowMs < state.untilMs) return state;
  switch (outcome) {
    case "success": {
      const probeSuccesses = state.probeSuccesses + 1;
      return probeSuccesses >= PROBES_TO_CLOSE
        ? HEALTHY
        : { ...state, probeSuccesses, probeUntilMs: 0 };
    }
    case "strike":
    case "timeout":
      return opened(Math.min(state.coolMs * 2, COOL_MS_MAX), nowMs, random);
    case "neutral":
    case "aborted":
      return { ...state, probeUntilMs: 0 };
    default:
      return unreachable(outcome);
  }
}

function opened(coolMs: number, nowMs: number, random: number): OpenCircuit {
  const jittered = coolMs * (1 - JITTER + 2 * JITTER * random);
  return {
    phase: "open",
    untilMs: nowMs + jittered,
    coolMs,
    probeSuccesses: 0,
    probeUntilMs: 0,
  };
}

/* Sums are in half-strikes, so that a timeout is a whole number too. */
function mustOpen(buckets: readonly Bucket[], streak: number): boolean {
  let successes = 0;
  let strikes = 0;
  let timeouts = 0;
  for (const bucket of buckets) {
    successes += bucket.successes;
    strikes += bucket.strikes;
    timeouts += bucket.timeouts;
  }
  if (strikes === 0) return false;
  const bad = strikes * HALVES_PER_STRIKE + timeouts;
  const mostlyBad = bad >= successes * HALVES_PER_STRIKE;
  return (
    streak >= STREAK_TO_OPEN * HALVES_PER_STRIKE ||
    (bad >= STRIKES_TO_OPEN * HALVES_PER_STRIKE && mostlyBad)
  );
}

function halves(outcome: "strike" | "timeout"): number {
  return outcome === "strike" ? HALVES_PER_STRIKE : 1;
}

/* A streak ends with a success, and is forgotten with the window it happened in. */
function recentStreak(state: ClosedCircuit, second: number): number {
  const newest = state.buckets.at(-1);
  return newest !== undefined && second - newest.second < WINDOW_SECONDS ? state.streak : 0;
}

function withOutcome(
  buckets: readonly Bucket[],
  outcome: "success" | "strike" | "timeout",
  second: number,
): readonly Bucket[] {
  const inside = buckets.filter((bucket) => second - bucket.second < WINDOW_SECONDS);
  const newest = inside.at(-1);
  const sameSecond = newest !== undefined && newest.second >= second;
  const before = sameSecond ? newest : { second, successes: 0, strikes: 0, timeouts: 0 };
  const after = {
    second: before.second,
    successes: before.successes + (outcome === "success" ? 1 : 0),
    strikes: before.strikes + (outcome === "strike" ? 1 : 0),
    timeouts: before.timeouts + (outcome === "timeout" ? 1 : 0),
  };
  if (sameSecond) inside.pop();
  inside.push(after);
  return inside;
}
