import { GROWTH_MAX, growthOf, type GrowthRow } from "./growth-figures.ts";
import type { GrowthOptions } from "./growth-plan.ts";
import { median, type MachineFacts } from "./results.ts";

export interface GrowthResults {
  readonly format: 1;
  /** YYYY-MM-DD */
  readonly date: string;
  readonly node: string;
  readonly machine: MachineFacts;
  readonly command: string;
  readonly options: GrowthOptions;
  readonly generatedInSeconds: number;
  readonly rows: readonly GrowthRow[];
  /** Undefined when the audit was not asked for. */
  readonly auditViolations?: number;
}

export function growthTable(rows: readonly GrowthRow[]): string {
  const lines = rows.map((row) => {
    const ratio = growthOf(row);
    const met = row.isHeld ? (ratio <= GROWTH_MAX ? "yes" : "no") : "";
    const cells = [row.title, row.unit, pair(row.empty), pair(row.grown), ratio.toFixed(2), met];
    return `| ${cells.join(" | ")} |`;
  });
  return [
    "| Figure | Unit | Empty | Grown | Ratio | Within 10 % |",
    "| --- | --- | --- | --- | --- | --- |",
    ...lines,
  ].join("\n");
}

function pair(values: readonly number[]): string {
  return `${print(Math.min(...values))} / ${print(median(values))}`;
}

function print(value: number): string {
  return Math.abs(value) >= 100 ? value.toFixed(0) : value.toFixed(value < 10 ? 2 : 1);
}

export function growthPage(results: GrowthResults): string {
  const { machine, options } = results;
  const { organizations, keys, listings, attempts, days } = options.sizes;
  const audit =
    results.auditViolations === undefined
      ? ""
      : `\nAfter it the audit of the grown books found ${results.auditViolations} violations.\n`;
  return `# A grown installation

Written by \`npm run bench:growth -- --save\` from what it measured; change it in \`bench/growth-page.ts\`.

Measured on ${results.date} with Node ${results.node} on ${machine.cores} cores (${machine.cpu}, Linux
${machine.kernel}, load average at start ${machine.loadAverageAtStart}) by \`${results.command}\`.

An empty installation has ${options.active} organizations with a key each and ${options.active} listings; the grown
one has ${print3(organizations)} organizations, ${print3(keys)} keys, ${print3(listings)} listings and
${print3(attempts)} finished attempts in ${days} days of the journal, with their transfers, spend and sums.
It was made in ${Math.round(results.generatedInSeconds)} s.

${growthTable(results.rows)}

Every cell is minimum / median over ${options.rounds} rounds; ratios are of the minimums. The goal is that no cost
grows by more than 10 %. Memory and start are not held to it: the catalog of all listings is in memory, and
is compiled at the start.
${audit}
## What is measured

- Both installations run at the same time, each a \`serve\` process with its embedded PostgreSQL (fsync on) and
  everything on, and are measured in turn, round after round, so that a noisy neighbour affects both.
- Cost of a request: processor time of the gateway's process, and of its database's processes, divided by
  the requests answered, at ${options.connections} connections. "One key" is always the same caller, of the organization
  with the longest history; "all active" rotates over ${options.active} organizations, keys and models.
- Reserve and settle: the median of durable cycles of a ledger in the bench's own process on the same
  database, 8 in flight, over the same callers. Wall time, so that they scatter more than processor time.
- Start: from starting the process to its ready line, database included, on books that were there.
`;
}

function print3(value: number): string {
  return value.toLocaleString("en-US");
}
