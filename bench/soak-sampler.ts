import type { MixedReport } from "./mixed-load-job.ts";
import type { RunningServe } from "./installation.ts";
import { isRunning, readCpuNs, readResidentBytes } from "./process-cost.ts";
import type { SoakDeployment } from "./soak-deployment.ts";
import { readGatewayMetrics } from "./soak-metrics.ts";
import type { InstanceFigures, SoakSample } from "./soak-results.ts";

const BYTES_PER_MB = 1_000_000;

/** Reads what the deployment is like at the end of each window of the load. */
export class SoakSampler {
  readonly #deployment: SoakDeployment;
  /** By process, as of the last sample. */
  #cpuNs: ReadonlyMap<number, number>;

  constructor(deployment: SoakDeployment) {
    this.#deployment = deployment;
    this.#cpuNs = this.#readCpu();
  }

  async sample(seen: MixedReport, seconds: number): Promise<SoakSample> {
    const before = this.#cpuNs;
    this.#cpuNs = this.#readCpu();
    let cpuNs = 0;
    for (const [pid, ns] of this.#cpuNs) cpuNs += Math.max(0, ns - (before.get(pid) ?? 0));
    const { announced, errors, late, resent, p50Ms, p99Ms, streamP50Ms, streamP99Ms } = seen;
    return {
      seconds,
      instances: await Promise.all(this.#deployment.instances.map(figuresOf)),
      gatewayCpuPercent: (cpuNs / (seen.windowMs * 1_000_000)) * 100,
      databaseConnections: (await this.#deployment.databaseConnections()) ?? null,
      requestsPerSecond: (seen.answered / seen.windowMs) * 1_000,
      announced,
      errors,
      late,
      resent,
      p50Ms,
      p99Ms,
      streamP50Ms,
      streamP99Ms,
    };
  }

  #readCpu(): ReadonlyMap<number, number> {
    const ids = this.#deployment.instances.map(({ processId }) => processId);
    return new Map(ids.map((id) => [id, readCpuNs([id])]));
  }
}

/** One that ends while it is asked has no figures. */
async function figuresOf({
  processId,
  internalUrl,
}: RunningServe): Promise<InstanceFigures | null> {
  try {
    if (!isRunning(processId)) return null;
    const { heapUsedBytes, eventLoopP99Ms } = await readGatewayMetrics(internalUrl);
    const residentMb = readResidentBytes([processId]) / BYTES_PER_MB;
    return { residentMb, heapUsedMb: heapUsedBytes / BYTES_PER_MB, eventLoopP99Ms };
  } catch (error) {
    if (isRunning(processId)) throw error;
    return null;
  }
}
