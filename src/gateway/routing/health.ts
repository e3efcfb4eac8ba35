import { unreachable } from "../../kernel/index.ts";

/** The health of every deployment, as far as this process knows. Times are monotonic. */
export interface DeploymentHealth {
  /** Returns whether a request may be sent; changes nothing. */
  mayTry(deploymentId: string, nowMs: number): "yes" | "probe" | "no";
  /**
   * Takes the one probe of a half-open circuit, right before it is sent. False if another request
   * has taken it or the circuit is cooling. True for a closed circuit, which needs no probe.
   */
  startProbe(deploymentId: string, nowMs: number): boolean;
  /**
   * Reports how an attempt ended. A caller admitted by `startProbe` reports exactly once: `aborted`
   * when nothing was sent after all, which frees the probe's place. `startedMs` is the time of that
   * `startProbe`, which distinguishes a probe from an attempt that began before the circuit opened.
   * Without it the attempt counts as the newest probe.
   */
  report(deploymentId: string, outcome: HealthOutcome, nowMs: number, startedMs?: number): void;
}

export interface HealthOptions {
  /** Returns numbers in [0, 1). Default `Math.random`. */
  readonly random?: () => number;
  /** Milliseconds after which a probe that has not reported is replaced. Default 20 s. */
  readonly probeLeaseMs?: number;
  /** Called for each circuit that this process's outcomes opened; must not throw. */
  readonly onOpened?: (deploymentId: string, forMs: number) => void;
}

/*
 * As long as a stream may take to its first headers. After this time a second probe may be sent,
 * whether the first is slow or never reports.
 */
const PROBE_LEASE_MS = 20_000;
const SWEPT_PER_NEW_CIRCUIT = 2;

/** Circuits in the memory of one process. Healthy, idle circuits are swept out, a few at a time. */
export class MemoryDeploymentHealth implements DeploymentHealth {
  readonly #circuits: Map<string, CircuitState> = new Map();
  readonly #random: () => number;
  readonly #probeLeaseMs: number;
  readonly #onOpened: (deploymentId: string, forMs: number) => void;
  #sweep: Iterator<[string, CircuitState]> = this.#circuits.entries();

  constructor(options: HealthOptions = {}) {
    this.#random = options.random ?? Math.random;
    this.#probeLeaseMs = options.probeLeaseMs ?? PROBE_LEASE_MS;
    this.#onOpened = options.onOpened ?? (() => undefined);
  }

  /** Circuits held in memory now. */
  get circuitCount(): number {
    return this.#circuits.size;
  }

  mayTry(deploymentId: string, nowMs: number): "yes" | "probe" | "no" {
    return permission(this.#findCircuit(deploymentId), nowMs);
  }

  startProbe(deploymentId: string, nowMs: number): boolean {
    const circuit = this.#findCircuit(deploymentId);
    const allowed = permission(circuit, nowMs);
    if (allowed === "probe") {
      this.#circuits.set(deploymentId, withProbe(circuit, nowMs, this.#probeLeaseMs));
    }
    return allowed !== "no";
  }

  report(
    deploymentId: string,
    outcome: HealthOutcome,
    nowMs: number,
    startedMs: number = nowMs,
  ): void {
    const before = this.#findCircuit(deploymentId);
    const after = nextCircuitState(before, { outcome, nowMs, startedMs }, this.#random());
    this.#keep(deploymentId, after, nowMs);
    const hasOpened = after !== before && after.phase === "open" && after.untilMs > nowMs;
    if (hasOpened) this.#onOpened(deploymentId, after.untilMs - nowMs);
  }

  /**
   * Handles the notice that another instance's circuit opened: no traffic for `forMs` from now on.
   * Then this process's own probes decide.
   */
  learn(deploymentId: string, forMs: number, nowMs: number): void {
    const after = afterNotice(this.#findCircuit(deploymentId), forMs, nowMs);
    this.#keep(deploymentId, after, nowMs);
  }

  #findCircuit(deploymentId: string): CircuitState {
    return this.#circuits.get(deploymentId) ?? HEALTHY;
  }

  #keep(deploymentId: string, circuit: CircuitState, nowMs: number): void {
    if (circuit === HEALTHY) {
      this.#circuits.delete(deploymentId);
      return;
    }
    if (!this.#circuits.has(deploymentId)) this.#sweepSome(nowMs);
    this.#circuits.set(deploymentId, circuit);
  }

  /* Each new circuit pays for checking two old ones, so idle ones cannot outnumber live ones. */
  #sweepSome(nowMs: number): void {
    for (let seen = 0; seen < SWEPT_PER_NEW_CIRCUIT; seen += 1) {
      const next = this.#sweep.next();
      if (next.done === true) {
        this.#sweep = this.#circuits.entries();
        return;
      }
      const [deploymentId, circuit] = next.value;
      if (isForgettable(circuit, nowMs)) this.#circuits.delete(deploymentId);
    }
  }
}

/**
 * The evidence of an attempt about its deployment's health.
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
  /** Half-strikes since the last success: a strike counts two, a timeout one. */
  readonly streak: number;
  /** Until this time notices of other instances are ignored, because own probes disproved one. */
  readonly ignoreRemoteUntilMs: number;
}

