import { openPostgresBackend } from "../../src/app/open-postgres-backend.ts";
import type { FreshBackend } from "./postgres.ts";
import { withReserveBatch } from "./reserve-batch.ts";
import { silentLog } from "./silent-log.ts";

/** Opens a backend on the clock that a test sets, with sessions in a time zone far from UTC. */
export async function openOnDatabaseClock(plain: FreshBackend) {
  const [{ name } = {}] = await plain.query("select current_database() as name");
  await plain.query("create schema test_clock");
  await plain.query("create table test_clock.hand (at timestamptz not null)");
  await plain.query("insert into test_clock.hand values (now())");
  await plain.query(`create function test_clock.clock_timestamp() returns timestamptz
    language sql volatile as 'select at from test_clock.hand'`);
  await plain.query(`do $$ declare v_reader regprocedure; begin
    for v_reader in select oid from pg_proc
      where pronamespace = 'public'::regnamespace and prosrc like '%clock_timestamp()%' loop
      execute format('alter routine %s set search_path = test_clock, pg_catalog, public', v_reader);
    end loop;
  end $$`);
  await plain.query(`alter database ${String(name)} set timezone = 'Pacific/Auckland'`);
  const { connectionString } = plain;
  const opened = openPostgresBackend({ connectionString, log: silentLog });
  return { ...opened, ledgerBatchStore: withReserveBatch(opened.ledgerBatchStore) };
}

export async function setDatabaseClock(plain: FreshBackend, instant: string): Promise<void> {
  await plain.query("update test_clock.hand set at = $1", [instant]);
}
