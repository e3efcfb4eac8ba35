import { endsSql, SUM_ENDS_SQL } from "../provider-settlement/settlement-rows.ts";
import { attemptDay, type AuditQuery, differingTransfersSql, transferText } from "./audit-query.ts";
import type { AuditSpan } from "./audit-span.ts";

const everyEnd = endsSql("'-infinity'::timestamptz", "'infinity'::timestamptz");
const PERIOD_NAME = "format('period of %s from %s', provider_id, start_at at time zone 'utc')";
const HALF_DAY = "to_timestamp(floor(extract(epoch from ended_at) / 43200) * 43200)";

/** Selects periods that are not over, do not continue the last one, or differ from their lines. */
const BROKEN_PERIODS = `
  select ${PERIOD_NAME} as what,
    format('begins after %s with %s, attempts %s, cost %s', after_end_at, carry_in_pico, attempts,
      cost_pico) as found,
    format('begins after %s with %s, attempts %s, cost %s, ends before %s', last_end,
      coalesce(last_carry, 0), line_attempts, line_cost, through) as expected
  from (
    select p.*, lag(end_at) over chain as last_end, lag(carry_out_pico) over chain as last_carry,
      l.attempts as line_attempts, l.cost_pico as line_cost, l.sums as line_sums, h.through
    from provider_period p cross join settlement_horizon h
    left join (
      select provider_id, start_at, sum(attempts) as attempts, sum(cost_pico) as cost_pico,
        array[sum(settled), sum(unknown_charge), sum(corrections), sum(resolved_charge),
          sum(corrected_pico), sum(debit), sum(overrun), sum(margin), sum(cache_write),
          sum(cache_write_1h), sum(lost_claims), sum(lost_pico), sum(lost)] as sums
      from provider_period_line group by provider_id, start_at
    ) l using (provider_id, start_at)
    window chain as (partition by provider_id order by start_at)
  ) x
  where after_end_at is distinct from last_end or carry_in_pico <> coalesce(last_carry, 0)
    or end_at > through or attempts is distinct from line_attempts
    or cost_pico is distinct from line_cost
    or line_sums is distinct from array[settled, unknown_charge, corrections, resolved_charge,
      corrected_pico, debit, overrun, margin, cache_write, cache_write_1h, lost_claims, lost_pico,
      lost]::numeric[]`;

/** Selects transfers of periods and payments that are missing, superfluous or different. */
const BROKEN_MOVES = `
  with due as (
    select provider_id, mode, rounding, payable, 'period:' || provider_id || ':'
      || to_char(start_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as name
    from provider_period
  ), expected as (
    select name || ':rounding' as ref, 'rounding' as debit_account,
      'accrual:' || provider_id as credit_account, rounding as amount
    from due where rounding > 0
    union all
    select name || ':payable', 'accrual:' || provider_id,
      case mode when 'prepaid' then 'deposit:' else 'payable:' end || provider_id, payable
    from due where payable > 0
    union all
    select ref, 'payable:' || provider_id, 'cash:payouts', payable
    from provider_payment join provider_period using (provider_id, start_at)
  )
  ${differingTransfersSql(["period", "provider_payment"])}`;

/** What a day of a period adds up to, in the lines of the period or in the journal (`f`). */
const DAY_SUMS = `sum(f.attempts) as attempts, sum(f.cost_pico) as cost_pico,
      array[sum(f.corrections), sum(f.debit), sum(f.overrun), sum(f.margin), sum(f.cache_write_1h),
        sum(f.unknown_charge), sum(f.resolved_charge), sum(f.lost_pico), sum(f.lost),
        sum(f.prompt + f.cached_prompt + f.cache_write),
        sum(f.completion + f.internal_reasoning)] as sums`;

/**
 * Selects days of settlement periods that differ from the journal: each settled attempt must be in
 * exactly one period, unchanged. If the audit begins at a checkpoint, it checks only attempts
 * admitted after the checkpoint's day, because all of these ended within the span.
 */