/** An open circuit: cooling until `untilMs`, half-open from then on. */
export interface OpenCircuit {
  readonly phase: "open";
  readonly untilMs: number;
  /** The cooldown in milliseconds by own outcomes, before jitter; the next one is twice as long. */
  readonly coolMs: number;
  /** True if another instance's notice opened the circuit or prolonged it. */
  readonly isRemote: boolean;
  /** Successful probes so far. */
  readonly probeSuccesses: number;
  /** The start of the newest probe. */
  readonly probeStartedMs: number;
  /** Until this time that probe is the only one; 0 if another may be sent. */
  readonly probeUntilMs: number;
}

export type CircuitState = ClosedCircuit | OpenCircuit;

/** How an attempt ended. */
export interface Ended {
  readonly outcome: HealthOutcome;
  readonly nowMs: number;
  readonly startedMs: number;
}

export const HEALTHY: ClosedCircuit = {
  phase: "closed",
  buckets: [],
  streak: 0,
  ignoreRemoteUntilMs: 0,
};

const WINDOW_SECONDS = 30;
const HALVES_PER_STRIKE = 2;
const STRIKES_TO_OPEN = 5;
const STREAK_TO_OPEN = 3;
const PROBES_TO_CLOSE = 2;
const COOL_MS_MIN = 5_000;
const COOL_MS_MAX = 60_000;
const JITTER = 0.2;
const NOTICE_MS_MAX = COOL_MS_MAX * (1 + JITTER);
/** Longer than any notice lasts, so that a disproved notice has no effect later. */
const IGNORE_REMOTE_MS = 600_000;
/** An open circuit is dropped if it is not tried for this time after its cooldown. */
const FORGOTTEN_MS = 600_000;

/**
 * Returns the circuit after an attempt. `random` in [0, 1) varies the cooldown by up to 20 percent.
 * All times are of one monotonic clock.
 */
export function nextCircuitState(state: CircuitState, ended: Ended, random: number): CircuitState {
  return state.phase === "closed"
    ? afterOutcome(state, ended, random)
    : afterProbe(state, ended, random);
}

/**
 * Returns the circuit after another instance's notice. A closed circuit cools down as notified; a
 * cooling one may be extended once. A half-open circuit, and one whose own successes disproved a
 * notice, ignores it: an instance that reaches no provider must not silence the others.
 */
export function afterNotice(state: CircuitState, forMs: number, nowMs: number): CircuitState {
  const untilMs = nowMs + Math.min(forMs, NOTICE_MS_MAX);
  if (state.phase === "closed") {
    return nowMs < state.ignoreRemoteUntilMs || untilMs <= nowMs
      ? state
      : cooling({ untilMs, coolMs: COOL_MS_MIN, isRemote: true });
  }
  const isCooling = nowMs < state.untilMs;
  return isCooling && !state.isRemote && untilMs > state.untilMs
    ? { ...state, untilMs, isRemote: true }
    : state;
}

