import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { systemClock } from "../src/kernel/core/time.ts";
import { receivePort, startHelper } from "./children.ts";
import { print, buildGateway, parseWords, type Context, type Report, type Say } from "./program.ts";
import { startDeployment, type SoakDeployment } from "../test/support/deployment.ts";
import {
  SOAK_STREAMS,
  WARMUP_MS,
  mixture,
  soak,
  soakProviders,
  type Soaked,
  type SoakSample,
} from "./soak-load.ts";

export const USAGE: string = `npm run bench -- soak [options]
  Load on two instances as an operator has them, with a rolling restart and a failover of each store, to
  see whether anything breaks, or grows that should not.
  --minutes 30          of load
  --rate 250            requests per second
  --sample-seconds 10   between two samples
  --no-build            soak dist/ as it is`;

export async function run(words: readonly string[], context: Context): Promise<Report> {
  const options = parseWords(words, {
    minutes: { value: 30, max: 24 * 60 },
    rate: { value: 250, max: 100_000 },
    "sample-seconds": { value: 10, max: 600 },
    "no-build": false,
  });
  const { resources, say } = context;
  const { minutes, rate, "sample-seconds": sampleSeconds } = options;
  if (!options["no-build"]) buildGateway(say);
  const folder = mkdtempSync(join(tmpdir(), "tokenmarket-soak-"));
  resources.defer(() => rmSync(folder, { recursive: true, force: true }));
  const mock = startHelper("./mock-provider.ts");
  resources.defer(() => mock.stop());
  const mockPort = await receivePort(mock);
  mock.send(SOAK_STREAMS);
  say("starting the stores and two gateways");
  const deployment = await startDeployment(resources, {
    folder,
    providers: soakProviders(mockPort),
  });
  const load = startHelper("./mixed-load.ts");
  resources.defer(() => load.stop());
  const requests = mixture(deployment.port, await deployment.createFundedKey());
  say(`soaking for ${minutes} minutes at ${rate} requests a second`);
  const fromMs = systemClock.monotonicMs() + WARMUP_MS;
  const [seen, events] = await Promise.all([
    soak({ load, deployment, requests, minutes, rate, sampleSeconds }, say),
    runEvents(deployment, { minutes, fromMs }, say),
  ]);
  say("waiting for the last settlements, and auditing the books");
  const holdsLeft = await deployment.holdsLeft(say);
  const audit = (await deployment.audit()) as { readonly checks: readonly Check[] };
  return reportOf({ seen, events, holdsLeft, checks: audit.checks, isJudged: minutes >= 10 });
}

interface Check {
  readonly violations: number;
}

interface SoakEvent {
  readonly title: string;
  /** Start of the event, in seconds since the first sample began. */
  readonly fromSeconds: number;
  /** Time at which everything worked again as before, in seconds since the first sample began. */
  readonly toSeconds: number;
}

/**
 * The events of a run. Each is due when the share `due` of the run's time is over, and begins then
 * or `QUIET_SECONDS` after the end of the one before it. None is due in the second half, so that
 * growth can be judged there.
 */
const PLAN: readonly {
  readonly title: string;
  readonly due: number;
  readonly act: (deployment: SoakDeployment) => Promise<void>;
}[] = [
  { title: "Rolling restart", due: 0.1, act: (deployment) => deployment.restartInTurn() },
  { title: "Failover of Redis", due: 0.2, act: (deployment) => deployment.failOverRedis() },
  { title: "Failover of PostgreSQL", due: 0.3, act: (deployment) => deployment.failOverPostgres() },
];
/** Least pause between events: a refusal counts for the right event, and clients reconnect. */
const QUIET_SECONDS = 10;

async function runEvents(
  deployment: SoakDeployment,
  { minutes, fromMs }: { readonly minutes: number; readonly fromMs: number },
  say: Say,
): Promise<readonly SoakEvent[]> {
  const seconds = (): number => (systemClock.monotonicMs() - fromMs) / 1_000;
  const events: SoakEvent[] = [];
  for (const { title, due, act } of PLAN) {
    const dueMs = fromMs + minutes * 60_000 * due;
    const quietMs = events.length === 0 ? 0 : QUIET_SECONDS * 1_000;
    await sleep(Math.max(quietMs, dueMs - systemClock.monotonicMs()));
    const fromSeconds = seconds();
    say(`${title} begins at ${fromSeconds.toFixed(0)} s`);
    await act(deployment);
    events.push({ title, fromSeconds, toSeconds: seconds() });
    say(`${title} is over at ${seconds().toFixed(0)} s`);
  }
  return events;
}

