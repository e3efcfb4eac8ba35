import {
  big,
  bool,
  type Column,
  columns,
  type Columns,
  type ColumnsOf,
  computed,
  count,
  eachSku,
  instantMs,
  integer,
  micro,
  orNull,
  pico,
  type RecordOf,
  SKU_NAMES,
  text,
  word,
} from "../../kernel/index.ts";
import {
  closedColumns,
  heldColumns,
  hourUsageColumns,
  journalColumns,
} from "../attempt-columns.ts";
import { HALF_DAY_MS, type SettlementInterval } from "./settlement-interval.ts";
import type {
  PlannedPeriod,
  SettlementFact,
  SettlementLine,
  SettlementMode,
  SettlementSums,
} from "./settlement-plan.ts";

const ATTEMPT_SQL = `a.attempt_id, a.provider_id, a.model_id, a.upstream_model_id, a.state, a.reserve,
  a.debit, a.overrun, a.cost_pico, a.owed_pico,
  ${hourUsageColumns.sqlOf("a")}, a.closed_at`;
const NOTHING_LOST_SQL = "0::bigint as lost_claims, 0::numeric as lost_pico, 0::bigint as lost";

/**
 * Selects the ends of attempts from `from` to before `until`: closings, and corrections of attempts
 * closed as unknown. The usage and cost of a corrected attempt are in its correction, not in its
 * closing. An attempt that a restore lost and its provider claims ends at `lost_cost.ended_at`.
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
/** Half-days from 1970 to 2025-01-01T00:00Z, the origin of the time in attempt ids. */
const ID_HALF_DAY = 40_178;

function halfDaySql(column: string): string {
  return `floor(extract(epoch from ${column}) / ${HALF_DAY_SECONDS})::integer`;
}

/** $1: providers; $2: the start of each one's unsettled time; $3: the earliest; $4: the end. */
export const FACTS_SQL: string = `
  select provider_id, model_id, upstream_model_id,
    ${halfDaySql("ended_at")} as ended, ${halfDaySql("closed_at")} as closed,
    ((attempt_id >> 22) / ${HALF_DAY_MS})::integer + ${ID_HALF_DAY} as admitted,
    ${SUM_ENDS_SQL}
  from unnest($1::text[], $2::timestamptz[]) as due(provider_id, from_at)
  join (${endsSql("$3::timestamptz", "$4::timestamptz")}) e using (provider_id)
  where ended_at >= from_at
  group by 1, 2, 3, 4, 5, 6 order by provider_id, ended`;

function halfDay(name: string): Column<number> {
  const { cells, read } = integer(name);
  return { cells, read: (row) => read(row) * HALF_DAY_MS };
}

/** The sums that are columns of `SUM_ENDS_SQL`, `provider_period` and `provider_period_line`. */
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

const amounts: ColumnsOf<
  Pick<
    PlannedPeriod,
    "sums" | "late" | "carryInPicoUsd" | "carryOutPicoUsd" | "roundingMicroUsd" | "payableMicroUsd"
  >
> = {
  sums: sumColumns,
  late: columns({
    attempts: big("late_attempts"),
    costPicoUsd: pico("late_pico"),
    corrections: big("late_corrections"),
    correctedPicoUsd: pico("late_corrected_pico"),
  }),
  carryInPicoUsd: pico("carry_in_pico"),
  carryOutPicoUsd: pico("carry_out_pico"),
  roundingMicroUsd: micro("rounding"),
  payableMicroUsd: micro("payable"),
};
export const amountColumns = columns(amounts);

export const periodColumns = columns({
  providerId: text<string>("provider_id"),
  startMs: instantMs("start_at"),
  endMs: instantMs("end_at"),
  mode: word<SettlementMode>("mode"),
  interval: word<SettlementInterval>("every"),
  ...amounts,
  closedAtMs: instantMs("closed_at"),
  /** Null until the period is paid. */
  payment: orNull(columns({ ref: text<string>("ref"), paidAtMs: instantMs("paid_at") })),
});
/** A closed period. Its figures never change again. */
export type ProviderPeriod = RecordOf<typeof periodColumns>;

export const PERIODS_SQL: string = `
  select p.*, y.ref, y.paid_at
  from provider_period p left join provider_payment y using (provider_id, start_at)
  where ($1::text is null or p.provider_id = $1)
    and ($2::timestamptz is null or p.start_at = $2)
  order by p.start_at desc, p.provider_id limit $3`;

export const lineColumns: Columns<SettlementLine> = columns({
  admittedDayMs: computed("extract(epoch from admitted_on)::bigint * 1000", count("admitted_ms")),
  modelId: text("model_id"),
  upstreamModelId: text("upstream_model_id"),
  sums: sumColumns,
});

export const LINES_SQL: string = `
  select ${lineColumns.sql} from provider_period_line where provider_id = $1 and start_at = $2
  order by admitted_on, model_id, upstream_model_id`;

const comparison = {
  theirPicoUsd: pico("their_pico"),
  ourPicoUsd: pico("our_pico"),
  /** Null if the provider's statement has no lines. */
  lines: orNull(
    columns({
      compared: integer<number>("compared"),
      differing: integer<number>("differing"),
      /** Lines that the provider bills for attempts or requests that we do not know. */
      onlyTheirs: integer<number>("only_theirs"),
      /** Attempts that we owe for and the provider does not bill. */
      onlyOurs: integer<number>("only_ours"),
      /** Lines that the provider bills for attempts whose end we did not observe. */
      unknownClaimed: integer<number>("unknown_claimed"),
    }),
  ),
} as const;
export const comparisonColumns = columns(comparison);
export type ClaimComparison = RecordOf<typeof comparisonColumns>;
export const claimColumns = columns({ ...comparison, recordedAtMs: instantMs("recorded_at") });

