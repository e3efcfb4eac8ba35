import {
  HEALTHY,
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
  /** Tells how an attempt ended; every attempt that was sent reports exactly once. */
  report(deploymentId: string, outcome: HealthOutcome, nowMs: number): void;
}

/*
 * As long as a stream may take to its first headers. A probe that never reports holds the circuit
 * half-open no longer than that; a slow one that is still on its way is joined by a second.
 */
const PROBE_LEASE_MS = 20_000;

/** Circuits in the memory of one process; `random` gives numbers in [0, 1). */
export class MemoryDeploymentHealth implements DeploymentHealth {
  private readonly circuits = new Map<string, CircuitState>();
  private readonly random: () => number;
  private readonly probeLeaseMs: number;

  constructor(random: () => number = Math.random, probeLeaseMs: number = PROBE_LEASE_MS) {
    this.random = random;
    this.probeLeaseMs = probeLeaseMs;
  }

  mayTry(deploymentId: string, nowMs: number): "yes" | "probe" | "no" {
    return permission(this.circuitOf(deploymentId), nowMs);
  }

  startProbe(deploymentId: string, nowMs: number): boolean {
    const circuit = this.circuitOf(deploymentId);
    const allowed = permission(circuit, nowMs);
    if (allowed === "probe") {
      this.circuits.set(deploymentId, withProbe(circuit, nowMs, this.probeLeaseMs));
    }
    return allowed !== "no";
  }

  report(deploymentId: string, outcome: HealthOutcome, nowMs: number): void {
    const before = this.circuitOf(deploymentId);
    const after = nextCircuitState(before, outcome, nowMs, this.random());
    if (after !== before) this.circuits.set(deploymentId, after);
  }

  private circuitOf(deploymentId: string): CircuitState {
    return this.circuits.get(deploymentId) ?? HEALTHY;
  }
}