interface Series {
  readonly title: string;
  readonly unit: string;
  /** Undefined if the value could not be read. */
  readonly of: (sample: SoakSample) => number | undefined;
  /** The run fails if the value grows. */
  readonly isHeld?: true;
}

const SERIES: readonly Series[] = [
  { title: "Requests", unit: "per second", of: (s) => s.requestsPerSecond },
  { title: "Same wire p50", unit: "ms", of: (s) => s.p50Ms },
  { title: "Same wire p99", unit: "ms", of: (s) => s.p99Ms },
  { title: "Streams p50", unit: "ms", of: (s) => s.streamP50Ms },
  { title: "Streams p99", unit: "ms", of: (s) => s.streamP99Ms },
  ...[0, 1].flatMap((at): Series[] => [
    ofInstance(at, { title: "Resident memory", unit: "MB" }, "residentMb"),
    ofInstance(at, { title: "Heap used", unit: "MB" }, "heapUsedMb"),
    ofInstance(at, { title: "Event-loop delay p99", unit: "ms" }, "eventLoopP99Ms"),
  ]),
  { title: "Gateway CPU", unit: "% of a core", of: (s) => s.gatewayCpuPercent },
  { title: "Database connections", unit: "open", of: (s) => s.databaseConnections, isHeld: true },
];

function ofInstance(
  at: number,
  { title, unit }: Pick<Series, "title" | "unit">,
  name: "residentMb" | "heapUsedMb" | "eventLoopP99Ms",
): Series {
  const of: Series["of"] = (sample) => sample.instances[at]?.[name];
  return { title: `${title}, instance ${at + 1}`, unit, of, isHeld: true };
}

type Judgement = Series & Flatness;

function judge(samples: readonly SoakSample[]): readonly Judgement[] {
  return SERIES.map((series) => {
    const points = samples.flatMap((sample) => {
      const value = series.of(sample);
      return value === undefined ? [] : [{ seconds: sample.seconds, value }];
    });
    return { ...series, ...flatnessOf(points) };
  });
}

interface Outcome {
  readonly seen: Soaked;
  readonly events: readonly SoakEvent[];
  readonly holdsLeft: number;
  readonly checks: readonly Check[];
  /** False for a short run, in which caches still fill, so that growth cannot be judged. */
  readonly isJudged: boolean;
}

function reportOf(outcome: Outcome): Report {
  const { seen, events, checks } = outcome;
  const { samples } = seen;
  const judged = judge(samples);
  const count = (of: (sample: SoakSample) => number): string =>
    samples.reduce((total, sample) => total + of(sample), 0).toLocaleString("en-US");
  const violations = checks.reduce((total, check) => total + check.violations, 0);
  const totals = [
    ["Answered", seen.answered.toLocaleString("en-US")],
    ["of them streams", seen.streams.toLocaleString("en-US")],
    ["Refused with 503 and `retry-after`", count((sample) => sample.announced)],
    ["Other errors", count((sample) => sample.errors)],
    ["Due while all connections of the load were in use", count((sample) => sample.late)],
    ["Sent once more, because nginx closed the idle connection", count((sample) => sample.resent)],
    ["Checks of `ledger audit` at the end, and violations", `${checks.length}, ${violations}`],
    ["Holds left", String(outcome.holdsLeft)],
  ];
  return {
    tables: [
      { title: "Totals", headings: ["What", "Count"], rows: totals },
      {
        title: "Events",
        headings: ["Event", "At", "Took", "503"],
        rows: events.map((event) => eventCells(event, samples)),
      },
      {
        title: "Figures of the second half of the run",
        headings: ["Figure", "Unit", "Mean", "Slope per hour", "Noise per hour", "Flat"],
        rows: judged.map(({ title, unit, level, slopePerHour, noisePerHour, isFlat }) => [
          title,
          unit,
          ...[level, slopePerHour, noisePerHour].map(print),
          isFlat ? "yes" : "no",
        ]),
      },
    ],
    problems: problemsOf(outcome, { judged, violations }),
    data: { ...outcome, judged },
  };
}

