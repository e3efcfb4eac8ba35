import { attemptDay } from "./audit-query.ts";
import { accountSumsSql, type AuditSpan, attemptsSql } from "./audit-span.ts";

export const CHECKPOINTS_SQL = `
  select to_char(day, 'YYYY-MM-DD') as day, position, from_attempt as "fromAttempt", document, signature
  from audit_checkpoint order by audit_checkpoint.day desc`;

const RETIRED_IDS = "(select coalesce(max(to_id), 0) from retired_day)";
const RETIRED_TRANSFERS = `transfer t join retired_day r on r.day = ${attemptDay("t.attempt_id")}
    where t.attempt_id < ${RETIRED_IDS}`;

/**
 * $1 is a position. Selects the first id after the retired days, and whether a retired attempt has
 * moved money after the position. That attempt's spend can no longer be computed.
 */
export const RETIRED_SINCE_SQL = `
  select ${RETIRED_IDS} as ids,
    exists (select from ${RETIRED_TRANSFERS} and t.position > $1) as is_later`;

export const accountLinesSql = (day: string): string => `
  select account_id, debits::text, credits::text from audit_checkpoint_account
  where day = '${day}' order by account_id collate "C"`;

export const spendLinesSql = (day: string): string => `
  select scope, id, month::text, settled::text from audit_checkpoint_spend
  where day = '${day}' order by scope, id collate "C", month`;

/**
 * $1 is the day. Selects whether it ended over a minute ago, the number of open attempts up to its
 * end, the first attempt id after it, and whether a transaction that could still add an attempt of
 * the day is running: one that began no later than a minute after the day's end.
 */
export const CLOSABLE_SQL = `
  with d as (
    select ($1::date + 1)::timestamp at time zone 'utc' as ends, attempt_id_at(
      ($1::date + 1)::timestamp at time zone 'utc') as end_id
  )
  select clock_timestamp() > ends + interval '1 minute' as is_over,
    (select count(*) from hold where not annulled and attempt_id < end_id) as open,
    exists (select from pg_stat_activity
      where datname = current_database() and backend_xid is not null
        and pid <> pg_backend_pid() and xact_start < ends + interval '1 minute') as is_busy,
    end_id
  from d`;

/** Must be the expression in the index `attempt_by_closing`, so that queries use that index. */
const CLOSED = "(closed_at at time zone 'utc')";

/**
 * Selects the last position of a closing on this day, or that of the previous checkpoint (`before`)
 * if that is later. Without `span`, after an audit of all books, selects the last position of any
 * closing up to the day's end. For retired attempts, the positions of their transfers are used.
 */
export function lastPositionSql(
  span: AuditSpan,
  { day, before }: { readonly day: string; readonly before: bigint },
): string {
  const ids = span === undefined ? "true" : `attempt_id >= ${span.fromAttempt}`;
  const ends = `timestamp '${day}' + interval '1 day'`;
  const last = `select max(closed_position) from attempt where ${ids} and ${CLOSED} < ${ends}`;
  const retired = `select max(t.position) from ${RETIRED_TRANSFERS}
    and (t.at at time zone 'utc') < ${ends}`;
  const earlier = span === undefined ? `greatest((${last}), (${retired}))` : "null";
  return `select greatest((${last} and ${CLOSED} >= timestamp '${day}'), ${earlier}, ${before})
    as position`;
}

/** Selects the first attempt in flight at the position, or else the first id after the day. */
export function firstInFlightSql(
  span: AuditSpan,
  at: { readonly position: bigint; readonly endId: bigint },
): string {
  const ids = span === undefined ? "true" : `attempt_id >= ${span.fromAttempt}`;
  return `select coalesce(min(attempt_id), ${at.endId}) as id from attempt
    where ${ids} and attempt_id < ${at.endId} and closed_position > ${at.position}`;
}

export function insertAccountsSql(span: AuditSpan, at: { day: string; position: bigint }): string {
  return `
    insert into audit_checkpoint_account (day, account_id, debits, credits)
    select '${at.day}', account_id, debits::bigint, credits::bigint from (
      ${accountSumsSql(span, at.position)}) s`;
}

/** Inserts into a new checkpoint the spend since the previous one. */
export function insertSpendSql(span: AuditSpan, at: { day: string; position: bigint }): string {
  const { position } = at;
  const began = span?.position ?? -1n;
  // If an attempt was corrected after the position, its debit at the position was its reserve.
  const then = `case when corrected_position > ${position} then reserve else debit end`;
  const spent = `case when closed_position > ${began} then ${then} else debit - reserve end`;
  // After an audit of all books, the sums lack the spend of retired days, which is added, and
  // contain the spend of all earlier checkpoints, which is subtracted.
  const earlier = `
      union all select scope, id, month, settled from retired_spend
      union all select scope, id, month, -settled from audit_checkpoint_spend`;
  return `
    insert into audit_checkpoint_spend (day, scope, id, month, settled)
    select '${at.day}', scope, id, month, sum(settled)::bigint from (
      select case grouping(org_id) when 0 then 'org' else 'key' end as scope,
        coalesce(org_id, key_id) as id, month, sum(${spent}) as settled
      from ${attemptsSql(span)} s
      where (closed_position > ${began} and closed_position <= ${position})
        or (closed_position <= ${began} and corrected_position > ${began}
          and corrected_position <= ${position})
      group by grouping sets ((org_id, month), (key_id, month))
      ${span === undefined ? earlier : ""}
    ) x group by scope, id, month having sum(settled) <> 0`;
}

export const INSERT_CHECKPOINT_SQL = `
  insert into audit_checkpoint (day, position, from_attempt, document, signature)
  values ($1, $2, $3, $4, $5)`;

/** Selects checkpoint balances that differ from the sums of the transfers up to the checkpoint. */
export const CHECKPOINT_BALANCES_SQL = `
  with start as (
    select day, position, row_number() over (order by day) - 1 as n
    from audit_checkpoint
  ), bounds as (
    select coalesce(array_agg(position + 1 order by position), '{}') as positions from start
  ), moved as (
    select account_id, width_bucket(position, positions) as n, sum(debit) as debits,
      sum(credit) as credits
    from (
      select position, debit_account as account_id, amount as debit, 0 as credit from transfer
      union all select position, credit_account, 0, amount from transfer
    ) t cross join bounds where cardinality(positions) > 0 group by 1, 2
  ), stored as (
    select n, account_id, debits, credits from audit_checkpoint_account join start using (day)
  ), running as (
    select account_id, n, sum(sum(debits)) over w as debits, sum(sum(credits)) over w as credits
    from (
      select account_id, n, debits, credits from moved
      union all select account_id, n, 0, 0 from stored
    ) x group by account_id, n
    window w as (partition by account_id order by n)
  )
  select format('checkpoint of %s, account %s', day, account_id) as what,
    format('debits %s, credits %s', coalesce(s.debits, 0), coalesce(s.credits, 0)) as found,
    format('debits %s, credits %s', coalesce(r.debits, 0), coalesce(r.credits, 0)) as expected
  from running r full join stored s using (account_id, n) join start using (n)
  where (coalesce(s.debits, 0), coalesce(s.credits, 0))
    <> (coalesce(r.debits, 0), coalesce(r.credits, 0))`;
