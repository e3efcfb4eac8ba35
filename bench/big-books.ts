import { chmodSync, existsSync, mkdirSync, readFileSync, statfsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { PostgresBackend } from "../src/app/open-postgres-backend.ts";
import type { ReportFilter } from "../src/gateway/records/request-rows.ts";
import { systemClock } from "../src/kernel/core/time.ts";
import { startEmbeddedPostgres } from "../src/kernel/storage/embedded-server.ts";
import type { AuditProgress } from "../src/ledger/audit/ledger-audit.ts";
import type { Ledger } from "../src/ledger/ledger-store.ts";
import { openSigningKey } from "../src/ledger/retention/signing-key.ts";
import { inSession } from "../test/support/sql.ts";
import { measureCycles, openBenchLedger, openBooks, QUIET_LOG } from "./books.ts";
import { fillBooks } from "./fill-books.ts";
import {
  parseWords,
  print,
  share,
  type Context,
  type Report,
  type Say,
  type Table,
} from "./program.ts";
import { SIZE_OPTIONS, activeOf, checkedSizes, type Active, type Sizes } from "./sizes.ts";

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
  resources.defer(() => books.stop());
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

/** Filling stops when the disk has fewer free bytes than this. */
const FREE_BYTES_MIN = 12_000_000_000;
const LOOK_EVERY_MS = 5_000;
/** Fast PostgreSQL settings for the filling. After a crash, the database is filled anew. */
const FILLING: Readonly<Record<string, string>> = {
  wal_level: "minimal",
  max_wal_senders: "0",
  max_wal_size: "3GB",
  checkpoint_timeout: "15min",
  shared_buffers: "1GB",
  autovacuum: "off",
};

interface Filled {
  readonly sizes: Sizes;
  readonly seconds: number;
}

/** Returns undefined until the database of the folder is completely filled. */
function readFilled(folder: string): Filled | undefined {
  const file = join(folder, "filled.json");
  return existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as Filled) : undefined;
}

/** Fills a database in an empty folder. Throws an error if a half-filled database is there. */
async function fillBigBooks(folder: string, sizes: Sizes, say: Say): Promise<Filled> {
  const dataDir = join(folder, "data");
  if (existsSync(dataDir)) throw new Error(`${dataDir} is half filled; remove it and begin again`);
  mkdirSync(dataDir, { recursive: true });
  // If this process runs as root, the database server runs as another user, who needs access.
  for (const each of [folder, dataDir]) chmodSync(each, 0o755);
  const startMs = systemClock.monotonicMs();
  await configure(
    dataDir,
    Object.entries(FILLING).map(([name, value]) => `${name} = '${value}'`),
  );
  const server = await startEmbeddedPostgres({ dataDir, log: QUIET_LOG });
  const guard = setInterval(() => {
    const { bavail, bsize } = statfsSync(folder);
    if (bavail * bsize > FREE_BYTES_MIN) return;
    say("the disk is nearly full: the filling is stopped");
    void server.stop().finally(() => process.exit(1));
  }, LOOK_EVERY_MS);
  try {
    await fillBooks(dataDir, sizes, say);
  } finally {
    clearInterval(guard);
    await server.stop();
  }
  await configure(
    dataDir,
    Object.keys(FILLING).map((name) => `${name} = default`),
  );
  const filled = { sizes, seconds: (systemClock.monotonicMs() - startMs) / 1_000 };
  writeFileSync(join(folder, "filled.json"), JSON.stringify(filled));
  return filled;
}

async function configure(dataDir: string, settings: readonly string[]): Promise<void> {
  const server = await startEmbeddedPostgres({ dataDir, log: QUIET_LOG });
  try {
    await inSession(server.adminConnectionString, async (session) => {
      for (const setting of settings) await session.query(`alter system set ${setting}`);
    });
  } finally {
    await server.stop();
  }
}

interface Figure {
  readonly group: keyof typeof GROUPS;
  readonly what: string;
  readonly values: Readonly<Record<string, number>>;
}

interface Measuring {
  readonly connectionString: string;
  readonly folder: string;
  readonly callers: readonly Active[];
  readonly seconds: number;
  readonly jobs: number;
  readonly say: (line: string) => void;
}

const DAY_MS = 86_400_000;

/** Measures the eight largest tables. Their sizes are in megabytes. */
async function measureSizes({ connectionString }: Measuring): Promise<readonly Figure[]> {
  return await inSession(connectionString, async (client) => {
    const { rows } = await client.query<{ what: string; rows: string; heap: string; all: string }>(`
      select what, sum(reltuples)::bigint::text as rows,
        (sum(pg_table_size(oid)) / 1e6)::text as heap,
        (sum(pg_total_relation_size(oid)) / 1e6)::text as all
      from (
        select oid, reltuples, case when relname ~ '^attempt_\\d' then 'attempt, all days'
          when relname ~ '^transfer_' and relname <> 'transfer_ref' then 'transfer, all months'
          else relname::text end as what
        from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace
      ) t group by what order by sum(pg_total_relation_size(oid)) desc limit 8`);
    return rows.map((row) => ({
      group: "sizes",
      what: row.what,
      values: {
        rows: Number(row.rows),
        table_mb: Number(row.heap),
        with_indexes_mb: Number(row.all),
      },
    }));
  });
}

