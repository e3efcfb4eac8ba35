import { Client } from "pg";
import { asAdmin, runOnce } from "./postgres.ts";

/**
 * Makes rows of other organizations untouchable: a statement fails if any step of its plan needs
 * such a row for the result. The program's role owns the tables, so row level security is
 * forced on it. A row is checked only after all conditions of the statement itself, so that plans
 * stay as they are without the guard; for that, the database's own functions are marked as
 * leakproof.
 */
export class OrganizationGuard {
  readonly #client: Client;

  private constructor(client: Client) {
    this.#client = client;
  }

  static async install(connectionString: string): Promise<OrganizationGuard> {
    const client = new Client({ connectionString });
    await client.connect();
    await runOnce(
      await asAdmin({ connectionString }),
      "update pg_proc set proleakproof = true where provolatile = 'i' and not proleakproof",
    );
    for (const sql of INSTALL_SQL) await client.query(sql);
    return new OrganizationGuard(client);
  }

  /** Allows only rows of these organizations from now on, or all; stores whose each key is. */
  async allow(...orgIds: readonly string[]): Promise<void> {
    await this.#client.query("truncate guard_org, guard_key");
    await this.#client.query(
      "insert into guard_key select key_id, org_id from api_key on conflict do nothing",
    );
    await this.#client.query("insert into guard_org select unnest($1::text[])", [orgIds]);
  }

  async tables(): Promise<readonly string[]> {
    const { rows } = await this.#client.query<{ name: string }>(
      "select polrelid::regclass::text as name from pg_policy order by 1",
    );
    return rows.map(({ name }) => name);
  }

  async query(sql: string): Promise<unknown> {
    return (await this.#client.query(sql)).rows;
  }

  async close(): Promise<void> {
    await this.#client.end();
  }
}

const OF_WALLET = (column: string): string =>
  `substring(${column} from '^(?:wallet|receivable):(.*)$')`;

/** Adds so many organizations that a plan which reads all of them is not the cheapest. */
const OTHERS_SQL = `
  with others as (
    insert into org (org_id, name, email, email_verified)
    select 'org_other' || n, 'Other', 'other@example.com', true from generate_series(1, 5000) as t(n)
    returning org_id
  ), wallets as (
    insert into account (account_id, org_id, must_cover)
    select 'wallet:' || org_id, org_id, true from others
  ), keys as (
    insert into api_key (key_id, org_id, digest, label, name, origin, rpm_ceiling)
    select 'key_' || org_id, org_id, sha256(org_id::bytea), 'tm', 'key', 'console', 300 from others
    returning key_id, org_id
  )
  insert into spend (scope, id, month)
  select scope, id, date_trunc('month', now())::date
  from keys, lateral (values ('org', org_id), ('key', key_id)) as t(scope, id)`;

const INSTALL_SQL: readonly string[] = [
  OTHERS_SQL,
  "analyze",
  "create table guard_org (org_id text primary key)",
  "create table guard_key (key_id text primary key, org_id text not null)",
  `create function guard_touch(p_org text) returns boolean language plpgsql stable cost 100 as $$
   declare
     v_where text;
   begin
     if p_org is null or not exists (select from guard_org)
         or exists (select from guard_org g where g.org_id = p_org) then
       return true;
     end if;
     get diagnostics v_where = pg_context;
     raise exception 'a row of % was touched by: %', p_org, v_where using errcode = 'TM999';
   end $$`,
  `do $$
   declare
     v_table record;
   begin
     for v_table in
       select c.oid::regclass as name, case c.relname
           when 'account' then 'coalesce(org_id, ${OF_WALLET("account_id").replaceAll("'", "''")})'
           when 'transfer' then 'coalesce(${OF_WALLET("debit_account").replaceAll("'", "''")},
             ${OF_WALLET("credit_account").replaceAll("'", "''")})'
           when 'spend' then 'case scope when ''org'' then id
             else (select k.org_id from guard_key k where k.key_id = spend.id) end'
           else 'org_id' end as org
       from pg_class c
       where c.relkind in ('r', 'p') and not c.relispartition
         and c.relnamespace = 'public'::regnamespace and c.relname not like 'guard_%'
         and (c.relname in ('transfer', 'spend') or exists (select from pg_attribute a
           where a.attrelid = c.oid and a.attname = 'org_id' and not a.attisdropped))
     loop
       execute format('alter table %s enable row level security', v_table.name);
       execute format('alter table %s force row level security', v_table.name);
       execute format('create policy one_organization on %s using (guard_touch(%s)) with check (true)',
         v_table.name, v_table.org);
     end loop;
   end $$`,
];
