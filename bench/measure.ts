import { setTimeout as sleep } from "node:timers/promises";
import { unreachable } from "../src/kernel/core/assert.ts";
import { chatBody, type Wire } from "./chat-bodies.ts";
import type { Helper } from "./children.ts";
import { withKey } from "./endpoint.ts";
import type { Destination, LoadJob, LoadReport, Watched } from "./load.ts";
import type { MockOrder } from "./mock-provider.ts";
import { readResidentBytes } from "../test/support/process-cost.ts";
import type { Target } from "./targets/target.ts";
import type { Work } from "./works.ts";
import { defined } from "../src/kernel/core/defined.ts";

export interface Sample {
  readonly value: number;
  readonly helpers: number;
  readonly redis: number;
  readonly perSecond: number;
  /** CPU time of the target divided by the length of the window; 1 is one full core. */
  readonly load: number;
  readonly problem?: string;
}

interface Subject {
  readonly work: Work;
  readonly target: Target;
}

export interface Tools {
  readonly mock: Helper;
  readonly load: Helper;
  readonly options: CallOptions;
}

export interface CallOptions {
  readonly seconds: number;
  readonly connections: number;
  readonly streams: number;
  readonly "memory-streams": number;
  /** Requests per second of the work `latency`. */
  readonly rate: number;
  /** The longest warm-up of a target with its first row, in seconds; an eighth with later rows. */
  readonly "warm-up": number;
}

const WARMUP_MS = 300;
const STREAM_INTERVAL_MS = 100;
const MEMORY_INTERVAL_MS = 1_000;
const LATENCY_CONNECTIONS = 32;
const JOB_TIMEOUT_MS = 60_000;
// A target that delivers less than this share of the provider's events is not keeping up.
const KEPT_UP_SHARE = 0.9;

/** Measures a target under `work`. Returns undefined if the target does not serve the route. */
export async function measure(
  tools: Tools,
  work: Work,
  target: Target,
): Promise<Sample | undefined> {
  const destination = destinationOf(work, target);
  if (destination === undefined) return undefined;
  switch (work.kind) {
    case "request":
    case "latency":
      return measureRequests(tools, destination, { work, target });
    case "stream":
      return measureStreams(tools, target, destination);
    case "memory":
      return measureMemory(tools, target, destination);
    default:
      return unreachable(work.kind);
  }
}

function destinationOf(work: Work, target: Target): Destination | undefined {
  const endpoint = target.endpoint(work.route);
  if (endpoint === undefined) return undefined;
  const { route, bodyBytes, bodyKind, callers, status, code } = work;
  const body = chatBody({
    wire: route.client,
    model: target.modelId(route),
    bodyBytes,
    ...defined({ kind: bodyKind }),
    stream: work.kind === "stream" || work.kind === "memory",
  });
  const keys = callers === undefined ? undefined : target.keys?.[callers];
  if (callers !== undefined && keys === undefined) return undefined;
  return { endpoint, body, ...defined({ ports: target.ports, keys, status, code }) };
}

/** A CPU cost is still falling if it fell by more than this share; a smaller fall is noise. */
const FALL = 0.03;

/**
 * Runs `work` on a target until its CPU cost stops falling or the longest warm-up is over, by the
 * same rule for every target. A JavaScript engine compiles code during the first half minute, and
 * figures from that time include the compiler's work. Returns the seconds of warm-up; 0 if the
 * target does not serve the route or answers nothing.
 */
export async function warmUp(
  tools: Tools,
  { work, target }: Subject,
  isFirstRow: boolean,
): Promise<number> {
  const destination = destinationOf(work, target);
  if (destination === undefined) return 0;
  const [parts, windowsMin, windowsMax] = isFirstRow ? [20, 10, 20] : [80, 4, 10];
  const windowMs = (tools.options["warm-up"] * 1_000) / parts;
  const job = warmUpJob(tools, { work, target }, { destination, windowMs });
  if (work.kind === "stream") {
    await openStreams(tools, destination, streamsOf(tools, target), STREAM_INTERVAL_MS);
  }
  const costs: number[] = [];
  const span = Math.floor(windowsMin / 2);
  // Compares the cheapest windows, because the work of other processes can only raise a cost.
  const isFalling = (): boolean =>
    Math.min(...costs.slice(-span)) < Math.min(...costs.slice(-2 * span, -span)) * (1 - FALL);
  do {
    const report = await runJob(tools, job);
    // The target answered none of these requests. The measurement will report the reason.
    if (report.count === 0) break;
    costs.push(costUs(report, "own"));
  } while (costs.length < windowsMin || (costs.length < windowsMax && isFalling()));
  if (work.kind === "stream") await closeStreams(tools);
  return (costs.length * windowMs) / 1_000;
}

