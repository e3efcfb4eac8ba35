import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
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
  readonly targets: readonly { readonly id: TargetId; readonly version: string }[];
  /** Candidates left out and why. */
  readonly absent: readonly { readonly id: TargetId; readonly reason: string }[];
  readonly rows: readonly ResultRow[];
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

/** Reads this file, or the newest saved one. */
export function loadResults(file: string | undefined): BenchResults {
  const path = file ?? newestFile();
  if (path === undefined) throw new Error("nothing is saved in bench/results; run: npm run bench");
  const results = JSON.parse(readFileSync(path, "utf8")) as BenchResults;
  if (results.format !== 1) throw new Error(`${path} is not a saved run of this bench`);
  return results;
}

function newestFile(): string | undefined {
  if (!existsSync(FOLDER)) return undefined;
  const names = readdirSync(FOLDER).filter((name) => name.endsWith(".json"));
  const newest = names.toSorted().at(-1);
  return newest === undefined ? undefined : join(FOLDER, newest);
}

/** The middle value; of an even number the lower of the two, 0 of none. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor((sorted.length - 1) / 2)] ?? 0;
}
