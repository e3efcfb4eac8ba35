import { print, median, type Table } from "./program.ts";
import type { Sample } from "./measure.ts";
import { DEPLOYMENTS } from "./targets/gateway.ts";
import type { TargetId } from "./targets/target.ts";
import { PEERS, type Work } from "./works.ts";
import { defined } from "../src/kernel/core/defined.ts";

interface Spread {
  readonly min: number;
  readonly median: number;
}

export interface Figure extends Spread {
  readonly helpers: Spread;
  readonly redis: Spread;
  /** Median of requests or chunks per second. */
  readonly perSecondMedian: number;
  /** Median of the target's CPU time divided by the length of the window; 1 is one full core. */
  readonly loadMedian: number;
  /** The reason why the figure is not to be trusted; absent if there is none. */
  readonly problem?: string;
}

export function figureOf(samples: readonly Sample[]): Figure {
  // A target with a problem can look cheaper than it is, so such a sample does not count.
  const sound = samples.filter((sample) => sample.problem === undefined);
  const problem = samples.find((sample) => sample.problem !== undefined)?.problem;
  return {
    ...spreadOf(sound.map(({ value }) => value).filter(Number.isFinite)),
    helpers: spreadOf(samples.map(({ helpers }) => helpers)),
    redis: spreadOf(samples.map(({ redis }) => redis)),
    perSecondMedian: median(samples.map(({ perSecond }) => perSecond)),
    loadMedian: median(samples.map(({ load }) => load)),
    ...defined({ problem }),
  };
}

function spreadOf(values: readonly number[]): Spread {
  if (values.length === 0) return { min: Number.NaN, median: Number.NaN };
  return { min: Math.min(...values), median: median(values) };
}

interface Row {
  readonly work: Work;
  readonly figures: ReadonlyMap<TargetId, Figure>;
}

export function tablesOf(rows: readonly Row[]): readonly Table[] {
  const peers = PEERS.filter((id) => rows.some(({ figures }) => figures.has(id)));
  const own = rows.filter(({ work, figures }) => work.id !== "deployed" && figures.has("gateway"));
  const compared = own.filter(({ figures }) => peers.some((id) => figures.has(id)));
  return [
    {
      title: "As deployed",
      headings: ["Deployment", "Gateway", "PostgreSQL", "Redis", "Together", "Per second"],
      rows: rows.filter(({ work }) => work.id === "deployed").flatMap(deployedRows),
    },
    {
      title: "The gateway beside nginx and the Node floor",
      headings: OWN,
      rows: own.map(ownCells),
    },
    {
      title: "The gateway with its database beside every peer",
      headings: ["Work", "Unit", "Gateway", ...peers],
      rows: compared.map((row) => peerCells(row, peers)),
    },
  ];
}

function deployedRows({ figures }: Row): readonly (readonly string[])[] {
  const titles = new Map<TargetId, string>(DEPLOYMENTS.map(({ id, title }) => [id, title]));
  return [...figures].map(([id, figure]) => [
    titles.get(id) ?? "the embedded PostgreSQL, limits in memory",
    pair(figure),
    pair(figure.helpers),
    figure.redis.median === 0 ? "-" : pair(figure.redis),
    one(togetherOf(figure)),
    figure.perSecondMedian.toFixed(0),
  ]);
}

const OWN = [
  "Work",
  "Unit",
  "Gateway",
  "Database",
  "Per second",
  "Load of the gateway",
  "Grown",
  "Grown database",
  "nginx",
  "Node floor",
  "x nginx",
  "x floor",
];

function ownCells({ work, figures }: Row): readonly string[] {
  const own = figures.get("gateway");
  const grown = figures.get("gateway-grown");
  const [nginx, floor] = [figures.get("nginx"), figures.get("floor")].map((each) =>
    addedOver(work, figures, each),
  );
  const shown = addedOver(work, figures, own);
  return [
    work.title,
    work.unit,
    pair(shown),
    one(own?.helpers.median),
    own === undefined ? "-" : own.perSecondMedian.toFixed(0),
    own === undefined ? "-" : `${Math.round(own.loadMedian * 100)} %`,
    pair(grown),
    one(grown?.helpers.median),
    pair(nginx),
    pair(floor),
    times(shown?.min, nginx?.min),
    times(shown?.min, floor?.min),
  ];
}

function peerCells({ work, figures }: Row, peers: readonly TargetId[]): readonly string[] {
  const own = togetherOf(figures.get("gateway"));
  const cells = peers.map((id) => {
    const peer = togetherOf(figures.get(id));
    return peer === undefined ? "-" : `${print(peer)} (${times(peer, own)}x)`;
  });
  return [work.title, work.unit, one(own), ...cells];
}

/** The sum of the medians of a target and of the other processes that it needs. */
function togetherOf(figure: Figure | undefined): number | undefined {
  return figure === undefined
    ? undefined
    : figure.median + figure.helpers.median + figure.redis.median;
}

/** Subtracts the latency without a gateway. Figures that are not latencies stay as they are. */
function addedOver(
  { kind }: Work,
  figures: Row["figures"],
  figure: Figure | undefined,
): Figure | undefined {
  const direct = figures.get("direct");
  if (kind !== "latency" || figure === undefined || direct === undefined) return figure;
  return { ...figure, min: figure.min - direct.min, median: figure.median - direct.median };
}

const pair = (figure: Spread | undefined): string =>
  figure === undefined ? "-" : `${print(figure.min)} / ${print(figure.median)}`;
const one = (value: number | undefined): string => (value === undefined ? "-" : print(value));
const times = (over: number | undefined, under: number | undefined): string =>
  over === undefined || under === undefined ? "-" : (over / under).toFixed(2);
