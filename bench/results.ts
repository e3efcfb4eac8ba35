import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { InnerFigures } from "./gateway-counters.ts";
import type { TargetId } from "./targets/target.ts";

/** One measured run, as it is saved. Additive: readers ignore fields they do not know. */
export interface BenchResults {
  readonly format: 1;
  /** YYYY-MM-DD */
  readonly date: string;
  readonly node: string;
  readonly machine: MachineFacts;
  readonly command: string;
  readonly settings: Readonly<Record<string, number>>;
  readonly targets: readonly MeasuredTarget[];
  /** Candidates left out and why. */
  readonly absent: readonly { readonly id: TargetId; readonly reason: string }[];
  readonly rows: readonly ResultRow[];
}

export interface MeasuredTarget {
  readonly id: TargetId;
  readonly version: string;
  /** How long its first row was warmed up. */
  readonly warmedSeconds?: number;
}

export interface MachineFacts {
  readonly cpu: string;
  readonly cores: number;
  readonly kernel: string;
  readonly loadAverageAtStart: number;
}

export interface ResultRow {
  readonly work: string;
  readonly unit: string;
  readonly figures: readonly Figure[];
}

export interface Figure {
  readonly target: TargetId;
  readonly min: number;
  readonly median: number;
  readonly values: readonly number[];
  /** The same of the target's other processes (a database), median; 0 when it has none. */
  readonly helpersMedian: number;
  /** Requests or chunks per second seen, median. */
  readonly perSecondMedian: number;
  /** Latency rows: 99th percentile in ms, median over the rounds. */
  readonly p99Median: number;
  /** Processor time over the window, median: 1 is a core. */
  readonly loadMedian?: number;
  /** Of a gateway that shows its counters, median of each. */
  readonly inner?: InnerFigures;
  /** What went wrong, when something did: such a figure is not to be trusted. */
  readonly problem?: string;
}

const FOLDER = fileURLToPath(new URL("./results/", import.meta.url));

/** Writes `bench/results/<date>-node<version>.json` and returns its path. */
export function saveResults(results: BenchResults): string {
  mkdirSync(FOLDER, { recursive: true });
  const file = join(FOLDER, `${results.date}-node${results.node}.json`);
  writeFileSync(file, `${JSON.stringify(results, null, 2)}\n`);
  return file;
}

/** The newest saved run of each Node major version, the newest version first. */
export function loadResults(): readonly BenchResults[] {
  if (!existsSync(FOLDER)) return [];
  const names = readdirSync(FOLDER).filter((name) => name.endsWith(".json"));
  return newestOfEachMajor(names).map((name) => {
    const results = JSON.parse(readFileSync(join(FOLDER, name), "utf8")) as BenchResults;
    if (results.format !== 1) throw new Error(`${name} is not a saved run of this bench`);
    return results;
  });
}

/** Of file names `<date>-node<version>.json`: the last date of each major version. */
export function newestOfEachMajor(names: readonly string[]): readonly string[] {
  const newest = new Map<number, string>();
  for (const name of names.toSorted()) {
    const major = /^\d{4}-\d{2}-\d{2}-node(\d+)\./.exec(name)?.[1];
    if (major !== undefined) newest.set(Number(major), name);
  }
  return [...newest].toSorted(([a], [b]) => b - a).map(([, name]) => name);
}

/** The middle value; of an even number the lower of the two, 0 of none. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor((sorted.length - 1) / 2)] ?? 0;
}