const brokenLinesSql = (span: AuditSpan): string => `
  with fact as (
    select provider_id, ${HALF_DAY} as ended, ${attemptDay("attempt_id")} as admitted_on,
      ${SUM_ENDS_SQL}
    from (${everyEnd}) e join provider_progress g using (provider_id)
    where ended_at < g.through and ${isLater(span, attemptDay("attempt_id"))}
      ${span === undefined ? "" : `and attempt_id >= ${span.fromAttempt}`}
    group by 1, 2, 3
  ), journal as (
    select f.provider_id, p.start_at, admitted_on, ${DAY_SUMS}
    from fact f left join provider_period p
      on p.provider_id = f.provider_id and f.ended >= p.start_at and f.ended < p.end_at
    group by 1, 2, 3
  ), frozen as (
    select provider_id, start_at, admitted_on, ${DAY_SUMS}
    from provider_period_line f where ${isLater(span, "admitted_on")} group by 1, 2, 3
  )
  select format('%s, admitted on %s', ${PERIOD_NAME}, admitted_on),
    format('%s attempts, cost %s, %s', coalesce(f.attempts, 0), coalesce(f.cost_pico, 0), f.sums),
    format('%s attempts, cost %s, %s', coalesce(j.attempts, 0), coalesce(j.cost_pico, 0), j.sums)
  from journal j full join frozen f using (provider_id, start_at, admitted_on)
  left join retired_day r on r.day = admitted_on
  where r.day is null and (f.attempts, f.cost_pico, f.sums)
    is distinct from (j.attempts, j.cost_pico, j.sums)`;

/** Selects retired days whose sums differ from those of the settlement period lines of that day. */
const BROKEN_RETIRED_DAYS = `
  select concat('settlement of retired day ', day),
    format('%s attempts, debit %s, overrun %s, owed %s', l.attempts, l.debit, l.overrun, l.owed),
    format('%s attempts, debit %s, overrun %s, owed %s', r.attempts, r.debit, r.overrun,
      coalesce(r.owed_pico, r.cost_pico))
  from retired_day r left join (
    select admitted_on as day, sum(attempts) as attempts,
      sum(debit + unknown_charge - resolved_charge) as debit, sum(overrun) as overrun,
      sum(cost_pico - lost_pico) as owed
    from provider_period_line group by admitted_on
  ) l using (day)
  where (r.attempts, r.debit, r.overrun, coalesce(r.owed_pico, r.cost_pico))
    is distinct from (coalesce(l.attempts, 0), coalesce(l.debit, 0), coalesce(l.overrun, 0),
      coalesce(l.owed, 0))`;

/** Selects retired days whose margin transfers differ from the margins in the period lines. */
const BROKEN_RETIRED_MARGINS = `
  select concat('margin of retired day ', day), concat('moved ', coalesce(t.moved, 0)),
    concat('in lines ', coalesce(l.margin, 0))
  from retired_day left join (
    select admitted_on as day, sum(margin) as margin from provider_period_line group by admitted_on
  ) l using (day)
  left join (
    select day, sum(moved) as moved from (
      select ${attemptDay("attempt_id")} as day,
        case when credit_account like 'margin:%' then amount else -amount end as moved
      from transfer
      where attempt_id < (select max(to_id) from retired_day) and kind = 'margin'
    ) x group by day
  ) t using (day)
  where coalesce(t.moved, 0) <> coalesce(l.margin, 0)`;

/** Selects `accrual:` accounts whose balance differs from the debt that is in no period yet. */
const BROKEN_ACCRUALS = `
  select concat('account accrual:', provider_id), concat('balance ', coalesce(a.balance, 0)),
    concat('balance ', coalesce(e.owed, 0))
  from (
    select split_part(account_id, ':', 2) as provider_id, credits - debits as balance
    from account where account_id like 'accrual:%'
  ) a full join (
    select provider_id, sum(case when is_observed then debit + overrun
      - margin_of(cost_pico, owed_pico) else lost end) as owed
    from (${everyEnd}) e
    left join (
      select provider_id, max(end_at) as end_at from provider_period group by provider_id
    ) l using (provider_id)
    where l.end_at is null or ended_at >= l.end_at
    group by provider_id
  ) e using (provider_id)
  where coalesce(a.balance, 0) <> coalesce(e.owed, 0)`;

export function settlementAuditQuery(span: AuditSpan): AuditQuery {
  const always = [BROKEN_PERIODS, BROKEN_MOVES, brokenLinesSql(span)];
  const ofEverything = [BROKEN_RETIRED_DAYS, BROKEN_RETIRED_MARGINS, BROKEN_ACCRUALS];
  return {
    id: "I11",
    title:
      "every ended attempt is in one period of its provider, and each period owes the exact sum",
    sql: [...always, ...(span === undefined ? ofEverything : [])]
      .map((sql) => `(${sql})`)
      .join(" union all "),
  };
}

function isLater(span: AuditSpan, day: string): string {
  return span === undefined ? "true" : `${day} > '${span.day}'`;
}