function warmUpJob(
  tools: Tools,
  { work, target }: Subject,
  { destination, windowMs }: { readonly destination: Destination; readonly windowMs: number },
): LoadJob {
  const watched = { windowMs, ...watchedOf(target) };
  if (work.kind === "stream") return { kind: "watch_streams", ...watched };
  const connections = connectionsOf(tools, work, target);
  return { kind: "requests", ...destination, ...watched, connections, warmupMs: 0 };
}

function streamsOf({ options }: Tools, { pace }: Target): number {
  return Math.min(options.streams, pace?.streamsMax ?? Infinity);
}

function connectionsOf({ options }: Tools, work: Work, { pace, ports }: Target): number {
  const each = Math.min(work.connections ?? options.connections, pace?.connectionsMax ?? Infinity);
  return each * (ports?.length ?? 1);
}

async function measureRequests(
  tools: Tools,
  destination: Destination,
  { work, target }: Subject,
): Promise<Sample> {
  const windowMs = tools.options.seconds * 1_000;
  const load = { ...destination, ...watchedOf(target), warmupMs: WARMUP_MS };
  if (work.kind === "latency") {
    const pace = { requestsPerSecond: tools.options.rate, connections: LATENCY_CONNECTIONS };
    const report = await runJob(tools, { kind: "requests", ...load, ...pace, windowMs });
    return sampleOf(report, report.p50Ms);
  }
  const wrong = await probe(destination, work.route.client);
  if (wrong !== undefined) throw new Error(wrong);
  const connections = connectionsOf(tools, work, target);
  const windows = target.pace?.windows ?? 1;
  const job = { kind: "requests", ...load, connections, windowMs: windowMs * windows } as const;
  return sampleOf(await runJob(tools, job));
}

async function measureStreams(
  tools: Tools,
  target: Target,
  destination: Destination,
): Promise<Sample> {
  const { seconds } = tools.options;
  const streams = streamsOf(tools, target);
  const opened = await openStreams(tools, destination, streams, STREAM_INTERVAL_MS);
  if (opened.failures > 0) return failedSample(opened, await closeStreams(tools));
  await sleep(WARMUP_MS);
  const windowMs = seconds * 1_000;
  const report = await runJob(tools, { kind: "watch_streams", windowMs, ...watchedOf(target) });
  const ended = await closeStreams(tools);
  const sample = sampleOf(report);
  const expected = (streams * report.windowMs) / STREAM_INTERVAL_MS;
  if (ended.failures > 0) return failedSample(report, ended);
  if (report.count >= expected * KEPT_UP_SHARE) return sample;
  const share = Math.round((report.count / expected) * 100);
  return { ...sample, problem: `did not keep up: delivered ${share} % of the events` };
}

/** Measures the growth of the target's resident memory, in KB for each open stream. */
async function measureMemory(
  tools: Tools,
  target: Target,
  destination: Destination,
): Promise<Sample> {
  const streams = tools.options["memory-streams"];
  await openStreams(tools, destination, Math.ceil(streams / 20), MEMORY_INTERVAL_MS);
  await closeStreams(tools);
  await sleep(1_000);
  const before = readResidentBytes(target.processes().own);
  const opened = await openStreams(tools, destination, streams, MEMORY_INTERVAL_MS);
  if (opened.failures > 0) return failedSample(opened, await closeStreams(tools));
  await sleep(2_000);
  const grownBytes = readResidentBytes(target.processes().own) - before;
  const ended = await closeStreams(tools);
  if (ended.failures > 0) return failedSample(opened, ended);
  return sampleOf(opened, grownBytes / streams / 1_000);
}

