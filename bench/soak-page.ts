import { flatnessOf, type Flatness, type Point } from "./flatness.ts";
import { lineChart } from "./line-chart.ts";
import type { SoakEvent } from "./soak-events.ts";
import type { InstanceFigures, SoakResults, SoakSample } from "./soak-results.ts";

interface Series {
  readonly title: string;
  readonly unit: string;
  /** Null: there was none to read. */
  readonly of: (sample: SoakSample) => number | null;
  /** The run fails when it grows. */
  readonly isHeld: boolean;
}

const OF_INSTANCE: readonly {
  readonly title: string;
  readonly unit: string;
  readonly of: (figures: InstanceFigures) => number;
}[] = [
  { title: "Resident memory", unit: "MB", of: (figures) => figures.residentMb },
  { title: "Heap used", unit: "MB", of: (figures) => figures.heapUsedMb },
  { title: "Event-loop delay p99", unit: "ms", of: (figures) => figures.eventLoopP99Ms },
];

const SERIES: readonly Series[] = [
  { title: "Requests", unit: "per second", of: (s) => s.requestsPerSecond, isHeld: false },
  { title: "Same wire p50", unit: "ms", of: (s) => s.p50Ms, isHeld: false },
  { title: "Same wire p99", unit: "ms", of: (s) => s.p99Ms, isHeld: false },
  { title: "Streams p50", unit: "ms", of: (s) => s.streamP50Ms, isHeld: false },
  { title: "Streams p99", unit: "ms", of: (s) => s.streamP99Ms, isHeld: false },
  ...OF_INSTANCE.flatMap(({ title, unit, of }) =>
    [0, 1].map((at) => ({
      title: `${title}, instance ${at + 1}`,
      unit,
      of: (sample: SoakSample) => {
        const figures = sample.instances[at];
        return figures === null || figures === undefined ? null : of(figures);
      },
      isHeld: true,
    })),
  ),
  { title: "Gateway CPU", unit: "% of a core", of: (s) => s.gatewayCpuPercent, isHeld: false },
  { title: "Database connections", unit: "open", of: (s) => s.databaseConnections, isHeld: true },
];

/** A rehearsal fills caches to its end: nothing can be said of growth. */
export const JUDGED_MINUTES_MIN = 10;
const SECONDS_PER_MINUTE = 60;
/** Clients come back this long after a failover is over. */
const AFTERMATH_SECONDS = 10;

export interface Judgement extends Flatness {
  readonly title: string;
  readonly unit: string;
  readonly isHeld: boolean;
}

export function judge(samples: readonly SoakSample[]): readonly Judgement[] {
  return SERIES.map(({ title, unit, isHeld, of }) => {
    return { title, unit, isHeld, ...flatnessOf(pointsOf(samples, of)) };
  });
}

function pointsOf(samples: readonly SoakSample[], of: Series["of"]): readonly Point[] {
  return samples.flatMap((sample) => {
    const value = of(sample);
    return value === null ? [] : [{ seconds: sample.seconds, value }];
  });
}

/** Answers that were neither served nor an announced 503. */
export function errorsOf({ samples }: Pick<SoakResults, "samples">): number {
  return sumOf(samples, (sample) => sample.errors);
}

/** Announced 503s of each minute. */
export function announcedByMinute(samples: readonly SoakSample[]): readonly Point[] {
  const byMinute = new Map<number, number>();
  for (const { seconds, announced } of samples) {
    const minute = Math.max(1, Math.ceil(seconds / SECONDS_PER_MINUTE - 0.02));
    byMinute.set(minute, (byMinute.get(minute) ?? 0) + announced);
  }
  return [...byMinute].map(([minute, value]) => ({ seconds: minute * SECONDS_PER_MINUTE, value }));
}

/** Announced 503s of the intervals that an event, or its aftermath, lies in. */
export function announcedIn(samples: readonly SoakSample[], event: SoakEvent): number {
  const within = samples.filter((sample, at) => {
    const fromSeconds = samples[at - 1]?.seconds ?? 0;
    const isBefore = sample.seconds < event.fromSeconds;
    return !isBefore && fromSeconds <= event.toSeconds + AFTERMATH_SECONDS;
  });
  return sumOf(within, (sample) => sample.announced);
}

/** Announced 503s of the half that growth is judged in: no event is near it. */
export function announcedInQuiet(samples: readonly SoakSample[]): number {
  const last = samples.at(-1)?.seconds ?? 0;
  const quiet = samples.filter(({ seconds }) => seconds > last / 2);
  return sumOf(quiet, (sample) => sample.announced);
}

/** What a run must not show; empty: it passed. */
export function faultsOf(results: SoakResults): readonly string[] {
  const isJudged = results.options.minutes >= JUDGED_MINUTES_MIN;
  const grown = judge(results.samples).filter((each) => isJudged && each.isHeld && !each.isFlat);
  const errors = errorsOf(results);
  const refused = isJudged ? announcedInQuiet(results.samples) : 0;
  return [
    ...(errors === 0 ? [] : [`${errors} errors, the first: ${bodyOf(results.firstError)}`]),
    ...(refused === 0 ? [] : [`${refused} requests refused with 503 in the second half`]),
    ...(results.auditChecks === 0 ? ["the audit made no check"] : []),
    ...(results.auditViolations === 0
      ? []
      : [`${results.auditViolations} violations of the books`]),
    ...(results.holdsLeft === 0 ? [] : [`holds left: ${results.holdsLeft}`]),
    ...grown.map(({ title }) => `${title} is not flat`),
  ];
}

