import { chmodSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "pg";
import type { KeyId, OrgId } from "../src/core/ids.ts";
import { systemClock } from "../src/core/time.ts";
import type { ReportFilter } from "../src/records/usage-reports.ts";
import { startEmbeddedPostgres } from "../src/storage/embedded-server.ts";
import { openPostgresBackend } from "../src/app/open-postgres-backend.ts";

/**
 * How long the console's reports take for an organization with so many attempts in thirty days, among
 * as many of a thousand others: read from the journal alone, and with sums of the days that are over.
 * Run: `npx tsx bench/usage-reports.ts [attempts, default 1,000,000]`. Wall time counts whatever else
 * the machine does; the processor time of the database's connection does not.
 */
const attempts = Number(process.argv[2] ?? 1_000_000);
const OTHER_ORGS = 1_000;
const KEYS_PER_ORG = 20;
const MODELS = 10;
const DAYS = 30;
const BY_COST = { limit: 50, sort: { by: "cost", direction: "desc" } } as const;
const DAY_MS = 86_400_000;
const TIMES = 20;
const TICKS_PER_SECOND = 100;
const ORG_ID = "org_0" as OrgId;
const KEY_ID = "key_0_1" as KeyId;
const quiet = { info: () => undefined, warn: console.warn, error: console.error };

const folder = mkdtempSync(join(tmpdir(), "usage-reports-"));
chmodSync(folder, 0o755); // as root the database runs as another user, who must get in
const server = await startEmbeddedPostgres({ dataDir: folder, log: quiet });
const { connectionString } = server;
const backend = openPostgresBackend({ connectionString, log: quiet, reportTimeoutMs: 120_000 });
const client = new Client({ connectionString });
try {
  await main();
} finally {
  await client.end();
  await backend.close();
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
}

async function main(): Promise<void> {
  await backend.migrate();
  await client.connect();
  for (const sql of fillSql()) await client.query(sql);
  console.table(await measureReports(3));
  const startMs = systemClock.monotonicMs();
  while (await backend.usageRollup.rollSome());
  const seconds = (systemClock.monotonicMs() - startMs) / 1_000;
  console.log(`summed up ${2 * attempts} attempts in ${seconds.toFixed(1)} s`);
  await client.query("vacuum analyze");
  console.table(await measureReports(TIMES));
  console.table(await measureOthers());
}

interface Line {
  readonly what: string;
  readonly p50Ms: number;
  readonly p95Ms: number;
  /** Of the database's connections, per query; NaN where there is no /proc. */
  readonly processorMs: number;
}

function filterNow(days: number): ReportFilter {
  const nowMs = systemClock.nowMs();
  return { orgId: ORG_ID, fromMs: nowMs - days * DAY_MS, toMs: nowMs };
}

async function measureReports(times: number): Promise<Line[]> {
  const lines: Line[] = [];
  for (const by of ["model", "key", "provider", "day", "status"] as const) {
    lines.push(
      await measure(`30 days by ${by}`, times, () =>
        backend.usageReports.report(filterNow(DAYS), by),
      ),
    );
  }
  return lines;
}

async function measureOthers(): Promise<Line[]> {
  const { usageReports } = backend;
  const looks: Readonly<Record<string, () => Promise<unknown>>> = {
    "24 hours by model": () => usageReports.report(filterNow(1), "model"),
    "a page of requests": () => usageReports.requests(filterNow(DAYS), { limit: 50 }),
    "a page of failed requests": () =>
      usageReports.requests({ ...filterNow(DAYS), statuses: ["failed"] }, { limit: 50 }),
    "a page of one key's requests": () =>
      usageReports.requests({ ...filterNow(DAYS), keyIds: [KEY_ID] }, { limit: 50 }),
    "requests that nothing matches": () =>
      usageReports.requests({ ...filterNow(DAYS), providerIds: ["nobody"] }, { limit: 50 }),
    "a page of requests, most cost first": () => usageReports.requests(filterNow(DAYS), BY_COST),
    "of one key, most cost first": () =>
      usageReports.requests({ ...filterNow(DAYS), keyIds: [KEY_ID] }, BY_COST),
    "activity of the keys": () => usageReports.keyActivity(ORG_ID),
    "activity of the providers": () => usageReports.providerActivity(),
    "a page of the wallet": () => usageReports.walletLines(ORG_ID, { limit: 50 }),
  };
  const lines: Line[] = [];
  for (const [what, look] of Object.entries(looks)) lines.push(await measure(what, 5, look));
  return lines;
}

async function measure(what: string, times: number, look: () => Promise<unknown>): Promise<Line> {
  await look();
  const processorStartMs = await processorMs();
  const walls: number[] = [];
  for (let i = 0; i < times; i++) {
    const startMs = systemClock.monotonicMs();
    await look();
    walls.push(systemClock.monotonicMs() - startMs);
  }
  walls.sort((a, b) => a - b);
  const at = (share: number): number => Math.round(walls[Math.ceil(share * times) - 1] ?? 0);
  const usedMs = (await processorMs()) - processorStartMs;
  return { what, p50Ms: at(0.5), p95Ms: at(0.95), processorMs: Math.round(usedMs / times) };
}

/** Processor time that the connections of the reports have used so far; Linux only. */
async function processorMs(): Promise<number> {
  const { rows } = await client.query<{ pid: number }>(
    "select pid from pg_stat_activity where application_name = 'tokenmarket-console'",
  );
  try {
    const ticks = rows.flatMap(
      ({ pid }) =>
        readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ").slice(11, 13) ?? [],
    );
    return ticks.reduce((sum, text) => sum + (Number(text) * 1_000) / TICKS_PER_SECOND, 0);
  } catch {
    return Number.NaN;
  }
}

/** The journal as the ledger's functions would have left it; of money only the attempts' own. */
function fillSql(): readonly string[] {
  return [
    `select ensure_attempt_partition((clock_timestamp() at time zone 'utc')::date - n)
   from generate_series(0, ${DAYS}) as t(n)`,
    `insert into org (org_id, name, email, email_verified)
   select 'org_' || n, 'Bench', 'bench@example.com', true
   from generate_series(0, ${OTHER_ORGS}) as t(n)`,
    `insert into api_key (key_id, org_id, digest, label, name, origin, rpm_ceiling)
   select format('key_%s_%s', n, k), 'org_' || n, sha256(format('%s %s', n, k)::bytea), 'tm',
     'key ' || k, 'console', 300
   from generate_series(0, ${OTHER_ORGS}) as t(n), generate_series(1, ${KEYS_PER_ORG}) as u(k)`,
    // Of twenty attempts one is void, of forty one is the second of its request.
    `insert into attempt (attempt_id, request_id, ordinal, org_id, key_id, model_id, provider_id,
     upstream_model_id, price_pin_id, route, stream, instance_id, epoch, estimated_tokens, reserve,
     month, state, outcome, basis, error_class, upstream_status, prompt, cached_prompt, cache_write,
     completion, internal_reasoning, cost_pico, debit, opened_position, closed_position, started_at,
     first_byte_ms, duration_ms, final, created_at, closed_at)
   select ((ms - 1735689600000) << 22) + n % 4194304, request_id, case when again then 2 else 1 end,
     'org_' || org, format('key_%s_%s', org, 1 + floor(chance * chance * ${KEYS_PER_ORG})::integer),
     'vendor/model-' || floor(chance * 977 % 1 * ${MODELS})::integer, 'provider-' || floor(random() * 3),
     'upstream', 'pin', '/v1/chat/completions', true, 'bench', 1, 1000, 2500,
     date_trunc('month', at at time zone 'utc'), case when void then 'void' else 'settled' end,
     case when void then 'failed' else 'completed' end,
     case when void then 'none' else 'reported' end, case when void then 'upstream_error' end, 200,
     case when not void then 1000 + n % 777 end, 5, 0, 300, 20,
     case when not void then (n * 7919) % 2000000000 end,
     case when void then 0 else div((n * 7919) % 2000000000, 1000000) end, n * 2, n * 2 + 1, at,
     case when not void then (200 * exp(random() * 3))::integer end, 3000, not failed_over, at,
     at + interval '3 seconds'
   from (
     select *, (of_n * 48271 % 65537) / 65537.0 as chance, to_timestamp(ms / 1000.0) as at, m = 38 as again, m = 36 as failed_over,
       m in (0, 36) as void, case n % 2 when 0 then 0 else 1 + (n * 31) % ${OTHER_ORGS} end as org,
       (lpad(to_hex(of_ms), 12, '0') || '7' || substr(md5(of_n::text), 1, 3) || '8'
         || substr(md5(of_n::text), 4, 15))::uuid as request_id
     from (
       select n, n % 40 as m, case when n % 40 = 38 then n - 2 else n end as of_n,
         start + floor(n * step)::bigint as ms,
         start + floor((case when n % 40 = 38 then n - 2 else n end) * step)::bigint as of_ms
       from generate_series(0::bigint, ${2 * attempts} - 1) as t(n), (
         select (extract(epoch from clock_timestamp()) * 1000)::bigint - ${DAYS * DAY_MS}::bigint
           as start, ${DAYS * DAY_MS}::numeric / ${2 * attempts} as step
       ) s
     ) ids
   ) x`,
    // As many as a busy installation has open at a time.
    `insert into hold select (jsonb_populate_record(null::hold, to_jsonb(a) || jsonb_build_object(
     'attempt_id', attempt_id + 1, 'request_id', gen_random_uuid(), 'annulled', false))).*
   from (select * from attempt order by attempt_id desc limit 1000) a`,
    `insert into refused_request
   select (lpad(to_hex(floor(ms)::bigint), 12, '0') || '7' || substr(md5(n::text), 1, 3) || '8'
       || substr(md5(n::text), 4, 15))::uuid, 'org_' || n % 10, 'key_0_1', 'vendor/model-1',
     '/v1/chat/completions', false, 'rate_limit', to_timestamp(ms / 1000.0)
   from (
     select n, extract(epoch from clock_timestamp()) * 1000
       - n * (${DAYS * DAY_MS}::numeric / ${attempts / 2}) as ms
     from generate_series(0::bigint, ${attempts / 2} - 1) as t(n)
   ) x`,
    "vacuum analyze",
  ];
}
