import { FIRST_PART, type Part } from "./fold.ts";

/** The table of a month; digits only, so that a name can be written into SQL. */
export function partTable(part: Part): string {
  return `transfer_${part.replace("-", "")}`;
}

const PART_NAME = `case when c.relname = 'transfer_first' then '${FIRST_PART}'
    else to_char(to_date(right(c.relname, 6), 'YYYYMM'), 'YYYY-MM') end`;

/** $1 whole months. What is in the first table was moved until its last transfer. */
export const PARTS_OLDER_THAN_SQL = `
  select part from (
    select ${PART_NAME} as part, case when c.relname = 'transfer_first'
      then (select at at time zone 'utc' from transfer_first order by transfer_id desc limit 1)
      else to_date(right(c.relname, 6), 'YYYYMM') end as moved
    from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = 'transfer'::regclass and c.relname ~ '^transfer_([0-9]{6}|first)$'
  ) p
  where date_trunc('month', moved) < date_trunc('month', clock_timestamp() at time zone 'utc')
      - $1::integer * interval '1 month'
    and part not in (select part from folded_month)
  order by part <> '${FIRST_PART}', moved`;

export const DETACHED_PARTS_SQL = `
  select part, sha256 from folded_month
  where to_regclass('retired.transfer_' || replace(part, '-', '')) is not null order by part`;

/** Only transfers of attempts are folded: what was bought, granted and paid is read one by one. */
const FOLDED = "attempt_id is not null";

export function headSql(part: Part): string {
  const table = partTable(part);
  const end =
    part === FIRST_PART
      ? "12000000000000"
      : `month_position((date '${part}-01' + interval '1 month')::date)`;
  const lastDay =
    part === FIRST_PART
      ? `(select (max(at) at time zone 'utc')::date from ${table})`
      : `(date '${part}-01' + interval '1 month')::date - 1`;
  return `
  select t.*, (select last_value >= ${end} from ledger_position) as is_over,
    exists (select from attempt where opened_position <= t.to_position
        and attempt_id < attempt_id_at(t.moved_until))
      or exists (select from hold where not annulled and opened_position <= t.to_position)
      as has_earlier,
    exists (select from (select day, position from audit_checkpoint order by day desc limit 1) c
      where c.position >= t.to_position and c.day >= ${lastDay}) as is_closed
  from (
    select min(position) filter (where ${FOLDED}) as from_position,
      max(position) filter (where ${FOLDED}) as to_position,
      -- Positions of attempts have no index. What opened earlier has an earlier id: with a day for
      -- the difference of clocks only days until then are read, and most of these are retired.
      max(at) filter (where ${FOLDED}) + interval '1 day' as moved_until,
      count(*) filter (where attempt_id is null) as kept
    from ${table}
  ) t`;
}

export function pairsSql(part: Part): string {
  return `
  select kind, debit_account, credit_account, count(*) as transfers, sum(amount) as amount
  from ${partTable(part)} where ${FOLDED} group by kind, debit_account, credit_account`;
}

export function daysSql(table: string): string {
  const sum = (condition: string, amount = "amount"): string =>
    `coalesce(sum(${amount}) filter (where ${condition}), 0)`;
  return `
  select attempt_day(attempt_id) as day, ${sum("kind = 'settle'")} as settled,
    ${sum("kind = 'refund'")} as refunded, ${sum("kind = 'overrun'")} as overrun,
    ${sum(
      "kind = 'margin'",
      "case when credit_account like 'margin:%' then amount else -amount end",
    )} as margin
  from ${table} where ${FOLDED} group by 1`;
}

export function surveyDaysSql(part: Part): string {
  return `
  select to_char(d.day, 'YYYY-MM-DD') as day, d.settled, d.refunded, d.overrun, d.margin,
    r.day is not null as is_retired
  from (${daysSql(partTable(part))}) d left join retired_day r using (day) order by 1`;
}

/** $1 the last id of the page before, $2 rows. */
export function foldPageSql(part: Part, columns: readonly string[]): string {
  const names = columns.map((name) => `"${name}"`).join(", ");
  return `select ${names} from ${partTable(part)}
    where transfer_id > $1 and ${FOLDED} order by transfer_id limit $2`;
}

export function freezePartSql(part: Part): string {
  return `create or replace trigger month_is_frozen before insert or update or delete
    on ${partTable(part)} for each row execute function refuse_change()`;
}

export function unfreezePartSql(part: Part): string {
  return `drop trigger if exists month_is_frozen on ${partTable(part)}`;
}

/** $1 the table. */
export const IS_PART_FROZEN_SQL = `
  select exists (select from pg_trigger
    where tgrelid = $1::regclass and tgname = 'month_is_frozen') as is_frozen`;

export const FOLDED_MONTH_SQL = `
  insert into folded_month (part, from_position, to_position, transfers, amount, file, sha256,
    signature)
  values ($1, $2, $3, $4, $5, $6, $7, $8)`;

/** What the month is folded to; the first column is the part. */
export function foldedSumsSql(part: Part): readonly string[] {
  return [
    `insert into folded_transfer (part, kind, debit_account, credit_account, transfers, amount)
      select '${part}', p.* from (${pairsSql(part)}) p`,
    `insert into folded_day (part, day, settled, refunded, overrun, margin)
      select '${part}', d.* from (${daysSql(partTable(part))}) d`,
  ];
}

