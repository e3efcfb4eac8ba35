import type { Filled } from "./big-books-data.ts";
import type { Figure } from "./big-books-measures.ts";
import { markdownTableOf, print } from "./markdown-table.ts";
import type { MachineFacts } from "./results.ts";

export interface BigBooksRun {
  /** YYYY-MM-DD */
  readonly date: string;
  readonly node: string;
  readonly machine: MachineFacts;
  readonly command: string;
  readonly filled: Filled;
  readonly figures: readonly Figure[];
}

/** A day of this many attempts has to be proven in so many minutes on so many cores. */
const DAY_GOAL = { attempts: 33_000_000, minutes: 15, cores: 8 };

export function bigBooksPage(run: BigBooksRun): string {
  const { machine, filled } = run;
  const { attempts, organizations, keys, listings, days } = filled.sizes;
  return `# What one PostgreSQL carries

Written by \`npm run bench:big-books -- --data DIR --save\` from what it measured; change it in
\`bench/big-books-page.ts\`.

Measured on ${run.date} with Node ${run.node} on ${machine.cores} cores (${machine.cpu}, Linux ${machine.kernel}; load average of the
last minute at the start ${machine.loadAverageAtStart}, other work beside it) by \`${run.command}\`, on the embedded PostgreSQL as it is
shipped, client and server on the same cores. The books have ${whole(attempts)} finished attempts of ${days} days with their
transfers, spend and sums, of ${whole(organizations)} organizations, ${whole(keys)} keys and ${whole(listings)} listings; filling took
${Math.round(filled.seconds / 60)} minutes, once. A few organizations have most of them; reports are of the one with the most.

## Steps of the schema

The books were filled at step 0011. Each later step ran on them beside one caller that held and settled
without a pause; the longest cycle says how long a step kept it waiting.

${tableOf(run, "steps")}

## Sizes

${tableOf(run, "sizes")}

## Reserve and settle

Durable cycles of one ledger, wall time, over organizations, keys and models in turn.

${tableOf(run, "load")}

## The console's reports

First: the first time. The other figures are of five times after it. A missing figure ran into its time limit.
A page of requests that is not full when its time is up says how far back it was searched, and is marked here.

${tableOf(run, "reports")}

## Audit

From one closed day to the next, and everything at once (\`--full\`).

${tableOf(run, "audit")}

${tableOf(run, "full")}

${perCore(run)}

## What it means

- Space comes before cycles: about ${print(bytesPerAttempt(run))} B an attempt with its transfers and all indexes here.
- The journal's days and the transfers' months are tables of their own, so that a batch, a report of thirty days
  and an audit from the last closed day read the newest ones, however many there are.
- Above the last row of the table in [operations](operating/growth.md) books are split by organization; nothing on
  the way of a call reads two organizations together outside a batch, which a test holds.
`;
}

function tableOf({ figures }: BigBooksRun, group: Figure["group"]): string {
  const rows = figures.filter((figure) => figure.group === group);
  const names = [...new Set(rows.flatMap(({ values }) => Object.keys(values)))];
  const table = markdownTableOf(
    ["", ...names.map((name) => name.replaceAll("_", " "))],
    rows.map(({ what, values }) => [
      what,
      ...names.map((name) => {
        const value = values[name];
        if (value === undefined || value === null || !Number.isFinite(value)) return "";
        return Number.isInteger(value) ? whole(value) : print(value);
      }),
    ]),
  );
  return table ?? "Not measured in this run.";
}

/** What the audit's speed means for the goal. */
function perCore({ figures, machine }: BigBooksRun): string {
  const speeds = figures
    .filter(({ group, what }) => group === "audit" && what.startsWith("from"))
    .map(({ values }) => (values["attempts_per_second"] ?? 0) / machine.cores);
  const best = Math.max(0, ...speeds);
  if (best === 0) return "";
  const minutes = DAY_GOAL.attempts / (best * DAY_GOAL.cores) / 60;
  return `That is ${whole(Math.round(best))} attempts a second a core, replay and database together on the same cores. A day of
${whole(DAY_GOAL.attempts)} would take ${print(minutes)} minutes on ${DAY_GOAL.cores} cores if all parts scaled alike (the goal is ${DAY_GOAL.minutes}); the replay is one
thread of the command, the proofs are one process of the database for each of \`--jobs\`.`;
}

function bytesPerAttempt({ figures, filled }: BigBooksRun): number {
  const megabytes = figures
    .filter(({ group, what }) => group === "sizes" && /^(attempt|transfer),/.test(what))
    .reduce((sum, { values }) => sum + (values["with_indexes_mb"] ?? 0), 0);
  return (megabytes * 1e6) / filled.sizes.attempts;
}

function whole(value: number): string {
  return value.toLocaleString("en-US");
}
