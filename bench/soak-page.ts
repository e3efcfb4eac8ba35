import { flatnessOf, type Flatness, type Point } from "./flatness.ts";
import { lineChart } from "./line-chart.ts";
import type { MachineFacts } from "./results.ts";
import type { SoakOptions } from "./soak-options.ts";

/** One interval of a soak. */
export interface SoakSample {
  /** Since the load began, at the end of the interval. */
  readonly seconds: number;
  readonly residentMb: number;
  readonly heapUsedMb: number;
  readonly eventLoopP99Ms: number;
  /** Of one core. */
  readonly gatewayCpuPercent: number;
  readonly databaseCpuPercent: number;
  readonly requestsPerSecond: number;
  readonly announced: number;
  readonly errors: number;
  readonly late: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

export interface SoakResults {
  readonly format: 1;
  /** YYYY-MM-DD */
  readonly date: string;
  readonly node: string;
  readonly machine: MachineFacts;
  readonly command: string;
  readonly options: SoakOptions;
  readonly highestPerSecond: number | undefined;
  readonly requestsPerSecond: number;
  readonly samples: readonly SoakSample[];
  readonly answered: number;
  readonly streams: number;
  /** The whole answer, head and body: the page has its body. */
  readonly firstAnnounced: string;
  readonly firstError: string;
  readonly auditViolations: number;
  readonly auditChecks: number;
}

interface Series {
  readonly title: string;
  readonly unit: string;
  readonly of: (sample: SoakSample) => number;
  /** The run fails when it grows: no other program on the machine can raise it. */
  readonly isHeld: boolean;
}

const SERIES: readonly Series[] = [
  { title: "Resident memory", unit: "MB", of: (s) => s.residentMb, isHeld: true },
  { title: "Heap used", unit: "MB", of: (s) => s.heapUsedMb, isHeld: true },
  { title: "Event-loop delay p99", unit: "ms", of: (s) => s.eventLoopP99Ms, isHeld: false },
  { title: "Gateway CPU", unit: "% of a core", of: (s) => s.gatewayCpuPercent, isHeld: false },
  { title: "Database CPU", unit: "% of a core", of: (s) => s.databaseCpuPercent, isHeld: false },
  { title: "Requests", unit: "per second", of: (s) => s.requestsPerSecond, isHeld: false },
  { title: "Latency p50", unit: "ms", of: (s) => s.p50Ms, isHeld: false },
  { title: "Latency p99", unit: "ms", of: (s) => s.p99Ms, isHeld: false },
];

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
  return samples.map((sample) => ({ seconds: sample.seconds, value: of(sample) }));
}

/** Answers that were neither served nor an announced 503. */
export function errorsOf({ samples }: Pick<SoakResults, "samples">): number {
  return samples.reduce((sum, sample) => sum + sample.errors, 0);
}

export function soakChart(samples: readonly SoakSample[]): string {
  return lineChart(
    SERIES.map(({ title, unit, of }) => ({ title, unit, points: pointsOf(samples, of) })),
  );
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

export function soakPage(results: SoakResults): string {
  const { machine, options, samples, highestPerSecond } = results;
  const announced = samples.reduce((sum, sample) => sum + sample.announced, 0);
  const late = samples.reduce((sum, sample) => sum + sample.late, 0);
  const errors = errorsOf(results);
  const rate =
    highestPerSecond === undefined
      ? `${results.requestsPerSecond} requests a second, as asked for`
      : `${results.requestsPerSecond} requests a second, ${options.percent} % of the ` +
        `${highestPerSecond} that it kept up with in the calibration`;
  const first = errors === 0 ? "" : ` The first: \`${bodyOf(results.firstError)}\`.`;
  const reason = announced === 0 ? "" : ` The first: \`${bodyOf(results.firstAnnounced)}\`.`;
  return `# Soak

Written by \`npm run bench:soak\` from what it measured; change it in \`bench/soak-page.ts\`.

Measured on ${results.date} with Node ${results.node} on ${machine.cores} cores (${machine.cpu}, Linux
${machine.kernel}, load average at start ${machine.loadAverageAtStart}) by \`${results.command}\`.

A \`serve\` process with its embedded PostgreSQL (fsync on) and everything on, the load and the mock provider
on the same machine, for ${options.minutes} minutes at ${rate}. Half of the requests are streams of ten events; both wires,
translated and not, are among them.

- Answered: ${print3(results.answered)}, of them ${print3(results.streams)} streams.
- Refused with 503 and \`retry-after\`: ${print3(announced)}.${reason}
- Other errors: ${print3(errors)}.${first}
- Due while all connections were in use: ${print3(late)}.
- \`ledger audit\` at the end: ${results.auditChecks} checks, ${results.auditViolations} violations.

![Figures over the time of the run](soak.svg)

${soakTable(judge(samples))}

Mean, slope and noise are of the second half: the first half fills caches and the heap. The slope is that of
the regression line through the samples of each ${options.sampleSeconds} seconds; the noise is its standard error. A figure is
flat unless its slope is more than three times its noise and more than 5 % of its mean an hour. Memory that is
not flat makes the run fail; the other figures also depend on what else the machine does.

The event-loop delay and the heap come from the gateway's own \`/metrics\`, which reports the delay since the
last read; its histogram wakes every 10 ms, which is the least that it can show. Processor time and resident
memory are the kernel's figures. Latencies are of the requests that are not streams, from sending to the last byte.
`;
}

/** What follows the head of an answer, on one line. */
function bodyOf(answer: string): string {
  const headEnd = answer.indexOf("\r\n\r\n");
  return answer
    .slice(headEnd === -1 ? 0 : headEnd + 4)
    .replaceAll(/[\r\n`]+/g, " ")
    .slice(0, 200);
}

function print3(value: number): string {
  return value.toLocaleString("en-US");
}
