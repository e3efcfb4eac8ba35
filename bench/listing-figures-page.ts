import { markdownTableOf, print } from "./markdown-table.ts";
import type { MachineFacts } from "./results.ts";

/** One thing that was done many times, in milliseconds of wall time. */
export interface Look {
  readonly what: string;
  readonly firstMs: number;
  readonly p50Ms: number;
  readonly p95Ms: number;
}

export interface TableSize {
  readonly name: string;
  readonly rows: number;
  /** With its indexes. */
  readonly bytes: number;
}

export interface ListingFiguresRun {
  /** YYYY-MM-DD */
  readonly date: string;
  readonly node: string;
  readonly machine: MachineFacts;
  readonly command: string;
  readonly sizes: {
    readonly listings: number;
    readonly organizations: number;
    readonly days: number;
  };
  readonly hoursKept: number;
  readonly times: number;
  readonly filledInSeconds: number;
  readonly tables: readonly TableSize[];
  readonly looks: readonly Look[];
}

export function listingFiguresPage(run: ListingFiguresRun): string {
  const { machine, sizes } = run;
  const looks = run.looks.map(({ what, firstMs, p50Ms, p95Ms }) => [
    what,
    ...[firstMs, p50Ms, p95Ms].map(print),
  ]);
  const tables = run.tables.map(({ name, rows, bytes }) => [
    `\`${name}\``,
    count(rows),
    print(bytes / 1_000_000),
  ]);
  return `# Figures of listings on large books

Written by \`npm run bench:listings -- --save\` from what it measured; change it in \`bench/listing-figures-page.ts\`.

Measured on ${run.date} with Node ${run.node} on ${machine.cores} cores (${machine.cpu}, Linux ${machine.kernel}; load average of the
last minute at the start ${machine.loadAverageAtStart}, other work beside it) by \`${run.command}\`, on the embedded PostgreSQL as it is
shipped, client and server on the same cores.

The sums are of ${count(sizes.listings)} listings, ${count(sizes.organizations)} organizations and ${count(sizes.days)} days. Every organization called every listing in
every hour, which no real one does: each sum that can be there is there. Those of hours are kept for ${count(run.hoursKept)} hours, as
the program keeps them; older hours are only in the sums of their days. Filling took ${Math.round(run.filledInSeconds)} s.

## Reading and showing

Wall time in milliseconds; what is read ${count(run.times)} times includes putting the answer together. The console keeps an
answer for a minute, and the public days for ten.

${markdownTableOf(["What", "First", "p50", "p95"], looks) ?? ""}

## Sizes

${markdownTableOf(["Table", "Rows", "MB with indexes"], tables) ?? ""}
`;
}

function count(value: number): string {
  return value.toLocaleString("en-US");
}