function eventCells(event: SoakEvent, samples: readonly SoakSample[]): readonly string[] {
  const { title, fromSeconds, toSeconds } = event;
  const within = samples.filter((sample, at) => {
    const began = samples[at - 1]?.seconds ?? 0;
    return sample.seconds >= fromSeconds && began <= toSeconds + QUIET_SECONDS;
  });
  const refused = within.reduce((total, sample) => total + sample.announced, 0);
  const took = `${(toSeconds - fromSeconds).toFixed(0)} s`;
  return [title, `${fromSeconds.toFixed(0)} s`, took, String(refused)];
}

function problemsOf(
  { seen, events, holdsLeft, checks, isJudged }: Outcome,
  { judged, violations }: { readonly judged: readonly Judgement[]; readonly violations: number },
): readonly string[] {
  const lastSeconds = seen.samples.at(-1)?.seconds ?? 0;
  const errors = seen.samples.reduce((total, sample) => total + sample.errors, 0);
  const refused = seen.samples
    .filter(({ seconds }) => seconds > lastSeconds / 2)
    .reduce((total, sample) => total + sample.announced, 0);
  const late = events.find(({ toSeconds }) => toSeconds > lastSeconds);
  return [
    ...(errors === 0 ? [] : [`${errors} errors, the first: ${seen.firstError}`]),
    ...(isJudged && refused > 0 ? [`${refused} requests refused in the second half`] : []),
    ...(checks.length === 0 ? ["the audit made no check"] : []),
    ...(violations === 0 ? [] : [`${violations} violations of the books`]),
    ...(holdsLeft === 0 ? [] : [`holds left: ${holdsLeft}`]),
    ...(late === undefined ? [] : [`${late.title} was not over when the load ended`]),
    ...judged
      .filter(({ isHeld, isFlat }) => isJudged && isHeld === true && !isFlat)
      .map(({ title }) => `${title} is not flat`),
  ];
}

interface Point {
  readonly seconds: number;
  readonly value: number;
}

interface Flatness {
  /** Slope of the regression line, in units of the value per hour. */
  readonly slopePerHour: number;
  /** Standard error of the slope, per hour. Noise alone stays below it two times out of three. */
  readonly noisePerHour: number;
  /** Mean of the second half of the run. */
  readonly level: number;
  readonly isFlat: boolean;
}

const SECONDS_PER_HOUR = 3_600;
/** A slope below this many standard errors is noise. */
const NOISE_TIMES = 3;
/** A growth per hour below this share of the level is flat, however certain it is. */
const SHARE_PER_HOUR = 0.05;

/**
 * Fits a line to the second half of a series: the first half fills caches and the heap. A series is
 * flat unless its line rises by more than three times its noise and, in an hour, by more than a
 * twentieth of its level.
 */
function flatnessOf(points: readonly Point[]): Flatness {
  const [from = 0, to = 0] = [points[0]?.seconds, points.at(-1)?.seconds];
  const half = points.filter(({ seconds }) => seconds >= (from + to) / 2);
  const { slope, error, level } = regression(half);
  const slopePerHour = slope * SECONDS_PER_HOUR;
  const noisePerHour = error * SECONDS_PER_HOUR;
  const isNoise = !(slopePerHour > NOISE_TIMES * noisePerHour);
  const isSmall = slopePerHour <= SHARE_PER_HOUR * level;
  return { slopePerHour, noisePerHour, level, isFlat: isNoise || isSmall };
}

/** Fits a line by least squares. It fits two points or fewer exactly, so their error is 0. */
function regression(points: readonly Point[]): {
  readonly slope: number;
  readonly error: number;
  readonly level: number;
} {
  const meanX = mean(points.map((point) => point.seconds));
  const level = mean(points.map((point) => point.value));
  const sumXX = sum(points.map((point) => (point.seconds - meanX) ** 2));
  if (sumXX === 0) return { slope: 0, error: 0, level };
  const slope = sum(points.map((point) => (point.seconds - meanX) * (point.value - level))) / sumXX;
  const residuals = sum(
    points.map((point) => (point.value - level - slope * (point.seconds - meanX)) ** 2),
  );
  const freedom = points.length - 2;
  const error = freedom > 0 ? Math.sqrt(residuals / freedom / sumXX) : 0;
  return { slope, error, level };
}

const mean = (values: readonly number[]): number =>
  values.length === 0 ? 0 : sum(values) / values.length;

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
