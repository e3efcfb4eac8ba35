import {
  afterNotice,
  HEALTHY,
  isForgettable,
  nextCircuitState,
  permission,
  withProbe,
  type CircuitState,
  type HealthOutcome,
} from "./circuit.ts";

/** The health of every deployment, as far as this process knows. Times are monotonic. */
export interface DeploymentHealth {
  /** May a request be sent there? Changes nothing: a plan may ask for many and try one. */
  mayTry(deploymentId: string, nowMs: number): "yes" | "probe" | "no";
  /**
   * Takes the one probe of a half-open circuit, right before it is sent. False: another request
   * has it, or the circuit is cooling. True for a closed circuit, which needs no probe.
   */
  startProbe(deploymentId: string, nowMs: number): boolean;
  /**
   * Reports how an attempt ended. A caller admitted by `startProbe` reports exactly once:
   * `aborted` when nothing was sent after all, which frees the probe's place. `startedMs` is the time
   * of that `startProbe`, by which an attempt from before the circuit opened is known from a probe;
   * left out, the attempt counts as the newest probe.
   */
  report(deploymentId: string, outcome: HealthOutcome, nowMs: number, startedMs?: number): void;
}

export interface HealthOptions {
  /** Gives numbers in [0, 1). Default `Math.random`. */
  readonly random?: () => number;
  /** A probe that has not reported after so many milliseconds loses its place. Default 20 s. */
  readonly probeLeaseMs?: number;
  /** Notified of each circuit that opened by what was seen here; must not throw. */
  readonly onOpened?: (deploymentId: string, forMs: number) => void;
}

/*
 * As long as a stream may take to its first headers. A probe that never reports holds the circuit
 * half-open no longer than that; a slow one that is still on its way is joined by a second.
 */
const PROBE_LEASE_MS = 20_000;
const SWEPT_PER_NEW_CIRCUIT = 2;

/**
 * Circuits in the memory of one process. Kept are those that have something to remember: what is
 * well and idle is swept out, a few at a time.
 */
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
    return permission(this.#circuitOf(deploymentId), nowMs);
  }

  startProbe(deploymentId: string, nowMs: number): boolean {
    const circuit = this.#circuitOf(deploymentId);
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
    const before = this.#circuitOf(deploymentId);
    const after = nextCircuitState(before, { outcome, nowMs, startedMs }, this.#random());
    this.#keep(deploymentId, after, nowMs);
    const hasOpened = after !== before && after.phase === "open" && after.untilMs > nowMs;
    if (hasOpened) this.#onOpened(deploymentId, after.untilMs - nowMs);
  }

  /**
   * Another instance's circuit opened, and cools for so long from now on: no traffic until then.
   * What comes after, the probes of this process decide.
   */
  learn(deploymentId: string, forMs: number, nowMs: number): void {
    const after = afterNotice(this.#circuitOf(deploymentId), forMs, nowMs);
    this.#keep(deploymentId, after, nowMs);
  }

  #circuitOf(deploymentId: string): CircuitState {
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
