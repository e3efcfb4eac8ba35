import { hasDailySpendSql, HOUR_SKU_NAME, TOKEN_BUCKETS } from "../../kernel/index.ts";
import { TWO_DAYS_OF_IDS } from "../attempt-columns.ts";
import { attemptDay, type AuditQuery, transferText } from "./audit-query.ts";
import { priceQueries } from "./settlement-audit.ts";
import {
  accountSumsSql,
  attemptsSql,
  attemptTransfersSql,
  type AuditSpan,
  type IdRange,
  monthsSql,
  spendSql,
} from "./audit-span.ts";

const dueTransfersSql = (attempts: string): string => `
  select attempt_id, 'settle' as kind, 'wallet:' || org_id as debit_account,
    case state when 'settled' then 'accrual:' else 'unknown:' end || provider_id as credit_account,
    case state when 'settled' then debit else reserve end as amount
  from ${attempts} a where state in ('settled', 'unknown_after_crash')
  union all
  select attempt_id, 'refund', 'unknown:' || provider_id, 'wallet:' || org_id, reserve - debit
  from ${attempts} a where corrected_at is not null
  union all
  select attempt_id, 'correct', 'unknown:' || provider_id, 'accrual:' || provider_id, debit
  from ${attempts} a where corrected_at is not null
  union all
  select attempt_id, 'overrun', 'overrun', 'accrual:' || provider_id, overrun
  from ${attempts} a where overrun > 0
  union all
  select attempt_id, 'margin',
    case when margin > 0 then 'accrual:' else 'margin:' end || provider_id,
    case when margin > 0 then 'margin:' else 'accrual:' end || provider_id, abs(margin)
  from (
    select attempt_id, provider_id, margin_of(cost_pico, owed_pico) as margin
    from ${attempts} a where owed_pico is not null
  ) m`;

/** Half of the largest bigint: an account above it is reported long before the column overflows. */
const ACCOUNT_HALF_FULL = "4611686018427387903";

const TRANSFERS_TITLE = "every attempt has exactly the transfers of what became of it";

const RETIRED_SUMS = `
      select concat('retired day ', day) as what,
        format('debit %s, overrun %s', debit, overrun) as found,
        format('debit %s, overrun %s', moved_debit, moved_overrun) as expected
      from (
        select r.day, r.debit, r.overrun, coalesce(sum(t.debit), 0) as moved_debit,
          coalesce(sum(t.overrun), 0) as moved_overrun
        from retired_day r left join (
          select ${attemptDay("attempt_id")} as day,
            case kind when 'settle' then amount when 'refund' then -amount else 0 end as debit,
            case kind when 'overrun' then amount else 0 end as overrun
          from transfer where attempt_id < (select max(to_id) from retired_day)
        ) t using (day)
        group by r.day
      ) x where debit <> moved_debit or overrun <> moved_overrun`;

