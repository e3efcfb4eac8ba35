import type { AuditQuery } from "./audit-query.ts";

/** Each pin's sheets with the sizes of prompt that they are for. */
const SHEETS = `
  select s.pin_id as of_pin, s.above_prompt_tokens as above,
    lead(s.above_prompt_tokens) over (partition by s.pin_id order by s.above_prompt_tokens)
      as upto, p.*
  from price_sheet s join price_pin p on p.pin_id = s.sheet_pin_id`;

const PROMPT = "(a.prompt + a.cached_prompt + a.cache_write)";
const IS_OF_SHEET = `(s.above = 0 or ${PROMPT} > s.above) and (s.upto is null or ${PROMPT} <= s.upto)`;

/** The exact cost of an attempt's tokens by the sheet of its whole prompt. */
const DUE = `a.prompt * s.prompt_pico + a.cached_prompt * s.cached_prompt_pico
    + (a.cache_write - coalesce(a.cache_write_1h, 0)) * s.cache_write_pico
    + coalesce(a.cache_write_1h, 0) * coalesce(s.cache_write_1h_pico, s.cache_write_pico)
    + a.completion * s.completion_pico + a.internal_reasoning * s.internal_reasoning_pico`;

/** True if the tokens of the attempt were observed, so that they cost something. */
const IS_OBSERVED = `
  (a.state = 'settled' or a.corrected_at is not null) and a.basis <> 'none'`;

/** The audit's checks of amounts that are counted from tokens. */
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
