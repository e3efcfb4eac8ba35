import { chmodSync } from "node:fs";
import { openBooks } from "./books.ts";
import type { MockProvider } from "./installation.ts";
import type { Say } from "./program.ts";
import { MODELS_PER_PROVIDER, modelIdOf, providerIdOf, type Sizes } from "./sizes.ts";
import { Client } from "pg";
import { systemClock } from "../src/kernel/core/time.ts";
import { idsOfDay } from "../src/gateway/records/report-parts.ts";
import {
  FINISH_DAY_SQL,
  REMEMBER_DAY_SQL,
  ROLL_SQL,
  watchDaySql,
} from "../src/gateway/records/usage-rollup.ts";

export async function fillBooks(dataFolder: string, sizes: Sizes, say: Say): Promise<void> {
  // If this process runs as root, the database server runs as another user, who needs access.
  chmodSync(dataFolder, 0o755);
  const books = await openBooks(dataFolder);
  try {
    await books.backend.migrate();
    await fillInstallation(books.connectionString, sizes, say);
  } finally {
    await books.stop();
  }
}

export function grownProviders({ listings }: Sizes, mockPort: number): readonly MockProvider[] {
  const ids = Array.from({ length: listings }, (_, listing) => listing);
  const firsts = ids.filter((listing) => listing % MODELS_PER_PROVIDER === 0);
  return firsts.map((first) => ({
    id: providerIdOf(first),
    wire: "wire_a",
    mockPort,
    modelIds: ids.slice(first, first + MODELS_PER_PROVIDER).map(modelIdOf),
  }));
}

/**
 * Fills a new database with an installation of these sizes. The rows are those that the program
 * itself would have written, so that an audit finds no violation; all attempts are finished. Two
 * sessions write different days, and the indexes of a day are built after its rows: 5 million
 * attempts then take minutes, not an hour.
 */
async function fillInstallation(
  connectionString: string,
  sizes: Sizes,
  say: (line: string) => void,
): Promise<void> {
  const sessions = [await openSession(connectionString), await openSession(connectionString)];
  const [first] = sessions;
  if (first === undefined) throw new Error("books are filled by a session");
  const books = await readBooks(first);
  const indexes = transferIndexes(books.transfers);
  try {
    for (const sql of accountsSql(sizes, books)) await first.query(sql);
    for (const { drop } of indexes) await first.query(drop);
    say(`${sizes.organizations} organizations, ${sizes.keys} keys, ${sizes.listings} prices`);
    // The time is read once, so that a run over midnight fills each day once.
    const todayMs = systemClock.nowMs();
    const days = Array.from({ length: sizes.days }, (_, ago) => sizes.days - 1 - ago);
    await eachDay(sessions, days, async (session, ago) => {
      // With `wal_level = minimal`, rows of a table that this transaction created need no WAL.
      await session.query("begin");
      for (const sql of daySql(sizes, books, { ago, todayMs })) await session.query(sql);
      await session.query("commit");
      if (ago % 10 === 0) say(`the journal up to ${ago} days ago`);
    });
    for (const { make } of indexes) await first.query(make);
    say("indexes of the transfers");
    for (const sql of sumsSql(sizes, books)) await first.query(sql);
    say("sums of accounts and months");
    await first.query("analyze");
    // The gateway totals only days that are certainly over, which today and yesterday may not be.
    const over = days.filter((ago) => ago >= 2);
    await eachDay(sessions, over, async (session, ago) => {
      await sumUpDay(session, dayOf({ ago, todayMs }));
    });
    say("sums for the console's reports");
    // In a running installation, autovacuum would have done this.
    await first.query("vacuum (analyze)");
  } finally {
    await Promise.all(sessions.map((session) => session.end()));
  }
}

async function eachDay(
  sessions: readonly Client[],
  days: readonly number[],
  work: (session: Client, ago: number) => Promise<void>,
): Promise<void> {
  const left = [...days];
  const workThrough = async (session: Client): Promise<void> => {
    for (let ago = left.shift(); ago !== undefined; ago = left.shift()) await work(session, ago);
  };
  await Promise.all(sessions.map(workThrough));
}

/** Builds the totals of a day with the gateway's SQL, but for all organizations at once. */
async function sumUpDay(session: Client, day: string): Promise<void> {
  const ids = idsOfDay(day);
  const orgs = await session.query<{ org_id: string }>(
    "select distinct org_id from attempt where attempt_id >= $1 and attempt_id < $2",
    [ids.first, ids.end],
  );
  const orgIds = orgs.rows.map((row) => row.org_id);
  await session.query(watchDaySql(day));
  await session.query(REMEMBER_DAY_SQL, [day]);
  await session.query(ROLL_SQL, [orgIds, day, ids.first, ids.end]);
  await session.query(FINISH_DAY_SQL, [day]);
}