/**
 * The table that takes the month's place, outside of the books as yet: the transfers of no attempt,
 * under the same numbers. Nothing can be added to it, so that a late transfer needs a new position.
 */
export function keptSql(part: Part, of: PartBounds): readonly string[] {
  const name = partTable(part);
  const table = `folding.${name}`;
  return [
    "create schema folding",
    `create table ${table} (like ${name} including defaults including constraints)`,
    `insert into ${table} select * from ${name} where attempt_id is null`,
    `alter table ${table} add primary key (transfer_id), add unique (ref)`,
    `create unique index on ${table} (attempt_id, kind) where attempt_id is not null`,
    `create index on ${table} (credit_account, transfer_id) where attempt_id is null`,
    `create index on ${table} (debit_account, transfer_id) where attempt_id is null`,
    `create index on ${table} using brin (position) with (autosummarize = on)`,
    `create trigger transfer_is_not_truncated before truncate on ${table}
      for each statement execute function refuse_change()`,
    `create trigger month_is_frozen before insert or update or delete on ${table}
      for each row execute function refuse_change()`,
    // What the rule proves is not read again while the books are locked.
    `alter table ${table} add constraint is_of_month check (${of.rule})`,
    `analyze ${table}`,
  ];
}

/** Between which positions a month is. */
export interface PartBounds {
  readonly bounds: string;
  readonly schema: string;
  readonly rule: string;
}

/** $1 the table: between which positions it is, the same as a rule, and the schema of the books. */
export const BOUNDS_OF_PART_SQL = `
  select pg_get_expr(relpartbound, oid) as bounds, current_schema()::text as schema,
    pg_get_partition_constraintdef(oid) as rule
  from pg_class where oid = $1::regclass`;

/** Sums and what stays, together, are the month; days are what was retired of them. */
export function differencesSql(part: Part): string {
  const table = partTable(part);
  const sides = (from: string, where = "true"): string => `
      select debit_account as account_id, amount as debit, 0::bigint as credit from ${from}
      where ${where}
      union all select credit_account, 0, amount from ${from} where ${where}`;
  const byAccount = (rows: string): string => `
    select account_id, sum(debit) as debits, sum(credit) as credits from (${rows}) x
    group by account_id`;
  const ofPart = `part = '${part}'`;
  return `
  select format('account %s: debits %s, credits %s; folded: debits %s, credits %s', account_id,
    w.debits, w.credits, f.debits, f.credits) as difference
  from (${byAccount(sides(table))}) w full join (
    ${byAccount(`${sides("folded_transfer", ofPart)} union all ${sides(`folding.${table}`)}`)}
  ) f using (account_id)
  where (w.debits, w.credits) is distinct from (f.debits, f.credits)
  union all
  select format('%s transfers of %s micro-dollars; folded: %s of %s; signed for: %s of %s',
    w.transfers, w.amount, f.transfers, f.amount, m.transfers, m.amount)
  from folded_month m,
    (select count(*) as transfers, sum(amount) as amount from ${table} where ${FOLDED}) w,
    (select sum(transfers) as transfers, sum(amount) as amount from folded_transfer
      where ${ofPart}) f
  where m.part = '${part}' and ((w.transfers, w.amount) is distinct from (f.transfers, f.amount)
    or (w.transfers, w.amount) is distinct from (m.transfers, m.amount))
  union all
  ${dayDifferencesSql(part)}
  limit 10`;
}

/** Each day that is touched has, over all months, what it was retired and settled with. */
function dayDifferencesSql(part: Part): string {
  const first = "(select min(day) from days)";
  const last = "(select max(day) from days)";
  const bounds = `attempt_id >= attempt_id_at((${first})::timestamp at time zone 'utc')
      and attempt_id < attempt_id_at((${last} + 1)::timestamp at time zone 'utc')`;
  return `
  select * from (
    with days as (select day from folded_day where part = '${part}'),
    moved as (
      select day, sum(settled - refunded) as debit, sum(overrun) as overrun, sum(margin) as margin
      from (
        select * from (
          ${daysSql(`(select * from transfer where ${bounds}) t`)}
        ) single
        union all
        select day, settled, refunded, overrun, margin from folded_day where part <> '${part}'
      ) x join days using (day) group by day
    ), line as (
      select admitted_on as day, sum(margin) as margin from provider_period_line
      where admitted_on in (select day from days) group by 1
    )
    select format('day %s: debit %s, overrun %s, margin %s; retired with: debit %s, overrun %s, '
        || 'margin %s', day, m.debit, m.overrun, m.margin, r.debit, r.overrun,
        coalesce(l.margin, 0)) as difference
    from days left join moved m using (day) left join retired_day r using (day)
      left join line l using (day)
    where (m.debit, m.overrun, m.margin)
      is distinct from (r.debit::numeric, r.overrun::numeric, coalesce(l.margin, 0)::numeric)
  ) of_days`;
}

/** Takes the month out and puts what stays of it in its place. */
export function swapSql(part: Part, of: PartBounds): readonly string[] {
  const table = partTable(part);
  return [
    `alter table transfer detach partition ${table}`,
    `alter table ${table} set schema retired`,
    `alter table folding.${table} set schema "${of.schema}"`,
    `alter table transfer attach partition ${table} ${of.bounds}`,
    `alter table ${table} drop constraint is_of_month`,
    "drop schema folding",
  ];
}
