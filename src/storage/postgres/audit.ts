import type { Pool } from "pg";
import { assert } from "../../core/assert.ts";
import type { AuditCheck } from "../../ledger/ledger-audit.ts";

interface AuditQuery {
  readonly id: string;
  readonly title: string;
  /** Answers one row with one count. */
  readonly sql: string;
}

/** Counts the violations of every invariant, all on one snapshot of the books. */
export async function auditLedger(pool: Pool): Promise<readonly AuditCheck[]> {
  const client = await pool.connect();
  try {
    await client.query("begin isolation level repeatable read, read only");
    await client.query("set local statement_timeout = 0");
    const checks: AuditCheck[] = [];
    for (const { id, title, sql } of auditQueries) {
      const result = await client.query<{ count: bigint }>(sql);
      const row = result.rows[0];
      assert(row !== undefined, "an audit query answers one row");
      checks.push({ id, title, violations: Number(row.count) });
    }
    return checks;
  } finally {
    await client.query("rollback").catch(() => undefined);
    client.release();
  }
}

const auditQueries: readonly AuditQuery[] = [
  {
    id: "I1",
    title: "every account's debits and credits are the sums of its transfers",
    sql: `
      with t as (
        select account_id, sum(debit) as debits, sum(credit) as credits from (
          select debit_account as account_id, amount as debit, 0 as credit from transfer
          union all select credit_account, 0, amount from transfer
        ) x group by account_id
      )
      select count(*) from account a full join t using (account_id)
      where coalesce(a.debits, 0) <> coalesce(t.debits, 0)
        or coalesce(a.credits, 0) <> coalesce(t.credits, 0)`,
  },
  {
    id: "I2",
    title: "all debits together equal all credits together",
    sql: `select count(*) from (select sum(debits) as d, sum(credits) as c from account) x
      where d <> c`,
  },
  {
    id: "I3",
    title: "every wallet holds exactly the reserves of its open attempts",
    sql: `
      with o as (
        select org_id, sum(reserve) as held from attempt where state = 'open' group by org_id
      )
      select count(*) from account w full join o using (org_id)
      where coalesce(w.reserved, 0) <> coalesce(o.held, 0)`,
  },
  {
    id: "I4",
    title: "no wallet owes or holds more than it was credited",
    sql: `select count(*) from account
      where (must_cover and debits + reserved > credits) or (org_id is not null and not must_cover)`,
  },
  {
    id: "I5",
    title: "every charged attempt has exactly one transfer of its debit, no other attempt has one",
    sql: `
      with s as (
        select attempt_id, count(*) as n, sum(amount) as amount from transfer
        where kind = 'settle' group by attempt_id
      )
      select count(*) from attempt a full join s using (attempt_id)
      where a.attempt_id is null or coalesce(s.amount, 0) <> a.debit or coalesce(s.n, 0) > 1`,
  },
  {
    id: "I6",
    title: "every debit is the floor of its exact cost within its reserve",
    sql: `
      select count(*) from attempt where case state
        when 'settled' then cost_pico is null
          or debit <> least(div(cost_pico, 1000000), reserve)
          or overrun <> greatest(div(cost_pico, 1000000) - reserve, 0)
        when 'unknown_after_crash' then debit <> reserve or overrun <> 0
        else debit <> 0 or overrun <> 0 end`,
  },
  {
    id: "I7",
    title: "monthly spend and holds of every organization and key are the sums of its attempts",
    sql: `
      with a as (
        select case grouping(org_id) when 0 then 'org' else 'key' end as scope,
          coalesce(org_id, key_id) as id, month, sum(debit) as settled,
          coalesce(sum(reserve) filter (where state = 'open'), 0) as reserved
        from attempt group by grouping sets ((org_id, month), (key_id, month))
      )
      select count(*) from spend s full join a using (scope, id, month)
      where coalesce(s.settled, 0) <> coalesce(a.settled, 0)
        or coalesce(s.reserved, 0) <> coalesce(a.reserved, 0)`,
  },
  {
    id: "I9",
    title: "no attempt of an instance's earlier life is open for longer than a minute",
    sql: `
      select count(*) from attempt a left join instance i using (instance_id)
      where a.state = 'open' and not a.resumable and (i.epoch is null or a.epoch < i.epoch)
        and a.created_at < now() - interval '1 minute'`,
  },
  {
    id: "I10",
    title: "every request's attempts belong to one organization and one key",
    sql: `select count(*) from (select request_id from attempt group by request_id
      having count(distinct (org_id, key_id)) > 1) x`,
  },
  {
    id: "I13",
    title: "every attempt refers to recorded prices",
    sql: `select count(*) from attempt a
      where not exists (select from price_pin p where p.pin_id = a.price_pin_id)`,
  },
];