const WHOLE_QUERIES: readonly AuditQuery[] = [
  {
    id: "I2",
    title: "all debits together equal all credits together",
    sql: `
      select 'all accounts' as what, concat('debits ', d) as found,
        concat('credits ', c) as expected
      from (select sum(debits) as d, sum(credits) as c from account) x where d <> c`,
  },
  {
    id: "I3",
    title: "every wallet holds exactly the reserves of its open attempts",
    sql: `
      select concat('account ', coalesce(account_id, 'wallet:' || org_id)) as what,
        concat('reserved ', coalesce(w.reserved, 0)) as found,
        concat('reserved ', coalesce(o.held, 0)) as expected
      from account w full join (
        select org_id, sum(reserve) as held from hold group by org_id
      ) o using (org_id)
      where coalesce(w.reserved, 0) <> coalesce(o.held, 0)`,
  },
  {
    id: "I4",
    title: "no wallet owes or holds more than it was credited",
    sql: `
      select concat('account ', account_id) as what,
        format('debits %s, reserved %s, must cover %s', debits, reserved, must_cover) as found,
        format('at most credits %s, must cover t', credits) as expected
      from account
      where (must_cover and debits + reserved > credits) or (org_id is not null and not must_cover)`,
  },
  {
    id: "I9",
    title: "no attempt of an instance's earlier life is open for longer than a minute",
    sql: `
      select concat('attempt ', attempt_id) as what,
        format('open since %s in epoch %s of %s', h.created_at, h.epoch, h.instance_id) as found,
        coalesce('epoch ' || i.epoch, 'an instance that is known') as expected
      from hold h left join instance i using (instance_id)
      where not h.annulled and not h.resumable and (i.epoch is null or h.epoch < i.epoch)
        and h.created_at < now() - interval '1 minute'`,
  },
  pinsQuery("(select * from hold where not annulled)"),
  {
    id: "I15",
    title:
      "every closing can be written: no account is nearly full, no attempt is open for a day or has no day",
    sql: `
      select concat('account ', account_id) as what,
        format('debits %s, credits %s', debits, credits) as found,
        concat('at most ', ${ACCOUNT_HALF_FULL}) as expected
      from account where greatest(debits, credits) > ${ACCOUNT_HALF_FULL}
      union all
      select concat('attempt ', attempt_id), format('open since %s of %s', created_at, instance_id),
        'closed within a day'
      from hold where not annulled and not resumable and created_at < now() - interval '1 day'
      union all
      select concat('attempt ', attempt_id), concat('no table of ', day), 'a table of its day'
      from (select attempt_id, ${attemptDay("attempt_id")} as day from hold where not annulled) h
      where not exists (select from pg_inherits i join pg_class c on c.oid = i.inhrelid
        where i.inhparent = 'attempt'::regclass
          and c.relname = 'attempt_' || to_char(day, 'YYYYMMDD'))`,
  },
  {
    id: "I16",
    title: "every attempt is open or finished, once, and every annulled one has its void end",
    sql: `
      select concat('attempt ', attempt_id) as what, concat('open and ', a.state) as found,
        'one of both' as expected
      from hold h join attempt a using (attempt_id) where not h.annulled
      union all
      select concat('attempt ', attempt_id),
        concat('annulled and ', coalesce(a.state, 'in no journal')), 'annulled and void'
      from hold h left join attempt a using (attempt_id)
        left join retired_day r on r.day = ${attemptDay("h.attempt_id")}
      where h.annulled and r.day is null and a.state is distinct from 'void'`,
  },
];

export function bookQueries(span: AuditSpan): readonly AuditQuery[] {
  return [
    ...WHOLE_QUERIES,
    ...(span === undefined ? [{ id: "I5", title: TRANSFERS_TITLE, sql: RETIRED_SUMS }] : []),
    {
      id: "I1",
      title: "every account's debits and credits are the sums of its transfers",
      sql: `
      select concat('account ', account_id) as what,
        format('debits %s, credits %s', coalesce(a.debits, 0), coalesce(a.credits, 0)) as found,
        format('debits %s, credits %s', coalesce(t.debits, 0), coalesce(t.credits, 0)) as expected
      from account a full join (${accountSumsSql(span)}) t using (account_id)
      where coalesce(a.debits, 0) <> coalesce(t.debits, 0)
        or coalesce(a.credits, 0) <> coalesce(t.credits, 0)`,
    },
    {
      id: "I7",
      title: "monthly spend and holds of every organization and key are the sums of its attempts",
      sql: `
      select format('spend of %s %s in %s', scope, id, to_char(month, 'YYYY-MM')) as what,
        format('settled %s, reserved %s', coalesce(s.settled, 0), coalesce(s.reserved, 0)) as found,
        format('settled %s, reserved %s', coalesce(a.settled, 0), coalesce(a.reserved, 0))
          as expected
      from (select * from spend where ${monthsSql(span, "month")}) s full join (
        select scope, id, month, sum(settled) as settled, sum(reserved) as reserved from (
          select scope, id, month, settled, 0 as reserved from (${spendSql(span)}) spent
          union all
          select case grouping(org_id) when 0 then 'org' else 'key' end,
            coalesce(org_id, key_id), month, 0, sum(reserve)
          from hold where ${monthsSql(span, "month")}
          group by grouping sets ((org_id, month), (key_id, month))
        ) x group by scope, id, month
      ) a using (scope, id, month)
      where coalesce(s.settled, 0) <> coalesce(a.settled, 0)
        or coalesce(s.reserved, 0) <> coalesce(a.reserved, 0)`,
    },
    {
      id: "I10",
      title: "every request's attempts belong to one organization and one key, each number once",
      sql: `
      select concat('request ', request_id) as what,
        format('%s, attempts %s', string_agg(distinct format('%s of %s', key_id, org_id), ', '),
          string_agg(ordinal::text, ' ' order by ordinal)) as found,
        'one key of one organization, each number once' as expected
      from ${requestAttempts(span)} j
      where request_id in (
        select request_id from ${requestAttempts(span)} one group by request_id having count(*) > 1)
      group by request_id
      having count(distinct (org_id, key_id)) > 1 or count(distinct ordinal) < count(*)`,
    },
    requestQuery(span),
    rebuildQuery(span),
    daysQuery(span),
  ];
}

