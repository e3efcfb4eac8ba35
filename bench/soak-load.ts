import { chatBody, type Wire } from "./chat-bodies.ts";
import type { Helper } from "./children.ts";
import type { MockProvider } from "./installation.ts";
import type { MixedJob, MixedReport, MixedRequest } from "./mixed-load-job.ts";
import type { MockOrder } from "./mock-provider.ts";
import type { SoakDeployment } from "./soak-deployment.ts";
import type { SoakOptions } from "./soak-options.ts";
import { bodyOf } from "./soak-page.ts";
import type { SoakResults, SoakSample } from "./soak-results.ts";
import { SoakSampler } from "./soak-sampler.ts";
import { chatPath, clientHeaders } from "./targets/target.ts";

/** What a soak loads. */
export interface Subject {
  readonly load: Helper;
  readonly deployment: SoakDeployment;
  readonly requests: readonly MixedRequest[];
}

/** Streams of half a second. */
export const SOAK_STREAMS: MockOrder = { kind: "pace", intervalMs: 50, eventsMax: 10 };

const MODEL_ID: Readonly<Record<Wire, string>> = { wire_a: "soak/wire-a", wire_b: "soak/wire-b" };

export function soakProviders(mockPort: number): readonly MockProvider[] {
  return [
    { id: "soak-a", wire: "wire_a", mockPort, modelIds: [MODEL_ID.wire_a] },
    { id: "soak-b", wire: "wire_b", mockPort, modelIds: [MODEL_ID.wire_b] },
  ];
}

/** What is asked for in turn: both wires, translated and not, small and large, half of it streams. */
const KINDS: readonly {
  readonly client: Wire;
  readonly upstream: Wire;
  readonly bodyBytes: number;
}[] = [
  { client: "wire_a", upstream: "wire_a", bodyBytes: 1_024 },
  { client: "wire_b", upstream: "wire_a", bodyBytes: 1_024 },
  { client: "wire_a", upstream: "wire_b", bodyBytes: 1_024 },
  { client: "wire_b", upstream: "wire_b", bodyBytes: 8_192 },
];

export function mixture(port: number, key: string): readonly MixedRequest[] {
  return KINDS.flatMap(({ client, upstream, bodyBytes }) =>
    [false, true].map((stream) => ({
      endpoint: { port, path: chatPath(client), headers: clientHeaders(client, key) },
      body: chatBody({ wire: client, model: MODEL_ID[upstream], bodyBytes, stream }),
      stream,
      isTranslated: client !== upstream,
    })),
  );
}

/** For each request a second: a stream takes half a second, and in a failover a refusal takes three. */
const CONNECTIONS = { perRate: 4, min: 64, max: 4_000 };
/** Before the first window of a load. */
export const WARMUP_MS = 2_000;
const REPORT_GRACE_MS = 60_000;
const CALIBRATION = { fromPerSecond: 50, toPerSecond: 50_000, windowMs: 3_000, factor: 1.5 };
const HALVINGS = 2;
const COMPILE_MS = 8_000;
/** Kept up: nearly all that was due was answered, and what was not a stream within this time. */
const KEPT_UP = { shareMin: 0.97, p99MsMax: 500 };

type Say = (line: string) => void;

/** The highest rate that is kept up: in steps until one is not, then between the last two. */
export async function highestRate(subject: Subject, say: Say): Promise<number> {
  const { fromPerSecond, toPerSecond, factor } = CALIBRATION;
  await run(subject, { requestsPerSecond: fromPerSecond, windowMs: COMPILE_MS });
  let reached = 0;
  let missed = fromPerSecond;
  while (missed <= toPerSecond && (await keepsUp(subject, missed, say))) {
    reached = missed;
    missed = Math.round(missed * factor);
  }
  for (let halving = 0; halving < HALVINGS && reached > 0; halving += 1) {
    const between = Math.round((reached + missed) / 2);
    if (await keepsUp(subject, between, say)) reached = between;
    else missed = between;
  }
  if (reached === 0) throw new Error(`not even ${fromPerSecond} requests a second are kept up`);
  return reached;
}

