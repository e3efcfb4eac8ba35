import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fillBigBooks, readFilled } from "./big-books-data.ts";
import {
  measureAudit,
  measureLoad,
  measureReports,
  measureSizes,
  type Figure,
  type Measuring,
} from "./big-books-measures.ts";
import { openBenchLedger, openBooks } from "./books.ts";
import { print, parseWords, type Context, type Report, type Table } from "./program.ts";
import { SIZE_OPTIONS, activeOf, checkedSizes } from "./sizes.ts";

const GROUPS = {
  sizes: "Sizes",
  load: "Reserve and settle",
  reports: "The console's reports: the first time, and five times after it",
  audit: "Audit of everything",
} as const;

export const USAGE: string = `npm run bench -- big-books --data DIR [options]
  What one PostgreSQL carries. Books are filled once; figures are kept beside them, so that parts can be
  measured again.
  --data DIR             the folder of the books; filled when it is empty, and kept
  --attempts 50000000    with --organizations, --keys, --listings and --days as for growth
  --only a,b             of ${Object.keys(GROUPS).join(", ")}
  --seconds 20           of load, at each number in flight
  --active 100           organizations, keys and models of the load
  --jobs 2               connections of the audit`;

export async function run(words: readonly string[], { resources, say }: Context): Promise<Report> {
  const options = parseWords(words, {
    ...SIZE_OPTIONS,
    attempts: { value: 50_000_000, max: 1_000_000_000 },
    data: "",
    only: Object.keys(GROUPS).join(","),
    seconds: { value: 20, max: 300 },
    active: { value: 100, max: 1_000 },
    jobs: { value: 2, max: 64 },
  });
  const { data: folder, seconds, jobs } = options;
  if (folder === "") throw new Error(USAGE);
  const filled = readFilled(folder) ?? (await fillBigBooks(folder, checkedSizes(options), say));
  const books = await openBooks(join(folder, "data"));
  resources.defer(() => books.close());
  const { connectionString, backend } = books;
  const callers = activeOf(filled.sizes, options.active);
  const of: Measuring = { connectionString, folder, callers, seconds, jobs, say };
  const file = join(folder, "figures.json");
  let figures = existsSync(file)
    ? (JSON.parse(readFileSync(file, "utf8")) as readonly Figure[])
    : [];
  const works: Readonly<Record<keyof typeof GROUPS, () => Promise<readonly Figure[]>>> = {
    sizes: () => measureSizes(of),
    load: async () => {
      const ledger = await openBenchLedger(books);
      resources.defer(() => ledger.shutDown());
      return await measureLoad(of, ledger);
    },
    reports: () => measureReports(of, backend),
    audit: () => measureAudit(of, backend),
  };
  await backend.migrate();
  for (const [group, work] of Object.entries(works)) {
    if (!options.only.split(",").includes(group)) continue;
    say(`measuring: ${group}`);
    figures = [...figures.filter((figure) => figure.group !== group), ...(await work())];
    writeFileSync(file, JSON.stringify(figures, null, 2));
  }
  const broken = figures.filter(({ values }) => (values["violations"] ?? 0) > 0);
  return {
    tables: Object.entries(GROUPS).map(([group, title]) => tableOf(figures, group, title)),
    problems: broken.map(({ what }) => `the audit found violations: ${what}`),
    data: figures,
  };
}

function tableOf(figures: readonly Figure[], group: string, title: string): Table {
  const rows = figures.filter((figure) => figure.group === group);
  const names = [...new Set(rows.flatMap(({ values }) => Object.keys(values)))];
  const cell = (value: number | undefined): string =>
    value === undefined || !Number.isFinite(value) ? "" : print(value);
  return {
    title,
    headings: ["", ...names],
    rows: rows.map(({ what, values }) => [what, ...names.map((name) => cell(values[name]))]),
  };
}
