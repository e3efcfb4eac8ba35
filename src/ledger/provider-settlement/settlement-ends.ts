import { microUsd, picoUsd } from "../../core/money.ts";
import { HALF_DAY_MS } from "./settlement-interval.ts";
import type { SettlementFact } from "./settlement-plan.ts";
import type { SettlementSums } from "./settlement-sums.ts";

/**
 * The ends of attempts from `$from` until before `$until`: closings, and corrections of what had
 * been closed as unknown. What a correction observed is in the attempt's row, but belongs to the
 * correction: a closing as unknown observed nothing.
 */
export function endsSql(from: string, until: string): string {
  return `
    select a.*, closed_at as ended_at, state = 'settled' as is_observed, false as is_correction
    from attempt a where (closed_at at time zone 'utc') >= (${from} at time zone 'utc')
      and (closed_at at time zone 'utc') < (${until} at time zone 'utc')
    union all
    select a.*, corrected_at, true, true
    from attempt a where corrected_at >= ${from} and corrected_at < ${until}`;
}

/** The columns of `SettlementSums` over rows of `endsSql`. */
export const sumEndsSql: string = `
  count(*) filter (where not is_correction) as attempts,
  count(*) filter (where state = 'settled') as settled,
  count(*) filter (where state = 'void') as voids,
  count(*) filter (where state = 'unknown_after_crash' and not is_correction) as unknowns,
  coalesce(sum(reserve) filter (where state = 'unknown_after_crash' and not is_correction), 0)
    as unknown_charge,
  count(*) filter (where is_correction) as corrections,
  coalesce(sum(reserve) filter (where is_correction), 0) as resolved_charge,
  coalesce(sum(prompt) filter (where is_observed), 0) as prompt,
  coalesce(sum(cached_prompt) filter (where is_observed), 0) as cached_prompt,
  coalesce(sum(cache_write) filter (where is_observed), 0) as cache_write,
  coalesce(sum(completion) filter (where is_observed), 0) as completion,
  coalesce(sum(internal_reasoning) filter (where is_observed), 0) as internal_reasoning,
  coalesce(sum(cost_pico) filter (where is_observed), 0) as cost_pico,
  coalesce(sum(cost_pico) filter (where is_correction), 0) as corrected_pico,
  coalesce(sum(debit) filter (where is_observed), 0) as debit,
  coalesce(sum(overrun) filter (where is_observed), 0) as overrun`;

const HALF_DAY_SECONDS = HALF_DAY_MS / 1_000;
/** 2025-01-01T00:00Z, from which attempt ids count, in half-days since 1970. */
const ID_HALF_DAY = 40_178;

function halfDayOf(column: string): string {
  return `floor(extract(epoch from ${column}) / ${HALF_DAY_SECONDS})::integer`;
}

/** $1 providers, $2 the instant from which each is asked for, $3 the first of these, $4 the end. */
export const factsSql: string = `
  select provider_id, model_id, upstream_model_id,
    ${halfDayOf("ended_at")} as ended, ${halfDayOf("closed_at")} as closed,
    ((attempt_id >> 22) / ${HALF_DAY_MS})::integer + ${ID_HALF_DAY} as admitted,
    ${sumEndsSql}
  from unnest($1::text[], $2::timestamptz[]) as due(provider_id, from_at)
  join (${endsSql("$3::timestamptz", "$4::timestamptz")}) e using (provider_id)
  where ended_at >= from_at
  group by 1, 2, 3, 4, 5, 6 order by provider_id, ended`;

export interface FactRow extends SumColumns {
  readonly provider_id: string;
  readonly model_id: string;
  readonly upstream_model_id: string;
  /** Half-days since 1970. */
  readonly ended: number;
  readonly closed: number;
  readonly admitted: number;
}

export function factOf(row: FactRow): SettlementFact {
  return {
    endedMs: row.ended * HALF_DAY_MS,
    closedMs: row.closed * HALF_DAY_MS,
    admittedMs: row.admitted * HALF_DAY_MS,
    modelId: row.model_id,
    upstreamModelId: row.upstream_model_id,
    sums: sumsOf(row),
  };
}

export interface SumColumns {
  readonly attempts: bigint;
  readonly settled: bigint;
  readonly voids: bigint;
  readonly unknowns: bigint;
  readonly unknown_charge: bigint;
  readonly corrections: bigint;
  readonly resolved_charge: bigint;
  readonly prompt: bigint;
  readonly cached_prompt: bigint;
  readonly cache_write: bigint;
  readonly completion: bigint;
  readonly internal_reasoning: bigint;
  readonly cost_pico: bigint;
  readonly corrected_pico: bigint;
  readonly debit: bigint;
  readonly overrun: bigint;
}

export function sumsOf(row: SumColumns): SettlementSums {
  return {
    attempts: row.attempts,
    settled: row.settled,
    voids: row.voids,
    unknowns: row.unknowns,
    unknownMicroUsd: microUsd(row.unknown_charge),
    corrections: row.corrections,
    resolvedMicroUsd: microUsd(row.resolved_charge),
    prompt: row.prompt,
    cachedPrompt: row.cached_prompt,
    cacheWrite: row.cache_write,
    completion: row.completion,
    internalReasoning: row.internal_reasoning,
    costPicoUsd: picoUsd(row.cost_pico),
    correctedPicoUsd: picoUsd(row.corrected_pico),
    debitMicroUsd: microUsd(row.debit),
    overrunMicroUsd: microUsd(row.overrun),
  };
}

export function columnsOf(sums: SettlementSums): SumColumns {
  return {
    attempts: sums.attempts,
    settled: sums.settled,
    voids: sums.voids,
    unknowns: sums.unknowns,
    unknown_charge: sums.unknownMicroUsd,
    corrections: sums.corrections,
    resolved_charge: sums.resolvedMicroUsd,
    prompt: sums.prompt,
    cached_prompt: sums.cachedPrompt,
    cache_write: sums.cacheWrite,
    completion: sums.completion,
    internal_reasoning: sums.internalReasoning,
    cost_pico: sums.costPicoUsd,
    corrected_pico: sums.correctedPicoUsd,
    debit: sums.debitMicroUsd,
    overrun: sums.overrunMicroUsd,
  };
}

/** The columns with their types, as a recordset is declared, and their names alone. */
export const sumColumnTypes: string = `attempts bigint, settled bigint, voids bigint, unknowns bigint,
  unknown_charge bigint, corrections bigint, resolved_charge bigint, prompt bigint,
  cached_prompt bigint, cache_write bigint, completion bigint, internal_reasoning bigint,
  cost_pico numeric, corrected_pico numeric, debit bigint, overrun bigint`;
export const sumColumnNames: string = sumColumnTypes.replaceAll(/ (bigint|numeric)/g, "");
