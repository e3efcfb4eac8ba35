import { chatBody, type Wire } from "./chat-bodies.ts";
import type { Helper } from "./children.ts";
import type { MockProvider, RunningServe } from "./installation.ts";
import type { MixedJob, MixedReport, MixedRequest } from "./mixed-load.ts";
import type { MockOrder } from "./mock-provider.ts";
import { isRunning, readCpuNs, readResidentBytes } from "../test/support/process-cost.ts";
import type { Say } from "./program.ts";
import type { SoakDeployment } from "../test/support/deployment.ts";
import { chatPath, clientHeaders } from "./targets/target.ts";

/** Streams that last half a second. */
export const SOAK_STREAMS: MockOrder = { kind: "pace", intervalMs: 50, eventsMax: 10 };

const MODEL_ID: Readonly<Record<Wire, string>> = { wire_a: "soak/wire-a", wire_b: "soak/wire-b" };

export function soakProviders(mockPort: number): readonly MockProvider[] {
  return [
    { id: "soak-a", wire: "wire_a", mockPort, modelIds: [MODEL_ID.wire_a] },
    { id: "soak-b", wire: "wire_b", mockPort, modelIds: [MODEL_ID.wire_b] },
  ];
}

const KINDS: readonly (readonly [client: Wire, upstream: Wire, bodyBytes: number])[] = [
  ["wire_a", "wire_a", 1_024],
  ["wire_b", "wire_a", 1_024],
  ["wire_a", "wire_b", 1_024],
  ["wire_b", "wire_b", 8_192],
];

/** Returns the requests that take turns: both wires, translated and not, half of them streamed. */
export function mixture(port: number, key: string): readonly MixedRequest[] {
  return KINDS.flatMap(([client, upstream, bodyBytes]) =>
    [false, true].map((stream) => ({
      endpoint: { port, path: chatPath(client), headers: clientHeaders(client, key) },
      body: chatBody({ wire: client, model: MODEL_ID[upstream], bodyBytes, stream }),
      stream,
      isTranslated: client !== upstream,
    })),
  );
}

/** Figures of one gateway instance, from its `/metrics` and from the operating system. */
interface InstanceFigures {
  readonly residentMb: number;
  readonly heapUsedMb: number;
  readonly eventLoopP99Ms: number;
}

export interface SoakSample extends Omit<MixedReport, "firstAnnounced" | "firstError"> {
  /** Seconds from the start of the first sample to the end of this one. */
  readonly seconds: number;
  /** Undefined for an instance that is being restarted. */
  readonly instances: readonly (InstanceFigures | undefined)[];
  /** Percent of one core, for both instances together. */
  readonly gatewayCpuPercent: number;
  /** Undefined while no primary answers. */
  readonly databaseConnections: number | undefined;
  readonly requestsPerSecond: number;
}

export interface Soaked {
  readonly samples: readonly SoakSample[];
  readonly answered: number;
  readonly streams: number;
  readonly firstError: string;
}

/**
 * Four connections for each request per second, because a stream occupies its connection for 0.5 s,
 * and a refusal during a failover for 3 s.
 */
const CONNECTIONS = { perRate: 4, min: 64, max: 4_000 };
/** How long the load runs before the window of the first sample. This time is not measured. */
export const WARMUP_MS = 2_000;
const REPORT_GRACE_MS = 60_000;

interface Soaking {
  readonly load: Helper;
  readonly deployment: SoakDeployment;
  readonly requests: readonly MixedRequest[];
  readonly minutes: number;
  readonly rate: number;
  readonly sampleSeconds: number;
}

/** Runs the load for the whole time, and takes a sample at the end of each window. */
export async function soak(soaking: Soaking, say: Say): Promise<Soaked> {
  const { load, deployment, requests, minutes, rate, sampleSeconds } = soaking;
  const windowMs = sampleSeconds * 1_000;
  const windows = Math.round((minutes * 60) / sampleSeconds);
  const { perRate, min, max } = CONNECTIONS;
  const connections = Math.min(max, Math.max(min, Math.ceil(rate * perRate)));
  const job = { requestsPerSecond: rate, warmupMs: WARMUP_MS, windowMs, windows };
  load.send({ ...job, requests, connections } satisfies MixedJob);
  const samples: SoakSample[] = [];
  let firstError = "";
  let cpuNs = cpuOf(deployment);
  while (samples.length < windows) {
    const answer = await load.receive(REPORT_GRACE_MS + WARMUP_MS + windowMs);
    const { report, error } = answer as { readonly report?: MixedReport; readonly error?: string };
    if (report === undefined) throw new Error(error ?? "the load gave no report");
    const { firstAnnounced, firstError: failed, ...seen } = report;
    if (firstAnnounced !== "") say(`  first 503: ${firstAnnounced}`);
    if (failed !== "") say(`  first error: ${failed}`);
    firstError = firstError === "" ? failed : firstError;
    const [before, now] = [cpuNs, cpuOf(deployment)];
    cpuNs = now;
    const usedNs = [...now].map(([id, ns]) => Math.max(0, ns - (before.get(id) ?? 0)));
    const sample = {
      ...seen,
      seconds: (samples.at(-1)?.seconds ?? 0) + seen.windowMs / 1_000,
      instances: await Promise.all(deployment.instances.map(figuresOf)),
      gatewayCpuPercent: usedNs.reduce((a, b) => a + b, 0) / (seen.windowMs * 10_000),
      databaseConnections: await deployment.databaseConnections(),
      requestsPerSecond: (seen.answered / seen.windowMs) * 1_000,
    };
    samples.push(sample);
    say(`  ${JSON.stringify(sample)}`);
  }
  // The load sends its last message when no request is in flight any more, or after 10 seconds.
  await load.receive(REPORT_GRACE_MS);
  const total = (name: "answered" | "streams"): number =>
    samples.reduce((sum, sample) => sum + sample[name], 0);
  return { samples, firstError, answered: total("answered"), streams: total("streams") };
}

function cpuOf({ instances }: SoakDeployment): ReadonlyMap<number, number> {
  return new Map(instances.map(({ processId }) => [processId, readCpuNs([processId])]));
}

const BYTES_PER_MB = 1_000_000;

/** Returns undefined if the instance ends meanwhile. */
async function figuresOf(serve: RunningServe): Promise<InstanceFigures | undefined> {
  const { processId, internalUrl } = serve;
  try {
    const response = await fetch(new URL("/metrics", internalUrl));
    const text = await response.text();
    if (response.status !== 200) throw new Error(`/metrics answered ${response.status}: ${text}`);
    return {
      residentMb: readResidentBytes([processId]) / BYTES_PER_MB,
      heapUsedMb: metricOf(text, "nodejs_heap_size_used_bytes") / BYTES_PER_MB,
      eventLoopP99Ms: metricOf(text, "nodejs_eventloop_lag_p99_seconds") * 1_000,
    };
  } catch (error) {
    if (isRunning(processId)) throw error;
    return undefined;
  }
}

/** Reads a metric without labels from Prometheus' text format. */
function metricOf(text: string, name: string): number {
  const line = text.split("\n").find((each) => each.startsWith(`${name} `));
  if (line === undefined) throw new Error(`/metrics has no ${name}`);
  return Number(line.slice(name.length + 1));
}
