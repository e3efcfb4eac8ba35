import type { Client } from "pg";

import { type Change, type ChangedBy, recordChanges } from "../changes/index.ts";
import type { AuditCheck } from "../ledger/index.ts";
import { auditLedger } from "../ledger/index.ts";
import type { Logger } from "../core/index.ts";
import { checkSchema, type DatabaseAddress, openPool } from "../storage/index.ts";
import { type AccountSums, BackupFault } from "./backup-manifest.ts";
import { onServer, readSums } from "./backup-server.ts";
import { CHANGES, type CopiedTable, readTables, SEEDED } from "./copied-tables.ts";

export interface DataCopyOptions {
  readonly from: DatabaseAddress;
  readonly to: string;
  readonly log: Logger;
  /** Who copies, for the change log of the copy. */
  readonly by: ChangedBy;
  readonly onProgress?: (line: string) => void;
}

export interface DataCopied {
  readonly tables: readonly { readonly name: string; readonly rows: number }[];
  readonly sums: AccountSums;
}

const BATCH_ROWS = 1_000;
const LOCK_TIMEOUT_MS = 3_000;
const PROGRESS_ROWS = 100_000;

/**
 * Copies every row of a database to an empty one of the same schema, whatever versions of
 * PostgreSQL the two are: one snapshot is read, one transaction is written. Counts and sums are
 * compared before it commits, and the books of both are audited. The source is locked against
 * changes meanwhile.
 */
export async function copyData(options: DataCopyOptions): Promise<DataCopied> {
  const { from, to, log, by, onProgress = () => undefined } = options;
  await checkBoth(options);
  await audited(from, log, "of this database");
  const copied = await onServer(from, (source) =>
    onServer(to, (target) => copyRows({ source, target, onProgress }, by)),
  );
  onProgress("auditing the copy");
  await audited(to, log, "of the copy (its rows are there: drop that database)");
  return copied;
}

/** Throws where one of the two has not this program's schema. */
async function checkBoth({ from, to, log }: DataCopyOptions): Promise<void> {
  for (const [address, side] of [
    [from, "this database"],
    [to, "the database named with --to"],
  ] as const) {
    const pool = openPool(address, log, 1);
    try {
      await checkSchema(pool);
    } catch (fault) {
      const { message } = fault as Error;
      throw new BackupFault(`${side}: ${message}`, { cause: fault });
    } finally {
      await pool.end();
    }
  }
}

async function audited(address: DatabaseAddress, log: Logger, which: string): Promise<void> {
  const pool = openPool(address, log, 2);
  try {
    const broken = (await auditLedger(pool)).filter(({ violations }) => violations > 0);
    if (broken.length === 0) return;
    throw new BackupFault(`the books ${which} do not balance: ${namesOf(broken)}`);
  } finally {
    await pool.end();
  }
}

function namesOf(checks: readonly AuditCheck[]): string {
  return checks.map(({ id }) => id).join(", ");
}

/** Both ends of a copy. */
interface Ends {
  readonly source: Client;
  readonly target: Client;
  readonly onProgress: (line: string) => void;
}

async function copyRows({ source, target, onProgress }: Ends, by: ChangedBy): Promise<DataCopied> {
  const tables = await readTables(source);
  await beginReading(source, tables);
  await target.query("begin");
  await refuseUnlessEmpty(target, tables);
  await makePartitions(source, target);
  const copied: { readonly name: string; readonly rows: number }[] = [];
  for (const table of tables) {
    const rows = await copyTable({ source, target, onProgress }, table);
    if (rows > 0) onProgress(`${table.name}: ${rows} rows`);
    copied.push({ name: table.name, rows });
  }
  await copySequences(source, target);
  await copyTriggers(source, target);
  const sums = await readSums(source);
  const written = await readSums(target);
  for (const name of ["accounts", "debits", "credits", "reserved"] as const) {
    if (sums[name] === written[name]) continue;
    throw new BackupFault(`the sums differ: ${name} ${sums[name]}, in the copy ${written[name]}`);
  }
  await recordChanges(target, by, [changeOf(copied)]);
  await target.query("commit");
  await source.query("commit");
  await target.query("analyze");
  return { tables: copied, sums };
}

function changeOf(copied: DataCopied["tables"]): Change {
  const after = {
    tables: copied.length,
    rows: copied.reduce((sum, { rows }) => sum + rows, 0),
  };
  return { action: "data.copy", orgId: null, target: "database", before: null, after };
}

/** Nothing is written while rows are read, so that the old database has nothing that is lost. */
async function beginReading(source: Client, tables: readonly CopiedTable[]): Promise<void> {
  await source.query("begin isolation level repeatable read");
  await source.query(`set local lock_timeout = ${LOCK_TIMEOUT_MS}`);
  const names = tables.map(({ name }) => quoted(name)).join(", ");
  try {
    await source.query(`lock table ${names} in share mode`);
  } catch (fault) {
    throw new BackupFault("this database is in use; stop every program that works on it", {
      cause: fault,
    });
  }
  const { rows } = await source.query<{ instance_id: string }>(
    "select instance_id from instance_lease where lease_until > now() limit 1",
  );
  if (rows.length > 0) {
    throw new BackupFault(
      "an instance serves on this database: stop all of them, and wait 10 seconds after a kill",
    );
  }
  const { rows: retired } = await source.query(
    "select from pg_tables where schemaname = 'retired' limit 1",
  );
  if (retired.length === 0) return;
  throw new BackupFault(
    "exported days were not dropped yet: run `tokenmarket ledger retire --drop` first",
  );
}

