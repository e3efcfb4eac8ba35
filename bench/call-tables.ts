import { print } from "./markdown-table.ts";
import type { Sample } from "./measure.ts";
import { median, type Table } from "./program.ts";
import { DEPLOYMENTS } from "./targets/deployments.ts";
import type { TargetId } from "./targets/target.ts";
import { PEERS, type Work } from "./works.ts";

export interface Figure {
  readonly min: number;
  readonly median: number;
  /** The same of the target's other processes (a database), median; 0 when it has none. */
  readonly helpersMedian: number;
  readonly helpersMin: number;
  /** Its Redis. */
  readonly redisMin: number;
  readonly redisMedian: number;
  /** Requests or chunks per second, median. */
  readonly perSecondMedian: number;
  /** Processor time over the window, median: 1 is a core. */
  readonly loadMedian: number;
  /** Something went wrong: such a figure is not to be trusted. */
  readonly problem?: string;
}

export function figureOf(samples: readonly Sample[]): Figure {
  // Late events arrive in bursts and cost less each: a sample with a problem is not a figure.
  const sound = samples.filter((sample) => sample.problem === undefined);
  const values = sound.map(({ value }) => value).filter(Number.isFinite);
  const problem = samples.find((sample) => sample.problem !== undefined)?.problem;
  return {
    min: values.length === 0 ? Number.NaN : Math.min(...values),
    median: values.length === 0 ? Number.NaN : median(values),
    helpersMedian: median(samples.map(({ helpers }) => helpers)),
    helpersMin: Math.min(...samples.map(({ helpers }) => helpers)),
    redisMin: Math.min(...samples.map(({ redis }) => redis)),
    redisMedian: median(samples.map(({ redis }) => redis)),
    perSecondMedian: median(samples.map(({ perSecond }) => perSecond)),
    loadMedian: median(samples.map(({ load }) => load)),
    ...(problem === undefined ? {} : { problem }),
  };
}

interface Row {
  readonly work: Work;
  readonly figures: ReadonlyMap<TargetId, Figure>;
}

/** The tables: the deployments, then the gateway beside nginx and the Node floor, and beside every peer. */
export function tablesOf(rows: readonly Row[]): readonly Table[] {
  const peers = PEERS.filter((id) => rows.some(({ figures }) => figures.has(id)));
  const own = rows.filter(({ work, figures }) => {
    return work.id !== "deployed" && ownOf(figures) !== undefined;
  });
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
    `${print(figure.helpersMin)} / ${print(figure.helpersMedian)}`,
    figure.redisMedian === 0 ? "-" : `${print(figure.redisMin)} / ${print(figure.redisMedian)}`,
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
  const own = ownOf(figures);
  const grown = figures.get("gateway-grown");
  const [nginx, floor] = [figures.get("nginx"), figures.get("floor")].map((each) =>
    addedOver(work, figures, each),
  );
  const shown = addedOver(work, figures, own);
  return [
    work.title,
    work.unit,
    pair(shown),
    one(own?.helpersMedian),
    own === undefined ? "-" : own.perSecondMedian.toFixed(0),
    own === undefined ? "-" : `${Math.round(own.loadMedian * 100)} %`,
    pair(grown),
    one(grown?.helpersMedian),
    pair(nginx),
    pair(floor),
    times(shown?.min, nginx?.min),
    times(shown?.min, floor?.min),
  ];
}

function peerCells({ work, figures }: Row, peers: readonly TargetId[]): readonly string[] {
  const own = togetherOf(ownOf(figures));
  const cells = peers.map((id) => {
    const peer = togetherOf(figures.get(id));
    return peer === undefined ? "-" : `${print(peer)} (${times(peer, own)}x)`;
  });
  return [work.title, work.unit, one(own), ...cells];
}

/** That of the gateway, as one process or several. */
function ownOf(figures: Row["figures"]): Figure | undefined {
  return figures.get("gateway") ?? figures.get("gateway-workers");
}

/** A candidate and the processes it needs beside itself: the sum of the medians. */
function togetherOf(figure: Figure | undefined): number | undefined {
  return figure === undefined
    ? undefined
    : figure.median + figure.helpersMedian + figure.redisMedian;
}

/** A latency is what a candidate adds over no gateway at all. */
function addedOver(
  { kind }: Work,
  figures: Row["figures"],
  figure: Figure | undefined,
): Figure | undefined {
  const direct = figures.get("direct");
  if (kind !== "latency" || figure === undefined || direct === undefined) return figure;
  return { ...figure, min: figure.min - direct.min, median: figure.median - direct.median };
}

const pair = (figure: Figure | undefined): string =>
  figure === undefined ? "-" : `${print(figure.min)} / ${print(figure.median)}`;
const one = (value: number | undefined): string => (value === undefined ? "-" : print(value));
const times = (over: number | undefined, under: number | undefined): string =>
  over === undefined || under === undefined ? "-" : (over / under).toFixed(2);