interface DayAgo {
  readonly ago: number;
  readonly todayMs: number;
}

/** Returns the UTC date as YYYY-MM-DD. */
function dayOf({ ago, todayMs }: DayAgo): string {
  return new Date(todayMs - ago * DAY_MS).toISOString().slice(0, 10);
}

async function openSession(connectionString: string): Promise<Client> {
  const session = new Client({ connectionString });
  await session.connect();
  await session.query(`set synchronous_commit = off; set timezone = 'UTC';
    set maintenance_work_mem = '256MB'; set work_mem = '128MB'`);
  return session;
}

/** The current month's table, which gets all generated transfers, and the last ledger position. */
interface NewBooks {
  readonly transfers: string;
  readonly position: bigint;
}

async function readBooks(session: Client): Promise<NewBooks> {
  const { rows } = await session.query<{ transfers: string; position: string }>(
    `select 'transfer_' || to_char(now() at time zone 'utc', 'YYYYMM') as transfers,
      last_value::text as position from ledger_position`,
  );
  const [books] = rows;
  if (books === undefined) throw new Error("a new database has books");
  return { ...books, position: BigInt(books.position) };
}

/** Returns SQL that drops the indexes before the table is filled and builds them afterwards. */
function transferIndexes(
  table: string,
): readonly { readonly drop: string; readonly make: string }[] {
  const once = `${table}_attempt_id_kind_idx`;
  return [
    {
      drop: `alter table ${table} drop constraint ${table}_pkey`,
      make: `alter table ${table} add primary key (transfer_id)`,
    },
    {
      drop: `drop index ${once}`,
      make: `create unique index ${once} on ${table} (attempt_id, kind) where attempt_id is not null`,
    },
  ];
}

const DAY_MS = 86_400_000;
const CREDIT_MICRO_USD = 1_000_000_000_000;
/** The number of ledger positions before the first attempt, which are left free for the grants. */
const GRANTED_POSITIONS = 100_000_000n;

function accountsSql(
  { organizations, keys, listings }: Sizes,
  { position }: NewBooks,
): readonly string[] {
  return [
    `insert into org (org_id, name, email, email_verified, funded_at, bought_at)
     select 'org_' || n, 'Organization ' || n, 'bench@example.com', true, now(), now()
     from generate_series(0, ${organizations} - 1) as t(n)`,
    `insert into api_key (key_id, org_id, digest, label, name, origin, rpm_ceiling)
     select 'key_' || n, 'org_' || n % ${organizations}, sha256(raw::bytea), left(raw, 12),
       'key ' || n, 'console', 1000000000
     from generate_series(0, ${keys} - 1) as t(n),
       lateral (select 'tm_vk_' || left(encode(sha256(('key ' || n)::bytea), 'hex'), 48)) as u(raw)`,
    `insert into price_pin (pin_id, provider_id, model_id, prompt_pico, cached_prompt_pico,
       cache_write_pico, completion_pico, internal_reasoning_pico)
     select 'pin_' || n, 'growth-' || n / ${MODELS_PER_PROVIDER}, 'growth/model-' || n, 1, 1, 1, 1, 1
     from generate_series(0, ${listings} - 1) as t(n)`,
    `insert into transfer (position, kind, debit_account, credit_account, amount, ref)
     select ${position} + n, 'grant', 'grants', 'wallet:org_' || n, ${CREDIT_MICRO_USD}, 'grant ' || n
     from generate_series(0, ${organizations} - 1) as t(n)`,
  ];
}

/**
 * Returns SQL that fills one day of the journal. The indexes of the day's table are built after its
 * rows, when it is attached. About a quarter of the organizations have half of the attempts, and a
 * sixteenth of an organization's keys have half of its attempts. Each key always uses the same
 * model. One in twenty attempts is void.
 */