async function refuseUnlessEmpty(target: Client, tables: readonly CopiedTable[]): Promise<void> {
  for (const { name } of tables) {
    if (SEEDED.has(name)) {
      await target.query(`alter table ${quoted(name)} disable trigger user`);
      const own = name === CHANGES ? "where action = 'schema.migrate'" : "";
      await target.query(`delete from ${quoted(name)} ${own}`);
      await target.query(`alter table ${quoted(name)} enable trigger user`);
      if (name !== CHANGES) continue;
    }
    const { rows } = await target.query(`select from ${quoted(name)} limit 1`);
    if (rows.length === 0) continue;
    throw new BackupFault(
      `the database named with --to is not empty: ${name} has rows. Name a new one, with the tables ` +
        "that `tokenmarket migrate` makes",
    );
  }
}

/** The journal has a partition for each day, and the transfers one for each month. */
async function makePartitions(source: Client, target: Client): Promise<void> {
  const { rows: days } = await source.query<{ day: string }>(DAYS_SQL);
  for (const { day } of days) await target.query("select ensure_attempt_partition($1)", [day]);
  const { rows: months } = await source.query<{ month: string }>(MONTHS_SQL);
  for (const { month } of months) {
    await target.query("select ensure_transfer_partition($1)", [month]);
  }
}

const DAYS_SQL = `select to_date(right(c.relname, 8), 'YYYYMMDD')::text as day
  from pg_inherits i join pg_class c on c.oid = i.inhrelid
  where i.inhparent = 'attempt'::regclass order by 1`;

const MONTHS_SQL = `select to_date(right(c.relname, 6), 'YYYYMM')::text as month
  from pg_inherits i join pg_class c on c.oid = i.inhrelid
  where i.inhparent = 'transfer'::regclass and c.relname ~ '^transfer_[0-9]{6}$' order by 1`;

/** Rows travel as JSON texts of the database's own making: exact, in every version. */
async function copyTable(
  { source, target, onProgress }: Ends,
  table: CopiedTable,
): Promise<number> {
  const { name, primaryKey } = table;
  const columns = table.columns.map(quoted).join(", ");
  const order = primaryKey.length === 0 ? "" : `order by ${primaryKey.map(quoted).join(", ")}`;
  await source.query(
    `declare copied no scroll cursor for select row_to_json(r)::text as row
      from (select ${columns} from ${quoted(name)} ${order}) r`,
  );
  // Triggers of rows that are new to the program; these are not. References are still checked.
  await target.query(`alter table ${quoted(name)} disable trigger user`);
  let read = 0;
  let written = 0;
  for (;;) {
    const { rows } = await source.query<{ row: string }>(`fetch ${BATCH_ROWS} from copied`);
    if (rows.length === 0) break;
    const insert = await target.query(
      `insert into ${quoted(name)} (${columns}) overriding system value
        select ${columns} from json_populate_recordset(null::${quoted(name)}, $1::json)`,
      [`[${rows.map(({ row }) => row).join(",")}]`],
    );
    read += rows.length;
    written += insert.rowCount ?? 0;
    if (read % PROGRESS_ROWS === 0) onProgress(`${name}: ${read} rows`);
  }
  await source.query("close copied");
  await target.query(`alter table ${quoted(name)} enable trigger user`);
  const { rows: counted } = await target.query<{ rows: string }>(
    `select count(*)::text as rows from ${quoted(name)}`,
  );
  if (read === written && counted[0]?.rows === String(read)) return read;
  throw new BackupFault(`${name}: ${read} rows were read, ${counted[0]?.rows} are in the copy`);
}

async function copySequences(source: Client, target: Client): Promise<void> {
  const { rows } = await source.query<{ name: string }>(
    "select sequencename as name from pg_sequences where schemaname = current_schema()",
  );
  for (const { name } of rows) {
    const { rows: states } = await source.query<{ last_value: string; is_called: boolean }>(
      `select last_value::text, is_called from ${quoted(name)}`,
    );
    const [state] = states;
    if (state === undefined) continue;
    await target.query("select setval($1::regclass, $2, $3)", [
      quoted(name),
      state.last_value,
      state.is_called,
    ]);
  }
}

/** Partitions of the journal get triggers of their own while the program runs. */
async function copyTriggers(source: Client, target: Client): Promise<void> {
  const there = new Set((await readTriggers(target)).map(({ name }) => name));
  for (const { name, definition } of await readTriggers(source)) {
    if (!there.has(name)) await target.query(definition);
  }
}

async function readTriggers(
  client: Client,
): Promise<readonly { readonly name: string; readonly definition: string }[]> {
  const { rows } = await client.query<{ name: string; definition: string }>(TRIGGERS_SQL);
  return rows;
}

const TRIGGERS_SQL = `select format('%s on %s', tgname, tgrelid::regclass) as name,
    pg_get_triggerdef(t.oid) as definition
  from pg_trigger t join pg_class c on c.oid = t.tgrelid
  where not tgisinternal and tgparentid = 0
    and c.relnamespace = current_schema()::regnamespace
  order by 1`;

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