/**
 * Checks the columns `final` (true on the last attempt of a request) and `earlier` (on that
 * attempt, the sums of the others). The only attempt of a request must be `final` and have no
 * `earlier`. For requests with more attempts, an audit that begins at a checkpoint looks up to
 * `TWO_DAYS_OF_IDS` before and after the known attempts; an audit of all books reads all attempts.
 */
function requestQuery(span: AuditSpan): AuditQuery {
  const sums = [...Object.values(TOKEN_BUCKETS), "cost_pico", "debit", "duration_ms", HOUR_SKU_NAME]
    .map((column) => `sum(${column}) over others`)
    .join(", ");
  return {
    id: "I21",
    title: "the last attempt of every request is its row, and has the sums of the others",
    sql: `
      with many as (
        select org_id, request_id, min(attempt_id) as first, max(attempt_id) as last
        from ${attemptsSql(span)} a
        where ordinal > 1 or not final or earlier is not null group by 1, 2
      ), line as (
        select attempt_id, final, earlier, row_number() over attempts = 1 as is_last,
          (count(*) over others, ${sums})::attempt_sums as others
        from ${span === undefined ? "attempt a join many using (org_id, request_id)" : NEAR_SQL}
        window attempts as (partition by a.org_id, a.request_id
            order by ordinal desc, attempt_id desc),
          others as (attempts rows between 1 following and unbounded following)
      ), due as (
        select *, case when is_last and (others).attempts > 0 then others end as due from line
      )
      select concat('attempt ', attempt_id) as what,
        concat(final, ' ', coalesce(earlier::text, 'nothing earlier')) as found,
        concat(is_last, ' ', coalesce(due::text, 'nothing earlier')) as expected
      from due where final <> is_last or earlier is distinct from due`,
  };
}

const NEAR_SQL = `many cross join lateral (
          select * from attempt o
          where o.org_id = many.org_id and o.request_id = many.request_id
            and o.attempt_id between first - ${TWO_DAYS_OF_IDS} and last + ${TWO_DAYS_OF_IDS}
          offset 0) a`;

/**
 * Compares the daily spend of keys with their attempts, on days of which the audit reads all
 * attempts. The day after a retired day is left out: some attempts admitted on it have ids of the
 * day before, and were retired with that day.
 */
function daysQuery(span: AuditSpan): AuditQuery {
  const from =
    span === undefined
      ? "(select coalesce(max(day) + 2, '-infinity') from retired_day)"
      : `date '${span.day}' + 1`;
  const known = `day >= ${from}`;
  return {
    id: "I20",
    title: "daily spend of every key with a cap by the day or the week is the sum of its attempts",
    sql: `
      with due as (
        select key_id, day, sum(debit) as settled from (
          select key_id, (created_at at time zone 'utc')::date as day, debit
          from ${attemptsSql(span)} a where key_id in (select key_id from spend_day
            union select key_id from api_key
            where ${hasDailySpendSql()})
        ) x where ${known} group by key_id, day
      )
      select format('spend of key %s on %s', key_id, day) as what,
        concat('settled ', coalesce(s.settled::text, 'of no row')) as found,
        concat('settled ', coalesce(d.settled, 0)) as expected
      from (select * from spend_day where ${known}) s full join due d using (key_id, day)
      left join api_key k using (key_id)
      where coalesce(s.settled, 0) <> coalesce(d.settled, 0) and (s.key_id is not null
        or (day >= date_trunc('week', now() at time zone 'utc')
          and ${hasDailySpendSql("k")}))`,
  };
}

