import { join } from "node:path";
import { Client } from "pg";
import type { PostgresBackend } from "../src/app/open-postgres-backend.ts";
import { systemClock } from "../src/kernel/core/time.ts";
import type { Ledger } from "../src/ledger/ledger-store.ts";
import type { AuditProgress } from "../src/ledger/audit/ledger-audit.ts";
import { openSigningKey } from "../src/ledger/retention/signing-key.ts";
import type { ReportFilter } from "../src/gateway/records/request-rows.ts";
import { measureCycles } from "./books.ts";
import { share } from "./program.ts";
import type { Active } from "./sizes.ts";

export interface Figure {
  readonly group: "sizes" | "load" | "reports" | "audit";
  readonly what: string;
  readonly values: Readonly<Record<string, number>>;
}

export interface Measuring {
  readonly connectionString: string;
  readonly folder: string;
  readonly callers: readonly Active[];
  readonly seconds: number;
  readonly jobs: number;
  readonly say: (line: string) => void;
}

const DAY_MS = 86_400_000;

/** All sizes are in megabytes. */
export async function measureSizes({ connectionString }: Measuring): Promise<readonly Figure[]> {
  const client = new Client({ connectionString });
  await client.connect();
  try {
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
  } finally {
    await client.end();
  }
}

/** Measures reserves and settlements at several levels of concurrency. */
export async function measureLoad(of: Measuring, ledger: Ledger): Promise<readonly Figure[]> {
  const figures: Figure[] = [];
  for (const inFlight of [1, 8, 64]) {
    const windowMs = of.seconds * 1_000;
    const { count: _, ...values } = await measureCycles(ledger, of.callers, { inFlight, windowMs });
    figures.push({ group: "load", what: `${inFlight} in flight`, values });
    of.say(JSON.stringify(figures.at(-1)));
  }
  return figures;
}

/** Measures each query of the console's pages and files, for the largest organization. */
export async function measureReports(
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

export async function measureAudit(
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
