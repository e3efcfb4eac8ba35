import type { Pool } from "pg";

/** The time limit of a pool's statement. */
export const POOL_STATEMENT_TIMEOUT_MS = 30_000;

/**
 * The settings that this program's promises depend on, whatever the server, the database or the
 * role has for them: the price of a statement, the rows it sees, and the form of its values. The
 * default read-only mode is not here: it fences a server off, and no client may lift it.
 */
const OWN_SETTINGS: Readonly<Record<string, string>> = {
  // Compiling a statement takes longer than running any of ours.
  jit: "off",
  plan_cache_mode: "auto",
  // One core each at most: the batches of the ledger come first.
  max_parallel_workers_per_gather: "0",
  default_transaction_isolation: "read committed",
  lock_timeout: "0",
  idle_session_timeout: "0",
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

/** A commit that was answered is on disk; a stronger promise of the server is kept. */
const DURABLE_SQL = `case current_setting('synchronous_commit')
  when 'remote_apply' then 'remote_apply' else 'on' end`;

/** Time limits of a session, in milliseconds. */
export interface SessionLimits {
  readonly statementTimeoutMs: number;
  /** Default: none. */
  readonly lockTimeoutMs?: number;
}

/** A statement that makes the settings, since a pooler refuses them among the parameters of a start. */
export function settingsSql(limits: SessionLimits, of: "session" | "transaction"): string {
  const { statementTimeoutMs, lockTimeoutMs = 0 } = limits;
  const values: Readonly<Record<string, string>> = {
    ...OWN_SETTINGS,
    statement_timeout: String(statementTimeoutMs),
    lock_timeout: String(lockTimeoutMs),
  };
  const isLocal = of === "transaction";
  const calls = Object.entries(values).map(
    ([name, value]) => `set_config('${name}', '${value}', ${isLocal})`,
  );
  return `select ${calls.join(", ")}, set_config('synchronous_commit', ${DURABLE_SQL}, ${isLocal})`;
}

/**
 * Gives the role of a shared pool the same, in this database. Sessions that the pooler has open
 * already keep what they began with.
 */
export async function settleRole(shared: Pool): Promise<void> {
  await shared.query(SETTLE_ROLE_SQL);
}

/** The names of the settings that sessions of a shared pool lack. */
export async function missingSettings(shared: Pool): Promise<readonly string[]> {
  const { rows } = await shared.query<{ name: string }>(
    `select name from (values ${ROLE_VALUES}) as own (name, value)
      where current_setting(name) is distinct from value`,
  );
  return rows.map(({ name }) => name);
}

const ROLE_VALUES = [
  ...Object.entries({
    ...OWN_SETTINGS,
    statement_timeout: `${POOL_STATEMENT_TIMEOUT_MS / 1_000}s`,
  }).map(([name, value]) => `('${name}', '${value}')`),
  `('synchronous_commit', ${DURABLE_SQL})`,
].join(", ");

// One at a time: of instances that start together the server lets one change a role, and fails the others.
const SETTLE_ROLE_SQL = `do $$ declare v_own record; begin
  perform pg_advisory_xact_lock(hashtext('tokenmarket role'));
  for v_own in select * from (values ${ROLE_VALUES}) as own (name, value) loop
    execute format('alter role %I in database %I set %I = %L', current_user, current_database(),
      v_own.name, v_own.value);
  end loop;
end $$`;
