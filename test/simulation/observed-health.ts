import type { DeploymentHealth } from "../../src/gateway/routing/health.ts";

/**
 * The circuits of one instance, with a count beside them: every attempt that a circuit let through
 * must report how it ended, or its probe is never finished.
 */
export class ObservedHealth implements DeploymentHealth {
  readonly #health: DeploymentHealth;
  readonly #unreported: Map<string, number> = new Map();

  constructor(health: DeploymentHealth) {
    this.#health = health;
  }

  /** Number of attempts that were let through and have not reported how they ended. */
  get unreported(): number {
    return [...this.#unreported.values()].reduce((sum, count) => sum + count, 0);
  }

  mayTry(deploymentId: string, nowMs: number): "yes" | "probe" | "no" {
    return this.#health.mayTry(deploymentId, nowMs);
  }

  startProbe(deploymentId: string, nowMs: number): boolean {
    const isLetThrough = this.#health.startProbe(deploymentId, nowMs);
    if (isLetThrough) this.#count(deploymentId, 1);
    return isLetThrough;
  }

  report(...ended: Parameters<DeploymentHealth["report"]>): void {
    this.#count(ended[0], -1);
    this.#health.report(...ended);
  }

  #count(deploymentId: string, step: 1 | -1): void {
    this.#unreported.set(deploymentId, (this.#unreported.get(deploymentId) ?? 0) + step);
  }
}
