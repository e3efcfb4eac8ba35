import { ExpiringCache, unreachable } from "../../kernel/index.ts";

/** The health of all deployments, as far as this process knows. All times are monotonic. */
export interface DeploymentHealth {
  /** Returns whether a request may be sent: always, as a probe, or not. Changes nothing. */
  mayTry(deploymentId: string, nowMs: number): "yes" | "probe" | "no";
  /**
   * Reserves the probe of a half-open circuit right before it is sent. False if it is reserved
   * already or the circuit is cooling; true for a closed circuit, which needs no probe.
   */
  startProbe(deploymentId: string, nowMs: number): boolean;
  /**
   * Reports the end of an attempt that `startProbe` admitted, exactly once; `aborted` if nothing
   * was sent, which frees the probe. `startedMs` is the time of `startProbe`: it tells a probe from
   * an attempt that began before the circuit opened. Default `nowMs`, which counts as the newest
   * probe.
   */
  report(deploymentId: string, outcome: HealthOutcome, nowMs: number, startedMs?: number): void;
}

export interface HealthOptions {
  /** Returns a number in [0, 1) that varies the cooldowns. Default `Math.random`. */
  readonly random?: () => number;
  /** Called when outcomes of this process, not a notice, open a circuit; must not throw. */
  readonly onOpened?: (deploymentId: string, forMs: number) => void;
}

/**
 * After this time a second probe may be sent, whether the first is slow or never reports. It is the
 * default time limit for the headers of a stream.
 */
const PROBE_LEASE_MS = 20_000;
const SWEPT_PER_NEW_CIRCUIT = 2;

/** Circuits in the memory of this process. Forgets idle circuits, a few at a time. */
export class MemoryDeploymentHealth implements DeploymentHealth {
  readonly #circuits: Map<string, CircuitState> = new Map();
  readonly #random: () => number;
  readonly #onOpened: (deploymentId: string, forMs: number) => void;
  #sweep: Iterator<[string, CircuitState]> = this.#circuits.entries();

  constructor(options: HealthOptions = {}) {
    this.#random = options.random ?? Math.random;
    this.#onOpened = options.onOpened ?? (() => undefined);
  }

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
      this.#circuits.set(deploymentId, withProbe(circuit, nowMs, PROBE_LEASE_MS));
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

  /** Another instance's circuit opened for `forMs`; `afterNotice` decides about this instance's. */
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

  /** Checks two circuits for each new one, so that idle circuits cannot outnumber live ones. */
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
 * - `strike`: the provider's fault, such as a 5xx, a failed connection, a 401 or an unusable 2xx.
 * - `timeout`: counts as half a strike; timeouts alone never open a closed circuit.
 * - `neutral`: any other failure, such as a 429, refused content or a client that left.
 * - `aborted`: nothing was sent.
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
  /** Outcomes of the last 30 seconds, oldest first, one bucket per second. */
  readonly buckets: readonly Bucket[];
  /** Half-strikes since the last success: a strike adds 2, a timeout 1. */
  readonly streak: number;
  /** Until this time notices are ignored, because probes of this instance disproved one. */
  readonly ignoreRemoteUntilMs: number;
}

/** An open circuit: cooling until `untilMs`, half-open from then on. */
export interface OpenCircuit {
  readonly phase: "open";
  readonly untilMs: number;
  /** This instance's cooldown, before jitter; after a failed probe twice as long, up to 60 s. */
  readonly coolMs: number;
  /** True if another instance's notice opened or prolonged the circuit. */
  readonly isRemote: boolean;
  readonly probeSuccesses: number;
  readonly probeStartedMs: number;
  /** Until this time, no other probe may be sent; 0 if one may be sent now. */
  readonly probeUntilMs: number;
}

export type CircuitState = ClosedCircuit | OpenCircuit;

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
/** How long notices are ignored after probes disproved one, and after each success meanwhile. */
const IGNORE_REMOTE_MS = 600_000;
/** An open circuit is dropped if nothing was sent for this long after its cooldown. */
const FORGOTTEN_MS = 600_000;

/** `random` in [0, 1) varies the cooldown by up to 20 percent. */
export function nextCircuitState(state: CircuitState, ended: Ended, random: number): CircuitState {
  return state.phase === "closed"
    ? afterOutcome(state, ended, random)
    : afterProbe(state, ended, random);
}

/**
 * A notice of another instance cools a closed circuit, and can prolong a cooldown of this instance
 * once. It has no effect on a half-open circuit, nor for a while after this instance's probes have
 * disproved one: an instance that reaches no provider must not silence the others.
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

/** Returns whether a request may be sent; `probe` allows a test of a half-open circuit. */
export function permission(state: CircuitState, nowMs: number): "yes" | "probe" | "no" {
  if (state.phase === "closed") return "yes";
  return nowMs >= state.untilMs && nowMs >= state.probeUntilMs ? "probe" : "no";
}

/** Reserves the probe. If it never reports, another may be sent after `leaseMs`. */
export function withProbe(state: CircuitState, nowMs: number, leaseMs: number): CircuitState {
  return state.phase === "closed"
    ? state
    : { ...state, probeStartedMs: nowMs, probeUntilMs: nowMs + leaseMs };
}

/**
 * True for a closed circuit that has no recent outcomes and need not ignore notices, and for an
 * open one `FORGOTTEN_MS` after its cooldown and its last probe's lease have ended.
 */
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
  const streak = recentStreak(state, second) + (outcome === "strike" ? HALVES_PER_STRIKE : 1);
  return mustOpen(buckets, streak)
    ? openCircuit(COOL_MS_MIN, nowMs, random)
    : { ...state, buckets, streak };
}

function afterProbe(state: OpenCircuit, ended: Ended, random: number): CircuitState {
  const { outcome, nowMs, startedMs } = ended;
  // An attempt that began before the cooldown ended does not show the provider's health now.
  if (nowMs < state.untilMs || startedMs < state.untilMs) return state;
  // A probe that outlived its lease does not end the lease of the probe that replaced it.
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

/**
 * True if the streak is long enough, or if enough attempts of the window failed and at least as
 * many failed as succeeded; never for timeouts alone. Counts in half-strikes.
 */
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

/** A streak ends with a success, or when its newest failure is older than the window. */
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
  if (sameSecond) inside.pop();
  const counter = COUNTER_OF[outcome];
  inside.push({ ...before, [counter]: before[counter] + 1 });
  return inside;
}

const COUNTER_OF = { success: "successes", strike: "strikes", timeout: "timeouts" } as const;

const REPEAT_MS = 60_000;
/** Above this, the oldest requests are forgotten; their repeats then count as strikes again. */
const REMEMBERED_MAX = 10_000;

/**
 * Recognizes repeats of a failed request for one minute. Clients resend what a provider cannot
 * process, so only failures of at least three different requests (organization and body) open a
 * closed circuit.
 */
export class RepeatedFailures {
  readonly #counted = new ExpiringCache<true>(REPEAT_MS, REMEMBERED_MAX);

  get size(): number {
    return this.#counted.size;
  }

  /** True if the request was counted within the last minute; otherwise counts it now. */
  isRepeat(
    failed: { readonly deploymentId: string; readonly orgId: string; readonly digest: string },
    nowMs: number,
  ): boolean {
    const name = `${failed.deploymentId} ${failed.orgId} ${failed.digest}`;
    if (this.#counted.get(name, nowMs) === true) return true;
    this.#counted.set(name, true, nowMs);
    return false;
  }
}