function openStreams(
  tools: Tools,
  destination: Destination,
  streams: number,
  intervalMs: number,
): Promise<LoadReport> {
  tools.mock.send({ kind: "pace", intervalMs } satisfies MockOrder);
  return runJob(tools, { kind: "open_streams", streams, ...destination });
}

async function closeStreams(tools: Tools): Promise<LoadReport> {
  tools.mock.send({ kind: "finish" } satisfies MockOrder);
  return runJob(tools, { kind: "await_stream_ends", timeoutMs: 15_000 });
}

async function runJob(tools: Tools, job: LoadJob): Promise<LoadReport> {
  const windowMs = "windowMs" in job ? job.windowMs : 0;
  tools.load.send(job);
  const answer = await tools.load.receive(JOB_TIMEOUT_MS + windowMs);
  const { report, error } = answer as { readonly report?: LoadReport; readonly error?: string };
  if (report === undefined) throw new Error(`${job.kind}: ${error ?? "no report"}`);
  return report;
}

function watchedOf(target: Target): Watched {
  return { processes: { helpers: [], redis: [], ...target.processes() } };
}

/** `value` defaults to the target's own CPU time for each request or event, in microseconds. */
function sampleOf(report: LoadReport, value: number = costUs(report, "own")): Sample {
  const { count, windowMs, cpuNs } = report;
  const sample = {
    value,
    helpers: count === 0 ? 0 : costUs(report, "helpers"),
    redis: count === 0 ? 0 : costUs(report, "redis"),
    perSecond: windowMs === 0 ? 0 : (count / windowMs) * 1_000,
    load: windowMs === 0 ? 0 : cpuNs.own / windowMs / 1e6,
  };
  if (report.failures === 0 && count > 0) return sample;
  return { ...sample, problem: problemOf(report) };
}

function costUs({ cpuNs, count }: LoadReport, part: keyof LoadReport["cpuNs"]): number {
  return cpuNs[part] / count / 1_000;
}

function failedSample(report: LoadReport, ended: LoadReport): Sample {
  const worse = ended.failures > 0 ? ended : report;
  return { ...sampleOf(report, Number.NaN), problem: problemOf(worse) };
}

function problemOf(report: LoadReport): string {
  if (report.failures === 0) return "nothing was answered";
  return `${report.failures} failed; the first: ${report.firstFailure.slice(0, 300)}`;
}

const PROBE_TIMEOUT_MS = 10_000;

/**
 * Sends the request once with a real client and checks the answer, because a fast wrong answer must
 * not become a figure. Returns the problem; undefined for an answer with text and usage, and for
 * the refusal that `destination` expects.
 */
async function probe(destination: Destination, wire: Wire): Promise<string | undefined> {
  const { body, keys, status = 200, code = "" } = destination;
  const [key] = keys ?? [];
  const endpoint = key === undefined ? destination.endpoint : withKey(destination.endpoint, key);
  const response = await fetch(`http://127.0.0.1:${endpoint.port}${endpoint.path}`, {
    method: "POST",
    headers: { "content-type": "application/json", ...endpoint.headers },
    body,
    signal: AbortSignal.timeout(PROBE_TIMEOUT_MS),
  });
  const text = await response.text();
  const excerpt = text.slice(0, 300);
  const isExpected = response.status === status && text.includes(code);
  if (!isExpected) return `the probe got ${response.status}: ${excerpt}`;
  if (status !== 200) return undefined;
  return isAnswerOf(wire, JSON.parse(text)) ? undefined : `not a ${wire} answer: ${excerpt}`;
}

interface AnswerFields {
  readonly choices?: readonly { readonly message?: { readonly content?: unknown } }[];
  readonly content?: readonly { readonly text?: unknown }[];
  readonly usage?: Readonly<Record<string, unknown>>;
}

function isAnswerOf(wire: Wire, answer: AnswerFields): boolean {
  const text =
    wire === "wire_a" ? answer.choices?.[0]?.message?.content : answer.content?.[0]?.text;
  const inputTokens = answer.usage?.[wire === "wire_a" ? "prompt_tokens" : "input_tokens"];
  return typeof text === "string" && text.length > 100 && inputTokens === 210;
}
