/**
 * How long `ledger audit` takes for a journal of so many attempts: the invariants and the rebuild in
 * SQL, then the replay. Run: `npx tsx bench/audit-speed.ts [attempts, default 1,000,000]`.
 */
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "pg";
import { systemClock } from "../src/core/time.ts";
import type { AuditProgress } from "../src/ledger/audit/ledger-audit.ts";
import { startEmbeddedPostgres } from "../src/storage/embedded-server.ts";
import { openPostgresBackend } from "../src/app/open-postgres-backend.ts";

const attempts = Number(process.argv[2] ?? 1_000_000);
const ORGS = 1_000;
const KEYS_PER_ORG = 3;
const DAYS = 30;
const MONTH = "date_trunc('month', clock_timestamp() at time zone 'utc')::date";
const quiet = { info: () => undefined, warn: console.warn, error: console.error };

const folder = mkdtempSync(join(tmpdir(), "audit-speed-"));
chmodSync(folder, 0o755); // as root the database runs as another user, who must get in
const server = await startEmbeddedPostgres({ dataDir: folder, log: quiet });
const backend = openPostgresBackend({ connectionString: server.connectionString, log: quiet });
try {
  await main();
} finally {
  await backend.close();
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
}

async function main(): Promise<void> {
  await backend.migrate();
  await timed("filled", fill);
  const startMs = systemClock.monotonicMs();
  const onProgress = ({ replayed, entries }: AuditProgress): void => {
    const sinceMs = systemClock.monotonicMs() - startMs;
    console.log(`${(sinceMs / 1_000).toFixed(1)} s: ${replayed} of ${entries} lines`);
  };
  const checks = await timed("audited", () => backend.audit(onProgress));
  const broken = checks.filter((check) => check.violations > 0);
  console.log(broken.length === 0 ? `clean: ${checks.length} checks` : JSON.stringify(broken));
  console.log(
    `memory of this process at most: ${Math.round(process.resourceUsage().maxRSS / 1_024)} MiB`,
  );
}

async function timed<T>(what: string, work: () => Promise<T>): Promise<T> {
  const startMs = systemClock.monotonicMs();
  const result = await work();
  const seconds = (systemClock.monotonicMs() - startMs) / 1_000;
  const perMillion = (seconds * 1_000_000) / attempts;
  console.log(
    `${what} in ${seconds.toFixed(1)} s, ${perMillion.toFixed(1)} s per million attempts`,
  );
  return result;
}

/** Writes the books as the ledger's functions would have: thirty days of them, in one go. */
async function fill(): Promise<void> {
  const client = new Client({ connectionString: server.connectionString });
  await client.connect();
  try {
    for (const sql of fillSql()) await client.query(sql);
  } finally {
    await client.end();
  }
}

function fillSql(): readonly string[] {
  return [
    `select ensure_attempt_partition((clock_timestamp() at time zone 'utc')::date - n)
   from generate_series(0, ${DAYS}) as t(n)`,
    `insert into org (org_id, name, email, email_verified)
   select 'org_' || n, 'Bench', 'bench@example.com', true from generate_series(1, ${ORGS}) as t(n)`,
    `insert into api_key (key_id, org_id, digest, label, name, origin, rpm_ceiling, cap_micro_usd)
   select format('key_%s_%s', n, k), 'org_' || n, sha256(format('%s %s', n, k)::bytea), 'tm', 'key',
     'console', 300, 1000000000000
   from generate_series(1, ${ORGS}) as t(n), generate_series(1, ${KEYS_PER_ORG}) as u(k)`,
    `insert into price_pin values ('pin', 'acme', 'acme/small', 1, 1, 1, 1, 1)`,
    // Of twenty attempts one is void, one was charged after a crash, one was corrected.
    `insert into attempt (attempt_id, request_id, ordinal, org_id, key_id, model_id, provider_id,
     upstream_model_id, price_pin_id, route, stream, instance_id, epoch, estimated_tokens, reserve,
     month, state, cost_pico, debit, overrun, opened_position, closed_position, corrected_position,
     closed_at, corrected_at)
   select id, gen_random_uuid(), 1, 'org_' || org, format('key_%s_%s', org, n % ${KEYS_PER_ORG} + 1),
     'acme/small', 'acme', 'small', 'pin', '/v1/chat/completions', false, 'bench', 1, 1000, 2500,
     ${MONTH}, state, cost, case when cost is not null then least(div(cost, 1000000), 2500)
       when state = 'void' then 0 else 2500 end,
     case when cost is not null then greatest(div(cost, 1000000) - 2500, 0) else 0 end,
     100000000 + n * 4, 100000001 + n * 4 + n % 2 * 40,
     case when corrected then 100000003 + n * 4 + 40 end, clock_timestamp(),
     case when corrected then clock_timestamp() end
   from (
     select n, n % ${ORGS} + 1 as org, n % 20 = 2 as corrected,
       attempt_id_at(clock_timestamp() - interval '${DAYS} days')
         + n * ((${DAYS} * 86400000::bigint << 22) / ${attempts}) as id,
       case n % 20 when 0 then 'void' when 1 then 'unknown_after_crash'
         when 2 then 'unknown_after_crash' else 'settled' end as state,
       case when n % 20 > 1 then (n * 7919) % 2600000000 end::numeric as cost
     from generate_series(0::bigint, ${attempts} - 1) as t(n)
   ) x`,
    `insert into transfer (position, attempt_id, kind, debit_account, credit_account, amount)
   select closed_position, attempt_id, 'settle', 'wallet:' || org_id,
     case state when 'settled' then 'accrual:acme' else 'unknown:acme' end,
     case state when 'settled' then debit else reserve end
   from attempt where state <> 'void' and (debit > 0 or corrected_at is not null)
   union all
   select corrected_position, attempt_id, 'refund', 'unknown:acme', 'wallet:' || org_id,
     reserve - debit from attempt where corrected_at is not null and debit < reserve
   union all
   select corrected_position, attempt_id, 'correct', 'unknown:acme', 'accrual:acme', debit
   from attempt where corrected_at is not null and debit > 0
   union all
   select coalesce(corrected_position, closed_position), attempt_id, 'overrun', 'overrun',
     'accrual:acme', overrun from attempt where overrun > 0`,
    `insert into transfer (position, kind, debit_account, credit_account, amount, ref)
   select n, 'grant', 'grants', 'wallet:org_' || n, 1000000000000, 'grant ' || n
   from generate_series(1, ${ORGS}) as t(n)`,
    `insert into account (account_id, org_id, debits, credits, must_cover)
   select account_id, case when account_id like 'wallet:%' then substr(account_id, 8) end,
     sum(debits), sum(credits), account_id like 'wallet:%'
   from (
     select debit_account as account_id, amount as debits, 0 as credits from transfer
     union all select credit_account, 0, amount from transfer
   ) x group by account_id`,
    `insert into spend (scope, id, month, settled)
   select case grouping(org_id) when 0 then 'org' else 'key' end, coalesce(org_id, key_id), month,
     sum(debit)
   from attempt group by grouping sets ((org_id, month), (key_id, month))`,
    "analyze",
  ];
}
