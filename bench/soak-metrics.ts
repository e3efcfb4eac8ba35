/** What the gateway says of itself on `/metrics`; event-loop figures are of the time since the last read. */
export interface GatewayMetrics {
  readonly heapUsedBytes: number;
  readonly eventLoopP99Ms: number;
}

/**
 * Reads the gateway's own metrics. They are there in every installation, so that nothing is loaded
 * into the process that is measured, and a read costs it a few milliseconds each sample.
 */
export async function readGatewayMetrics(internalUrl: string): Promise<GatewayMetrics> {
  const response = await fetch(new URL("/metrics", internalUrl));
  const text = await response.text();
  if (response.status !== 200) throw new Error(`/metrics answered ${response.status}: ${text}`);
  return {
    heapUsedBytes: metricOf(text, "nodejs_heap_size_used_bytes"),
    eventLoopP99Ms: metricOf(text, "nodejs_eventloop_lag_p99_seconds") * 1_000,
  };
}

/** The value of a metric without labels in Prometheus' text form. */
export function metricOf(text: string, name: string): number {
  const line = text.split("\n").find((each) => each.startsWith(`${name} `));
  if (line === undefined) throw new Error(`/metrics has no ${name}`);
  return Number(line.slice(name.length + 1));
}