/** Returns whether a request may be sent; `probe` allows one that tests a half-open circuit. */
export function permission(state: CircuitState, nowMs: number): "yes" | "probe" | "no" {
  if (state.phase === "closed") return "yes";
  return nowMs >= state.untilMs && nowMs >= state.probeUntilMs ? "probe" : "no";
}

/** Marks a probe as sent. If it never reports, another may be sent after `leaseMs`. */
export function withProbe(state: CircuitState, nowMs: number, leaseMs: number): CircuitState {
  return state.phase === "closed"
    ? state
    : { ...state, probeStartedMs: nowMs, probeUntilMs: nowMs + leaseMs };
}

/** True if the state has nothing to remember, or was not tried for long. */
export function isForgettable(state: CircuitState, nowMs: number): boolean {
  if (state.phase === "open") {
    return nowMs >= Math.max(state.untilMs, state.probeUntilMs) + FORGOTTEN_MS;
  }
  const newest = state.buckets.at(-1);
  const isQuiet = newest === undefined || toSecond(nowMs) - newest.second >= WINDOW_SECONDS;
  return isQuiet && nowMs >= state.ignoreRemoteUntilMs;
}

function afterOutcome(
  state: ClosedCircuit,
  { outcome, nowMs }: Ended,
  random: number,
): CircuitState {
  if (outcome === "neutral" || outcome === "aborted") return state;
  const second = toSecond(nowMs);
  const buckets = withOutcome(state.buckets, outcome, second);
  if (outcome === "success") {
    const ignoreRemoteUntilMs = nowMs < state.ignoreRemoteUntilMs ? nowMs + IGNORE_REMOTE_MS : 0;
    return { phase: "closed", buckets, streak: 0, ignoreRemoteUntilMs };
  }
  const streak = recentStreak(state, second) + halves(outcome);
  return mustOpen(buckets, streak)
    ? openCircuit(COOL_MS_MIN, nowMs, random)
    : { ...state, buckets, streak };
}

function afterProbe(state: OpenCircuit, ended: Ended, random: number): CircuitState {
  const { outcome, nowMs, startedMs } = ended;
  // Attempts from before the circuit opened carry no new evidence.
  if (nowMs < state.untilMs || startedMs < state.untilMs) return state;
  // A probe that outlived its lease still counts, but a later probe stays the only one.
  const holds = startedMs >= state.probeStartedMs;
  const left = holds ? { ...state, probeUntilMs: 0 } : state;
  switch (outcome) {
    case "success": {
      const probeSuccesses = state.probeSuccesses + 1;
      if (probeSuccesses < PROBES_TO_CLOSE) return { ...left, probeSuccesses };
      return state.isRemote
        ? { ...HEALTHY, ignoreRemoteUntilMs: nowMs + IGNORE_REMOTE_MS }
        : HEALTHY;
    }
    case "strike":
    case "timeout":
      return openCircuit(Math.min(state.coolMs * 2, COOL_MS_MAX), nowMs, random);
    case "neutral":
    case "aborted":
      return left;
    default:
      return unreachable(outcome);
  }
}

function openCircuit(coolMs: number, nowMs: number, random: number): OpenCircuit {
  const jittered = coolMs * (1 - JITTER + 2 * JITTER * random);
  return cooling({ untilMs: nowMs + jittered, coolMs, isRemote: false });
}

function cooling(rest: Pick<OpenCircuit, "untilMs" | "coolMs" | "isRemote">): OpenCircuit {
  return { phase: "open", ...rest, probeSuccesses: 0, probeStartedMs: 0, probeUntilMs: 0 };
}

function toSecond(nowMs: number): number {
  return Math.floor(nowMs / 1000);
}

/* Computed in half-strikes, so that a timeout is a whole number. */
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

/* A streak ends with a success, or when its window has passed. */
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