export function soakChart({ samples, events }: Pick<SoakResults, "samples" | "events">): string {
  const panels = SERIES.map(({ title, unit, of }) => {
    return { title, unit, points: pointsOf(samples, of) };
  });
  const refused = {
    title: "Announced 503",
    unit: "per minute",
    points: announcedByMinute(samples),
  };
  return lineChart([...panels.slice(0, 1), refused, ...panels.slice(1)], events);
}

export function soakTable(judgements: readonly Judgement[]): string {
  const lines = judgements.map((each) => {
    const { level, slopePerHour, noisePerHour, isFlat } = each;
    const verdict = isFlat ? "yes" : "no";
    const cells = [each.title, each.unit, ...[level, slopePerHour, noisePerHour].map(print)];
    return `| ${[...cells, verdict].join(" | ")} |`;
  });
  return [
    "| Figure | Unit | Mean | Slope per hour | Noise per hour | Flat |",
    "| --- | --- | --- | --- | --- | --- |",
    ...lines,
  ].join("\n");
}

function print(value: number): string {
  return Math.abs(value) >= 100 ? value.toFixed(0) : value.toFixed(2);
}

function eventTable({ samples, events }: SoakResults): string {
  const lines = events.map((event) => {
    const { title, fromSeconds, toSeconds } = event;
    const refused = print3(announcedIn(samples, event));
    return `| ${title} | ${fromSeconds.toFixed(0)} s | ${(toSeconds - fromSeconds).toFixed(0)} s | ${refused} |`;
  });
  return ["| Event | At | Took | 503 |", "| --- | --- | --- | --- |", ...lines].join("\n");
}

export function soakPage(results: SoakResults): string {
  const { machine, options, samples, highestPerSecond } = results;
  const announced = sumOf(samples, (sample) => sample.announced);
  const faults = faultsOf(results);
  const rate =
    highestPerSecond === undefined
      ? `${results.requestsPerSecond} requests a second, as asked for`
      : `${results.requestsPerSecond} requests a second, ${options.percent} % of the ` +
        `${highestPerSecond} that it kept up with in the calibration`;
  const reason = announced === 0 ? "" : ` The first: \`${bodyOf(results.firstAnnounced)}\`.`;
  const verdict = faults.length === 0 ? "Passed." : `Failed: ${faults.join("; ")}.`;
  return `# Soak

Written by \`npm run bench:soak -- --save\` from what it measured; change it in \`bench/soak-page.ts\`.

Measured on ${results.date} with Node ${results.node} on ${machine.cores} cores (${machine.cpu}, Linux
${machine.kernel}, load average at start ${machine.loadAverageAtStart}) by \`${results.command}\`.

Two \`serve\` processes with everything on, behind nginx; PgBouncer in transaction mode, with a direct address beside it,
before a PostgreSQL with a synchronous standby (fsync on); a Redis with a replica, watched by three sentinels; the load
and the mock provider: all on this machine, for ${options.minutes} minutes at ${rate}. Half of the requests are streams
of ten events; both wires, translated and not, are among them.

**${verdict}**

- Answered: ${print3(results.answered)}, of them ${print3(results.streams)} streams.
- Refused with 503 and \`retry-after\`: ${print3(announced)}, of them in the second half, without an event:
  ${print3(announcedInQuiet(samples))}.${reason}
- Other errors: ${print3(errorsOf(results))}.
- Due while all connections of the load were in use: ${print3(sumOf(samples, (each) => each.late))}.
- Sent once more, because nginx closed the idle connection at that moment (it does when it takes a new list of servers):
  ${print3(sumOf(samples, (each) => each.resent))}.
- \`ledger audit\` at the end: ${results.auditChecks} checks, ${results.auditViolations} violations; holds left: ${results.holdsLeft}.

${eventTable(results)}

The instances are drained and restarted in turn: SIGTERM, out of nginx after 3 s, ended, started, back in nginx. The master of Redis is
killed, and the sentinels put its replica in its place. The primary of PostgreSQL is killed and its synchronous
standby promoted; \`ledger reopen --nothing-lost\` is repeated there until the leases have run out, and then PgBouncer and the
direct address lead to it. No instance is restarted for a failover.

![Figures over the time of the run](soak.svg)

${soakTable(judge(samples))}

Mean, slope and noise are of the second half: the first half fills caches and the heap, and all events are in it. The slope is that of
the regression line through the samples of each ${options.sampleSeconds} seconds; the noise is its standard error. A figure is
flat unless its slope is more than three times its noise and more than 5 % of its mean an hour. From ${JUDGED_MINUTES_MIN} minutes
on, a 503 in the second half makes the run fail, and so do memory, event-loop delay or connections that are not flat.

The event-loop delay and the heap come from the gateways' own \`/metrics\`, which report the delay since the
last read; its histogram wakes every 10 ms, which is the least that it can show. Processor time and resident
memory are the kernel's figures. Latencies are of the client, through nginx: of requests on the provider's own wire that are not
streams to the last byte, of streams to the first.
`;
}

/** What follows the head of an answer, on one line. */
export function bodyOf(answer: string): string {
  const headEnd = answer.indexOf("\r\n\r\n");
  return answer
    .slice(headEnd === -1 ? 0 : headEnd + 4)
    .replaceAll(/[\r\n`]+/g, " ")
    .slice(0, 300);
}

function print3(value: number): string {
  return value.toLocaleString("en-US");
}

function sumOf(samples: readonly SoakSample[], of: (sample: SoakSample) => number): number {
  return samples.reduce((sum, sample) => sum + of(sample), 0);
}