export const CLAIMS_SQL: string = `
  select ${claimColumns.sql} from provider_statement where provider_id = $1 and start_at = $2
  order by statement_id`;

export const entryColumns = columns({
  attemptId: heldColumns.attemptId,
  requestId: heldColumns.requestId,
  modelId: heldColumns.modelId,
  upstreamModelId: heldColumns.upstreamModelId,
  admittedAtMs: journalColumns.createdAtMs,
  closedAtMs: journalColumns.closedAtMs,
  /** `lost`: the books lost the attempt in a restore, and its provider claims it. */
  state: word<"settled" | "void" | "unknown_after_crash" | "lost">("state"),
  basis: orNull(closedColumns.basis),
  usage: closedColumns.usage,
  /** The debt to the provider; null if unknown. */
  costPicoUsd: orNull(closedColumns.costPicoUsd),
  debitMicroUsd: journalColumns.debitMicroUsd,
  overrunMicroUsd: journalColumns.overrunMicroUsd,
  /** Debit plus overrun minus the debt to the provider; negative if the debt is larger. */
  marginMicroUsd: micro("margin"),
  /** True if the attempt was admitted before the period, or closed before and corrected in it. */
  isLate: bool<boolean>("is_late"),
  /** True if the attempt's end was observed after it had been charged as unknown. */
  isCorrected: bool<boolean>("is_corrected"),
});
/** An attempt as it was at the end of its period, without corrections of later periods. */
export type SettlementEntry = RecordOf<typeof entryColumns>;

/**
 * $1: provider; $2: start; $3: end. An attempt that a restore lost has an id, models, a time, a
 * cost and, if the provider named it, a request, but no usage. A correction after the end of the
 * period is not shown: in this period the attempt's end is unknown.
 */
export const ENTRIES_SQL: string = `
  with e as (
    select a.*, corrected_at is not null and corrected_at < $3 as is_corrected,
      state <> 'unknown_after_crash' or coalesce(corrected_at < $3, false) as is_observed
    from attempt a where provider_id = $1 and (
      (closed_at at time zone 'utc') >= ($2::timestamptz at time zone 'utc')
        and (closed_at at time zone 'utc') < ($3::timestamptz at time zone 'utc')
      or corrected_at >= $2 and corrected_at < $3)
  )
  select attempt_id, request_id, model_id, upstream_model_id, created_at, closed_at, state,
    case when is_observed then basis else 'unknown_after_crash' end as basis,
    ${Object.values(SKU_NAMES)
      .map((name) => `case when is_observed then ${name} end as ${name}`)
      .join(", ")},
    case when state = 'void' then 0 when is_observed then coalesce(owed_pico, cost_pico) end
      as cost_pico,
    case when is_observed then debit else reserve end as debit,
    case when is_observed then overrun else 0 end as overrun,
    case when is_observed then margin_of(cost_pico, owed_pico) else 0 end as margin,
    attempt_id < attempt_id_at($2) or closed_at < $2 as is_late, is_corrected
  from e
  union all
  select attempt_id, coalesce(substring(ref from ':request:(.*)$'),
      '00000000-0000-7000-8000-000000000000')::uuid, model_id, upstream_model_id, ended_at,
    ended_at, 'lost', null, null, null, null, null, null, null, cost_pico, 0, 0, 0,
    attempt_id < attempt_id_at($2), false
  from lost_cost where provider_id = $1 and ended_at >= $2 and ended_at < $3
  order by attempt_id`;

export const balanceColumns = columns({
  providerId: text<string>("provider_id"),
  /** The debt for attempts that are not yet in a closed period. */
  accruedMicroUsd: micro("accrued"),
  /** The unpaid debt for closed periods of the mode `arrears`. */
  payableMicroUsd: micro("payable"),
  /** The unused part of the deposits; negative if periods have drawn more than was paid in. */
  depositMicroUsd: micro("deposit"),
  /** Charges to customers for attempts with an unknown end; the provider's claim is not known. */
  unknownMicroUsd: micro("unknown"),
  /** The platform's share of what customers paid; negative if the provider costs more. */
  marginMicroUsd: micro("margin"),
});
export type ProviderBalance = RecordOf<typeof balanceColumns>;

/** $1: a provider, or null for all. A deposit is our asset, so payments into it are its debits. */
export const BALANCES_SQL: string = `
  select split_part(account_id, ':', 2) as provider_id,
    coalesce(sum(credits - debits) filter (where account_id like 'accrual:%'), 0)::bigint
      as accrued,
    coalesce(sum(credits - debits) filter (where account_id like 'payable:%'), 0)::bigint
      as payable,
    coalesce(sum(debits - credits) filter (where account_id like 'deposit:%'), 0)::bigint
      as deposit,
    coalesce(sum(credits - debits) filter (where account_id like 'unknown:%'), 0)::bigint
      as unknown,
    coalesce(sum(credits - debits) filter (where account_id like 'margin:%'), 0)::bigint as margin
  from account
  where split_part(account_id, ':', 1) in ('accrual', 'payable', 'deposit', 'unknown', 'margin')
    and ($1::text is null or split_part(account_id, ':', 2) = $1)
  group by 1 order by 1`;