export const lifeAuditQuery: AuditQuery = {
  id: "I19",
  title:
    "what was lost in a restore cost no customer anything, and is owed to its provider exactly once",
  sql: `
    select concat('transfer ', ref) as what, ${transferText("t")} as found,
      case when c.amount is null then 'none'
        else format('%s from lost to accrual:%s', c.amount, c.provider_id) end as expected
    from (select * from lost_cost where amount > 0) c full join (
      select ref, debit_account, credit_account, amount from transfer
      where kind = 'lost' or 'lost' in (debit_account, credit_account)
    ) t using (ref)
    where (t.debit_account, t.credit_account, t.amount)
      is distinct from ('lost', 'accrual:' || c.provider_id, c.amount)
    union all
    select concat('attempt ', attempt_id), format('%s, debit %s', state, debit),
      'void in a later life of the books'
    from attempt
    where outcome = 'lost_in_restore'
      and (state <> 'void' or not exists (select from ledger_life where open_attempts = 'void'))
    union all
    select concat('lost cost ', c.ref), concat('of attempt ', c.attempt_id, ', ', a.state),
      'of no attempt in the journal that cost something'
    from lost_cost c join journal a
      on a.attempt_id = c.attempt_id and c.ref like 'lost:%:attempt:%'
    where a.outcome is distinct from 'lost_in_restore'
    union all
    select concat('life ', life), concat('after ', lag), concat('after ', life - 1)
    from (select life, coalesce(lag(life) over (order by life), 1) as lag from ledger_life) l
    where lag <> life - 1`,
};

/** The price sheets of each pin, with the prompt sizes to which each sheet applies. */
const SHEETS = `
  select s.pin_id as of_pin, s.above_prompt_tokens as above,
    lead(s.above_prompt_tokens) over (partition by s.pin_id order by s.above_prompt_tokens)
      as upto, p.*
  from price_sheet s join price_pin p on p.pin_id = s.sheet_pin_id`;

const PROMPT = "(a.prompt + a.cached_prompt + a.cache_write)";
const IS_OF_SHEET = `(s.above = 0 or ${PROMPT} > s.above) and (s.upto is null or ${PROMPT} <= s.upto)`;

/** The exact cost of the tokens of attempt `a` at the prices of sheet `s`. */
const DUE = `a.prompt * s.prompt_pico + a.cached_prompt * s.cached_prompt_pico
    + (a.cache_write - coalesce(a.cache_write_1h, 0)) * s.cache_write_pico
    + coalesce(a.cache_write_1h, 0) * coalesce(s.cache_write_1h_pico, s.cache_write_pico)
    + a.completion * s.completion_pico + a.internal_reasoning * s.internal_reasoning_pico`;

/** True if the usage of attempt `a` was observed, so that its provider is owed for it. */
const IS_OBSERVED = `
  (a.state = 'settled' or a.corrected_at is not null) and a.basis <> 'none'`;

export function priceQueries(attempts: string): readonly AuditQuery[] {
  return [
    {
      id: "I17",
      title: "every counted cost is that of its tokens by the sheet of its whole prompt",
      sql: `
      with sheet as (${SHEETS}), counted as (
        select a.attempt_id, a.cost_pico, s.pin_id, ${DUE} as due
        from ${attempts} a join sheet s on s.of_pin = a.price_pin_id and ${IS_OF_SHEET}
        where a.cost_pico is not null and a.prompt is not null
      )
      select concat('attempt ', attempt_id) as what, concat('cost in pico-dollars ', cost_pico)
        as found, format('%s by sheet %s', due, pin_id) as expected
      from counted where cost_pico <> due
      union all
      select concat('attempt ', attempt_id), concat('cache writes of an hour: ', cache_write_1h),
        concat('of cache writes: ', coalesce(cache_write, 0))
      from ${attempts} a where cache_write_1h < 0 or cache_write_1h > coalesce(cache_write, 0)`,
    },
    {
      id: "I18",
      title: "every provider with prices of its own is owed what was used, by the sheet of these",
      sql: `
      with sheet as (${SHEETS}), recorded as (
        select a.attempt_id, a.owed_pico, s.pin_id, ${DUE} as due
        from ${attempts} a join price_pin p on p.pin_id = a.price_pin_id
          left join sheet s on s.of_pin = p.purchase_pin_id and ${IS_OBSERVED} and ${IS_OF_SHEET}
        where a.owed_pico is not null or p.purchase_pin_id is not null
      )
      select concat('attempt ', attempt_id) as what,
        concat('owed in pico-dollars ', coalesce(owed_pico::text, 'is the cost')) as found,
        case when due is null then 'the cost' else format('%s by sheet %s', due, pin_id) end
          as expected
      from recorded where owed_pico is distinct from due`,
    },
  ];
}
