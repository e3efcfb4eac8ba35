import type { Pool } from "pg";

export const POOL_STATEMENT_TIMEOUT_MS = 30_000;

/**
 * The settings on which this program depends, whatever the server's defaults are: they affect the
 * cost, the waits and the rows of a statement, and the format of values. An operator may still set
 * `default_transaction_read_only`, to keep all clients from writing to a server.
 */
const OWN_SETTINGS: Readonly<Record<string, string>> = {
  // Compiling a statement would take longer than running it.
  jit: "off",
  plan_cache_mode: "auto",
  // One core per statement, because the batches of the ledger have priority.
  max_parallel_workers_per_gather: "0",
  default_transaction_isolation: "read committed",
  lock_timeout: "0",
  idle_session_timeout: "0",
  // An audit's connections wait for each other with a snapshot open.
  idle_in_transaction_session_timeout: "0",
  search_path: "public",
  row_security: "on",
  transform_null_equals: "off",
  array_nulls: "on",
  timezone: "UTC",
  datestyle: "ISO, MDY",
  intervalstyle: "postgres",
  bytea_output: "hex",
  extra_float_digits: "1",
};

/** Servers before PostgreSQL 17 refuse the name, and have no such limit. */
const TRANSACTION_LIMIT = { transaction_timeout: "0" };

/** A session of a host that vanished ends after a minute, and with it the locks that it holds. */
const KEEP_ALIVE: Readonly<Record<string, string>> = {
  tcp_keepalives_idle: "30",
  tcp_keepalives_interval: "10",
  tcp_keepalives_count: "3",
  // There are no probes while an answer is not acknowledged.
  tcp_user_timeout: "60000",
};

/** An acknowledged commit must be on disk. A stricter setting of the server stays in force. */
const DURABLE_SQL = `case current_setting('synchronous_commit')
  when 'remote_apply' then 'remote_apply' else 'on' end`;

export interface SessionLimits {
  readonly statementTimeoutMs: number;
  /** How long a statement may wait for a lock; no limit if absent. */
  readonly lockTimeoutMs?: number;
}

/** Returns a statement that applies the settings: poolers refuse them as startup parameters. */
export function settingsSql(limits: SessionLimits, of: "session" | "transaction"): string {
  const { statementTimeoutMs, lockTimeoutMs = 0 } = limits;
  const isLocal = of === "transaction";
  const values: Readonly<Record<string, string>> = {
    ...OWN_SETTINGS,
    ...(isLocal ? {} : KEEP_ALIVE),
    statement_timeout: String(statementTimeoutMs),
    lock_timeout: String(lockTimeoutMs),
  };
  const calls = Object.entries(values).map(
    ([name, value]) => `set_config('${name}', '${value}', ${isLocal})`,
  );
  for (const [name, value] of Object.entries(TRANSACTION_LIMIT)) {
    calls.push(`case when current_setting('${name}', true) is not null
      then set_config('${name}', '${value}', ${isLocal}) end`);
  }
  return `select ${calls.join(", ")}, set_config('synchronous_commit', ${DURABLE_SQL}, ${isLocal})`;
}

/**
 * Stores the settings in the role of a shared pool, for this database. Open sessions of the pooler
 * do not change.
 */
export async function settleRole(shared: Pool): Promise<void> {
  await shared.query(SETTLE_ROLE_SQL);
}

/** Returns the names of own settings that have other values in sessions of a shared pool. */
export async function missingSettings(shared: Pool): Promise<readonly string[]> {
  const { rows } = await shared.query<{ name: string }>(
    `select name from (values ${ROLE_VALUES}) as own (name, value)
      where current_setting(name, true) <> value`,
  );
  return rows.map(({ name }) => name);
}

const ROLE_VALUES = [
  ...Object.entries({
    ...OWN_SETTINGS,
    ...TRANSACTION_LIMIT,
    statement_timeout: `${POOL_STATEMENT_TIMEOUT_MS / 1_000}s`,
  }).map(([name, value]) => `('${name}', '${value}')`),
  `('synchronous_commit', ${DURABLE_SQL})`,
].join(", ");

// The lock lets one instance after the other change the role: two changes at once would fail.
const SETTLE_ROLE_SQL = `do $$ declare v_own record; begin
  perform pg_advisory_xact_lock(hashtext('tokenmarket role'));
  for v_own in select * from (values ${ROLE_VALUES}) as own (name, value)
    where current_setting(name, true) is not null loop
    execute format('alter role %I in database %I set %I = %L', current_user, current_database(),
      v_own.name, v_own.value);
  end loop;
end $$`;
