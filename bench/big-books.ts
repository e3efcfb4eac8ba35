import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { DisposalStack } from "../src/app/disposal-stack.ts";
import { systemClock } from "../src/core/time.ts";
import { fillBooks, readFilled } from "./big-books-data.ts";
import {
  measureAudit,
  measureFullAudit,
  measureLoad,
  measureReports,
  measureSizes,
  measureSteps,
  type Figure,
  type Measuring,
} from "./big-books-measures.ts";
import { bigBooksPage, type BigBooksRun } from "./big-books-page.ts";
import { commandLine, loadAverage, machineFacts, runToEnd, today, writePage } from "./command.ts";
import { openBenchLedger, openBooks } from "./growth-ledger.ts";
import { activeOf, parseGrowthOptions } from "./growth-plan.ts";

/**
 * `npm run bench:big-books`: what one PostgreSQL carries. Fills the books of a folder once, runs the
 * later steps of the schema on them, and measures reserves, settlements, the console's reports and
 * the audit. What was measured is kept in the folder, so that parts can be measured again.
 */
const GROUPS = ["steps", "sizes", "load", "reports", "audit", "full"] as const;
const USAGE = `npm run bench:big-books -- --data DIR [options]
  --data DIR             the folder of the books; filled when it is empty, and kept
  --attempts 50000000    with --organizations, --keys, --listings and --days as for bench:growth
  --only a,b             of ${GROUPS.join(", ")}
  --seconds 20           of load, at each number in flight
  --active 100           organizations, keys and models of the load
  --jobs 2               connections of the audit
  --save                 write docs/capacity.md`;

const startedMs = systemClock.monotonicMs();
const resources = new DisposalStack();
const words = process.argv.slice(2);
const { values } = parseArgs({
  args: words,
  options: {
    data: { type: "string" },
    attempts: { type: "string", default: "50000000" },
    organizations: { type: "string", default: "1000" },
    keys: { type: "string", default: "100000" },
    listings: { type: "string", default: "10000" },
    days: { type: "string", default: "60" },
    active: { type: "string", default: "100" },
    seconds: { type: "string", default: "20" },
    jobs: { type: "string", default: "2" },
    only: { type: "string", default: GROUPS.join(",") },
    save: { type: "boolean", default: false },
  },
});
if (values.data === undefined) process.stdout.write(`${USAGE}\n`);
else await runToEnd(resources, () => run(values.data ?? ""));

async function run(folder: string): Promise<number> {
  const { attempts, organizations, keys, listings, days, active, seconds } = values;
  const sized = { attempts, organizations, keys, listings, days, active, seconds };
  const flags = Object.entries(sized).flatMap(([name, value]) => [`--${name}`, value]);
  const options = parseGrowthOptions(flags);
  if (options === undefined) return 2;
  const nowMs = (): number => systemClock.monotonicMs();
  const filled =
    readFilled(folder) ?? (await fillBooks({ folder, sizes: options.sizes, say, nowMs }));
  const machine = machineFacts(loadAverage());
  const books = await openBooks(join(folder, "data"));
  resources.defer(() => books.close());
  const { connectionString, backend } = books;
  const of: Measuring = {
    connectionString,
    folder,
    callers: activeOf(filled.sizes, options.active),
    seconds: options.seconds,
    jobs: Number(values.jobs),
    say,
  };
  const only = new Set(values.only.split(","));
  let figures = readFigures(folder);
  const measure = async (
    group: Figure["group"],
    work: () => Promise<readonly Figure[]>,
  ): Promise<void> => {
    if (!only.has(group)) return;
    say(`measuring: ${group}`);
    const seen = await work();
    if (seen.length === 0) return;
    figures = [...figures.filter((figure) => figure.group !== group), ...seen];
    writeFileSync(figuresFile(folder), JSON.stringify(figures, null, 2));
  };
  await measure("steps", () => measureSteps(of));
  await backend.migrate();
  await measure("sizes", () => measureSizes(of));
  await measure("load", async () => {
    const ledger = await openBenchLedger(books);
    try {
      return await measureLoad(of, ledger);
    } finally {
      await ledger.shutDown();
    }
  });
  await measure("reports", () => measureReports(of, backend));
  await measure("audit", () => measureAudit(of, backend));
  await measure("full", () => measureFullAudit(of, backend));
  const result: BigBooksRun = {
    date: today(),
    node: process.versions.node,
    machine,
    command: commandLine("bench:big-books", shownWords()),
    filled,
    figures,
  };
  if (values.save) say(`wrote ${await writePage("capacity.md", bigBooksPage(result))}`);
  process.stdout.write(`${JSON.stringify(figures, null, 2)}\n`);
  return figures.some(({ values: { violations = 0 } }) => violations > 0) ? 1 : 0;
}

/** As another machine would call it. */
function shownWords(): readonly string[] {
  return words.map((word, at) => (words[at - 1] === "--data" ? "DIR" : word));
}

function figuresFile(folder: string): string {
  return join(folder, "figures.json");
}

function readFigures(folder: string): readonly Figure[] {
  const file = figuresFile(folder);
  return existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as readonly Figure[]) : [];
}

function say(line: string): void {
  const sinceSeconds = (systemClock.monotonicMs() - startedMs) / 1_000;
  process.stderr.write(`${sinceSeconds.toFixed(0).padStart(4)} s  ${line}\n`);
}