async function measureLoad(of: Measuring, ledger: Ledger): Promise<readonly Figure[]> {
  const figures: Figure[] = [];
  for (const inFlight of [1, 8, 64]) {
    const windowMs = of.seconds * 1_000;
    const { count: _, ...values } = await measureCycles(ledger, of.callers, { inFlight, windowMs });
    figures.push({ group: "load", what: `${inFlight} in flight`, values });
    of.say(JSON.stringify(figures.at(-1)));
  }
  return figures;
}

/** Measures queries of the console's pages and CSV files, with the largest organization. */
async function measureReports(
  of: Measuring,
  { usageReports, recordStore }: PostgresBackend,
): Promise<readonly Figure[]> {
  const [caller] = of.callers;
  if (caller === undefined) throw new Error("reports are of an organization");
  const { orgId, keyId } = caller;
  const filter = (days: number): ReportFilter => {
    const toMs = systemClock.nowMs();
    return { orgId, fromMs: toMs - days * DAY_MS, toMs };
  };
  const first = async (pages: AsyncIterable<readonly unknown[]>, rows = 1): Promise<void> => {
    let seen = 0;
    for await (const page of pages) if ((seen += page.length) >= rows) return;
  };
  const looks: Readonly<Record<string, () => Promise<unknown>>> = {
    "usage: 30 days by model": () => usageReports.report(filter(30), "model"),
    "usage: 30 days by key": () => usageReports.report(filter(30), "key"),
    "usage: 30 days by day": () => usageReports.report(filter(30), "day"),
    "usage: 30 days by provider": () => usageReports.report(filter(30), "provider"),
    "usage: 30 days by status": () => usageReports.report(filter(30), "status"),
    "usage: 24 hours by model": () => usageReports.report(filter(1), "model"),
    "requests: the newest page": () => usageReports.requests(filter(30), { limit: 50 }),
    "requests: failed ones": () =>
      usageReports.requests({ ...filter(30), statuses: ["failed"] }, { limit: 50 }),
    "requests: of one key": () =>
      usageReports.requests({ ...filter(30), keyIds: [keyId] }, { limit: 50 }),
    "requests: what nothing matches": () =>
      usageReports.requests({ ...filter(30), providerIds: ["nobody"] }, { limit: 50 }),
    "keys: activity": () => usageReports.keyActivity(orgId),
    "key: its days": () => usageReports.keyDays(orgId, keyId, 30),
    "wallet: a page": () => usageReports.walletLines(orgId, { limit: 50 }),
    balance: () => recordStore.balance(orgId),
    "providers: activity": () => usageReports.providerActivity(),
    "requests.csv: first byte": () => first(usageReports.everyRequest(filter(30))),
    "requests.csv: 20,000 rows": () => first(usageReports.everyRequest(filter(30)), 20_000),
    "usage CSV: first byte": () => recordStore.usagePage({ orgId, limit: 500 }),
    "usage CSV by day: first byte": () => recordStore.usageGroups({ orgId, limit: 1_000 }, "day"),
  };
  const figures: Figure[] = [];
  for (const [what, look] of Object.entries(looks)) {
    const walls: number[] = [];
    try {
      for (let times = 0; times < 6; times += 1) {
        const sinceMs = systemClock.monotonicMs();
        await look();
        walls.push(systemClock.monotonicMs() - sinceMs);
      }
    } catch (fault) {
      of.say(`${what}: ${fault instanceof Error ? fault.name : "failed"}`);
    }
    const [cold = Number.NaN, ...warm] = walls;
    const values = { first_ms: cold, p50_ms: share(warm, 0.5), max_ms: Math.max(...warm) };
    figures.push({ group: "reports", what, values });
    of.say(`${what}: ${JSON.stringify(values)}`);
  }
  return figures;
}

async function measureAudit(
  { folder, jobs, say }: Measuring,
  backend: PostgresBackend,
): Promise<readonly Figure[]> {
  const trustedKey = openSigningKey(join(folder, "audit-key.pem")).publicKey;
  let replayed = 0;
  let nextSaid = 0;
  const onProgress = (at: AuditProgress): void => {
    ({ replayed } = at);
    if (replayed < nextSaid) return;
    nextSaid = replayed + 5_000_000;
    say(`replayed ${replayed} of ${at.entries} lines`);
  };
  const sinceMs = systemClock.monotonicMs();
  const { checks } = await backend.auditBooks({ isFull: true, trustedKey, jobs, onProgress });
  const seconds = (systemClock.monotonicMs() - sinceMs) / 1_000;
  for (const check of checks) if (check.violations > 0) say(JSON.stringify(check));
  const attempts = Math.round(replayed / 2);
  const violations = checks.reduce((sum, check) => sum + check.violations, 0);
  const values = { jobs, attempts, seconds, attempts_per_second: attempts / seconds, violations };
  return [{ group: "audit", what: "everything", values }];
}
