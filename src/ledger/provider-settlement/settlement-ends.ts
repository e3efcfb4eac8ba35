import { hourUsageColumns } from "../attempt-columns.ts";
import {
  eachSku,
  SKU_NAMES,
  big,
  type Column,
  columns,
  type Columns,
  integer,
  micro,
  pico,
  text,
} from "../../kernel/index.ts";
import { HALF_DAY_MS } from "./settlement-interval.ts";
import type { SettlementFact } from "./settlement-plan.ts";
import type { SettlementSums } from "./settlement-sums.ts";

/** The columns that are read of an attempt that ended. */
const ATTEMPT_SQL = `a.attempt_id, a.provider_id, a.model_id, a.upstream_model_id, a.state, a.reserve,
  a.debit, a.overrun, a.cost_pico, a.owed_pico,
  ${hourUsageColumns.sqlOf("a")}, a.closed_at`;
const NOTHING_LOST_SQL = "0::bigint as lost_claims, 0::numeric as lost_pico, 0::bigint as lost";

/**
 * The ends of attempts from `$from` until before `$until`: closings, and corrections of what had
 * been closed as unknown. What a correction observed is in the attempt's row, but belongs to the
 * correction: a closing as unknown observed nothing. What was lost in a restore, and is claimed by
 * its provider, has no attempt that ended: it is of the time that its id says.
 */
export function endsSql(from: string, until: string): string {
  return `
    select ${ATTEMPT_SQL}, closed_at as ended_at, state = 'settled' as is_observed,
      false as is_correction, ${NOTHING_LOST_SQL}
    from attempt a where (closed_at at time zone 'utc') >= (${from} at time zone 'utc')
      and (closed_at at time zone 'utc') < (${until} at time zone 'utc')
    union all
    select ${ATTEMPT_SQL}, corrected_at, true, true, ${NOTHING_LOST_SQL}
    from attempt a where corrected_at >= ${from} and corrected_at < ${until}
    union all
    select c.attempt_id, c.provider_id, c.model_id, c.upstream_model_id, 'lost', 0, 0, 0, null,
      null, null, null, null, null, null, null, c.ended_at, c.ended_at, false, false, c.claims,
      c.cost_pico, c.amount
    from lost_cost c where c.ended_at >= ${from} and c.ended_at < ${until}`;
}

/** `sumColumns` over rows of `endsSql`. */
export const SUM_ENDS_SQL: string = `
  count(*) filter (where not is_correction and state <> 'lost') as attempts,
  count(*) filter (where state = 'settled') as settled,
  count(*) filter (where state = 'void') as voids,
  count(*) filter (where state = 'unknown_after_crash' and not is_correction) as unknowns,
  coalesce(sum(reserve) filter (where state = 'unknown_after_crash' and not is_correction), 0)
    as unknown_charge,
  count(*) filter (where is_correction) as corrections,
  coalesce(sum(reserve) filter (where is_correction), 0) as resolved_charge,
  ${Object.values(SKU_NAMES)
    .map((name) => `coalesce(sum(${name}) filter (where is_observed), 0) as ${name}`)
    .join(", ")},
  coalesce(sum(coalesce(owed_pico, cost_pico)) filter (where is_observed), 0) + sum(lost_pico)
    as cost_pico,
  coalesce(sum(coalesce(owed_pico, cost_pico)) filter (where is_correction), 0) as corrected_pico,
  coalesce(sum(debit) filter (where is_observed), 0) as debit,
  coalesce(sum(overrun) filter (where is_observed), 0) as overrun,
  coalesce(sum(margin_of(cost_pico, owed_pico)) filter (where is_observed), 0) as margin,
  sum(lost_claims) as lost_claims, sum(lost_pico) as lost_pico, sum(lost) as lost`;

const HALF_DAY_SECONDS = HALF_DAY_MS / 1_000;
/** 2025-01-01T00:00Z, from which attempt ids count, in half-days since 1970. */
const ID_HALF_DAY = 40_178;

function halfDaySql(column: string): string {
  return `floor(extract(epoch from ${column}) / ${HALF_DAY_SECONDS})::integer`;
}

/** $1 providers, $2 the start instant of each, $3 the earliest of these, $4 the end. */
export const FACTS_SQL: string = `
  select provider_id, model_id, upstream_model_id,
    ${halfDaySql("ended_at")} as ended, ${halfDaySql("closed_at")} as closed,
    ((attempt_id >> 22) / ${HALF_DAY_MS})::integer + ${ID_HALF_DAY} as admitted,
    ${SUM_ENDS_SQL}
  from unnest($1::text[], $2::timestamptz[]) as due(provider_id, from_at)
  join (${endsSql("$3::timestamptz", "$4::timestamptz")}) e using (provider_id)
  where ended_at >= from_at
  group by 1, 2, 3, 4, 5, 6 order by provider_id, ended`;

/** Half-days since 1970. */
function halfDay(name: string): Column<number> {
  const { cells, read } = integer(name);
  return { cells, read: (row) => read(row) * HALF_DAY_MS };
}

/** The columns of sums, in `SUM_ENDS_SQL`, `provider_period` and `provider_period_line`. */
export const sumColumns: Columns<SettlementSums> = columns({
  attempts: big("attempts"),
  settled: big("settled"),
  voids: big("voids"),
  unknowns: big("unknowns"),
  unknownMicroUsd: micro("unknown_charge"),
  corrections: big("corrections"),
  resolvedMicroUsd: micro("resolved_charge"),
  ...eachSku((sku) => big(SKU_NAMES[sku])),
  costPicoUsd: pico("cost_pico"),
  correctedPicoUsd: pico("corrected_pico"),
  debitMicroUsd: micro("debit"),
  overrunMicroUsd: micro("overrun"),
  marginMicroUsd: micro("margin"),
  lostClaims: big("lost_claims"),
  lostPicoUsd: pico("lost_pico"),
  lostMicroUsd: micro("lost"),
});

export const factColumns: Columns<SettlementFact> = columns({
  endedMs: halfDay("ended"),
  closedMs: halfDay("closed"),
  admittedMs: halfDay("admitted"),
  modelId: text("model_id"),
  upstreamModelId: text("upstream_model_id"),
  sums: sumColumns,
});