function daySql(sizes: Sizes, { position }: NewBooks, { ago, todayMs }: DayAgo): readonly string[] {
  const firstPosition = position + GRANTED_POSITIONS;
  const { organizations, keys, listings, attempts, days } = sizes;
  const rounds = Math.floor(keys / organizations);
  const perDay = Math.floor(attempts / days);
  const from = (days - 1 - ago) * perDay;
  const day = dayOf({ ago, todayMs });
  const startMs = Date.parse(`${day}T00:00:00Z`);
  // Attempts of today must be in the past.
  const spanMs = ago === 0 ? Math.max(1, todayMs - startMs - 5_000) : DAY_MS;
  const name = `attempt_${day.replaceAll("-", "")}`;
  // The table gets its final name when it is attached, because the gateway expects a whole day
  // under that name.
  const table = `growth_day_${ago}`;
  return [
    `create table ${table} (like attempt including defaults including constraints)`,
    `insert into ${table} (attempt_id, request_id, ordinal, org_id, key_id, model_id, provider_id,
       upstream_model_id, price_pin_id, route, stream, instance_id, epoch, estimated_tokens, reserve,
       month, state, outcome, basis, error_class, upstream_status, prompt, cached_prompt, cache_write,
       completion, internal_reasoning, cost_pico, debit, opened_position, closed_position,
       started_at, first_byte_ms, duration_ms, final, created_at, closed_at)
     select attempt_id, request_id, 1, 'org_' || key % ${organizations}, 'key_' || key,
       'growth/model-' || listing, 'growth-' || listing / ${MODELS_PER_PROVIDER}, 'upstream-a',
       'pin_' || listing, '/v1/chat/completions', n % 2 = 0, 'grown', 1, 1000, 2500,
       date_trunc('month', at), case when void then 'void' else 'settled' end,
       case when void then 'failed' else 'completed' end,
       case when void then 'none' else 'reported' end,
       case when void then 'upstream_error' end, case when void then 500 else 200 end,
       case when not void then 1000 + n % 777 end, case when not void then 5 end,
       case when not void then 0 end, case when not void then 300 end,
       case when not void then 20 end, case when not void then cost end,
       case when void then 0 else div(cost, 1000000) end, ${firstPosition} + n * 2,
       ${firstPosition} + n * 2 + 1, at, case when not void then 200 + n % 600 end, 3000, true, at,
       at + interval '3 seconds'
     from (
       select n, n % 20 = 0 as void, (n * 7919) % 2500000000 as cost,
         ((ms - 1735689600000) << 22) + n % 4194304 as attempt_id,
         (lpad(to_hex(ms), 12, '0') || '7' || substr(hash, 1, 3) || '8' || substr(hash, 4, 15))::uuid
           as request_id,
         to_timestamp(ms / 1000.0) as at, key, key * 7919 % ${listings} as listing
       from (
         select n, ${startMs} + floor((n - ${from}) * ${spanMs / perDay})::bigint as ms, md5(n::text) as hash,
           floor(chance ^ 2 * ${organizations})::bigint + ${organizations}
             * floor((chance * 997 - floor(chance * 997)) ^ 4 * ${rounds})::bigint as key
         from (
           select n, (n * 2654435761 % 4294967296)::double precision / 4294967296 as chance
           from generate_series(${from}::bigint, ${from + perDay} - 1) as t(n)
         ) as chances
       ) as keyed
     ) as rows`,
    `insert into transfer (position, attempt_id, kind, debit_account, credit_account, amount, at)
     select closed_position, attempt_id, 'settle', 'wallet:' || org_id, 'accrual:' || provider_id,
       debit, closed_at from ${table} where debit > 0 order by attempt_id`,
    `alter table ${table} rename to ${name}`,
    `do $$ begin
       execute format('alter table attempt attach partition ${name} for values from (%s) to (%s)',
         attempt_id_at('${day}T00:00:00Z'),
         attempt_id_at(timestamptz '${day}T00:00:00Z' + interval '1 day'));
     end $$`,
  ];
}

function sumsSql({ attempts }: Sizes, { position }: NewBooks): readonly string[] {
  return [
    `insert into account (account_id, org_id, debits, credits, must_cover)
     select account_id, case when account_id like 'wallet:%' then substr(account_id, 8) end,
       sum(debits), sum(credits), account_id like 'wallet:%'
     from (
       select debit_account as account_id, sum(amount) as debits, 0 as credits
       from transfer group by 1
       union all select credit_account, 0, sum(amount) from transfer group by 1
     ) as x group by account_id`,
    ...(["org", "key"] as const).map(
      (scope) => `insert into spend (scope, id, month, settled)
       select '${scope}', ${scope}_id, month, sum(debit) from attempt group by ${scope}_id, month`,
    ),
    `select setval('ledger_position', ${position + GRANTED_POSITIONS} + ${2 * attempts + 1})`,
  ];
}