async function keepsUp(subject: Subject, requestsPerSecond: number, say: Say): Promise<boolean> {
  const seen = await run(subject, { requestsPerSecond, windowMs: CALIBRATION.windowMs });
  const share = seen.answered / ((requestsPerSecond * seen.windowMs) / 1_000);
  const isKeptUp = share >= KEPT_UP.shareMin && seen.p99Ms <= KEPT_UP.p99MsMax && seen.late === 0;
  const percent = Math.round(share * 100);
  say(`  ${requestsPerSecond}/s: ${percent} % answered, p99 ${seen.p99Ms.toFixed(0)} ms`);
  return isKeptUp;
}

interface Pace {
  readonly requestsPerSecond: number;
  readonly windowMs: number;
}

async function run(subject: Subject, pace: Pace): Promise<MixedReport> {
  subject.load.send(jobOf(subject, { ...pace, windows: 1 }));
  const seen = await nextReport(subject.load, pace.windowMs);
  // Its connections close before the next job opens its own.
  await subject.load.receive(REPORT_GRACE_MS);
  return seen;
}

function jobOf({ requests }: Subject, pace: Pace & { readonly windows: number }): MixedJob {
  const { perRate, min, max } = CONNECTIONS;
  const connections = Math.min(max, Math.max(min, Math.ceil(pace.requestsPerSecond * perRate)));
  return { requests, connections, warmupMs: WARMUP_MS, processIds: [], ...pace };
}

async function nextReport(load: Helper, windowMs: number): Promise<MixedReport> {
  const answer = await load.receive(REPORT_GRACE_MS + WARMUP_MS + windowMs);
  const { report, error } = answer as { readonly report?: MixedReport; readonly error?: string };
  if (report === undefined) throw new Error(error ?? "the load gave no report");
  return report;
}

interface Soaking {
  readonly options: SoakOptions;
  readonly requestsPerSecond: number;
  readonly say: Say;
}

/** The load for all of the time, with a sample at the end of each window. */
export async function soak(
  subject: Subject,
  { options, requestsPerSecond, say }: Soaking,
): Promise<
  Pick<SoakResults, "samples" | "answered" | "streams" | "firstAnnounced" | "firstError">
> {
  const { load, deployment } = subject;
  const windowMs = options.sampleSeconds * 1_000;
  const windows = Math.round((options.minutes * 60) / options.sampleSeconds);
  const samples: SoakSample[] = [];
  const seen = { answered: 0, streams: 0, firstAnnounced: "", firstError: "" };
  load.send(jobOf(subject, { requestsPerSecond, windowMs, windows }));
  const sampler = new SoakSampler(deployment);
  while (samples.length < windows) {
    const report = await nextReport(load, windowMs);
    seen.answered += report.answered;
    seen.streams += report.streams;
    if (report.firstAnnounced !== "") say(`  first 503: ${bodyOf(report.firstAnnounced)}`);
    if (seen.firstAnnounced === "") seen.firstAnnounced = report.firstAnnounced;
    if (report.firstError !== "") say(`  first error: ${bodyOf(report.firstError)}`);
    if (seen.firstError === "") seen.firstError = report.firstError;
    const before = samples.at(-1)?.seconds ?? 0;
    const sample = await sampler.sample(report, before + report.windowMs / 1_000);
    samples.push(sample);
    say(lineOf(sample));
  }
  // Nothing is in flight any more.
  await load.receive(REPORT_GRACE_MS);
  return { samples, ...seen };
}

function lineOf(sample: SoakSample): string {
  const own = sample.instances.map((each) =>
    each === null
      ? "away"
      : `${each.residentMb.toFixed(0)} MB, loop ${each.eventLoopP99Ms.toFixed(0)} ms`,
  );
  return (
    `  ${sample.seconds.toFixed(0)} s: ${sample.requestsPerSecond.toFixed(0)}/s, ${own.join("; ")}, ` +
    `p50 ${sample.p50Ms.toFixed(1)} ms, p99 ${sample.p99Ms.toFixed(1)} ms, ` +
    `${sample.databaseConnections ?? "no"} connections, ${sample.announced} announced, ` +
    `${sample.errors} errors, ${sample.late} late, ${sample.resent} sent again`
  );
}