function rebuildQuery(span: AuditSpan): AuditQuery {
  return {
    id: "rebuild",
    title:
      "every account, rebuilt from its transfers and open attempts alone, equals its stored row",
    sql: `
      with rebuilt as (
        select account_id, sum(debits) as debits, sum(credits) as credits,
          sum(reserved) as reserved
        from (
          select account_id, debits, credits, 0 as reserved from (${accountSumsSql(span)}) moved
          union all select 'wallet:' || org_id, 0, 0, reserve from hold
        ) x group by account_id
      )
      select concat('account ', account_id) as what,
        format('debits %s, credits %s, reserved %s', coalesce(a.debits, 0), coalesce(a.credits, 0),
          coalesce(a.reserved, 0)) as found,
        format('debits %s, credits %s, reserved %s', coalesce(r.debits, 0), coalesce(r.credits, 0),
          coalesce(r.reserved, 0)) as expected
      from account a full join rebuilt r using (account_id)
      where coalesce(a.debits, 0) <> coalesce(r.debits, 0)
        or coalesce(a.credits, 0) <> coalesce(r.credits, 0)
        or coalesce(a.reserved, 0) <> coalesce(r.reserved, 0)`,
  };
}

export function attemptQueries(span: AuditSpan, range: IdRange): readonly AuditQuery[] {
  return [
    {
      id: "I5",
      title: TRANSFERS_TITLE,
      sql: `
      select format('attempt %s %s', attempt_id, kind) as what, ${transferText("m")} as found,
        ${transferText("d")} as expected
      from (
        select * from (${dueTransfersSql(attemptsSql(span, range))}) x where amount > 0
      ) d full join (
        select attempt_id, kind, debit_account, credit_account, amount
        from ${attemptTransfersSql(span, range)} t
          left join retired_day r on r.day = ${attemptDay("t.attempt_id")}
        where r.day is null
      ) m using (attempt_id, kind)
      where (d.debit_account, d.credit_account, d.amount)
        is distinct from (m.debit_account, m.credit_account, m.amount)`,
    },
    {
      id: "I6",
      title: "every debit is the floor of its exact cost within its reserve",
      sql: `
      with recorded as (
        select a.*, case when state = 'settled' or corrected_at is not null then
            coalesce(least(div(cost_pico, 1000000), reserve), -1)
          when state = 'unknown_after_crash' then reserve else 0 end as due_debit,
          case when state = 'settled' or corrected_at is not null then
            greatest(div(cost_pico, 1000000) - reserve, 0) else 0 end as due_overrun
        from ${attemptsSql(span, range)} a
      )
      select concat('attempt ', attempt_id) as what,
        format('%s, reserve %s, cost in pico-dollars %s: debit %s, overrun %s', state, reserve,
          coalesce(cost_pico::text, 'none'), debit, overrun) as found,
        case due_debit when -1 then 'a cost'
          else format('debit %s, overrun %s', due_debit, due_overrun) end as expected
      from recorded where debit <> due_debit or overrun <> due_overrun`,
    },
    pinsQuery(attemptsSql(span, range)),
    ...priceQueries(attemptsSql(span, range)),
  ];
}

function pinsQuery(attempts: string): AuditQuery {
  return {
    id: "I13",
    title: "every attempt refers to recorded prices of its provider",
    sql: `
      select concat('attempt ', attempt_id) as what,
        format('prices %s of %s', price_pin_id, coalesce(p.provider_id, 'no provider')) as found,
        concat('prices of ', a.provider_id) as expected
      from ${attempts} a left join price_pin p on p.pin_id = a.price_pin_id
      where p.provider_id is distinct from a.provider_id`,
  };
}

/** Selects the finished and open attempts. The caller groups them by request, to compare them. */
function requestAttempts(span: AuditSpan): string {
  return `(
        select request_id, org_id, key_id, ordinal from ${attemptsSql(hourEarlier(span))} ended
        union all select request_id, org_id, key_id, ordinal from hold where not annulled)`;
}

/**
 * Lets the span begin an hour earlier, so that it also has the first attempts of a request that was
 * in progress when the span began. The attempts of a request follow one another within minutes.
 */
function hourEarlier(span: AuditSpan): AuditSpan {
  const HOUR_OF_IDS = 3_600_000n << 22n;
  return span === undefined ? span : { ...span, fromAttempt: span.fromAttempt - HOUR_OF_IDS };
}
