import type { RequestId } from "../../core/ids.ts";
import { microUsd, picoUsd } from "../../core/money.ts";
import type { SettlementBasis } from "../ledger-store.ts";
import type { SettlementInterval } from "./settlement-interval.ts";
import type { SettlementLine, SettlementMode } from "./settlement-plan.ts";
import type {
  ProviderBalance,
  ProviderPeriod,
  RecordedClaim,
  SettlementEntry,
} from "./settlement-store.ts";
import { usageOf, type UsageColumns } from "../attempt-columns.ts";
import { sumsOf, type SumColumns } from "./settlement-ends.ts";

export interface PeriodRow extends SumColumns {
  readonly provider_id: string;
  readonly start_at: Date;
  readonly end_at: Date;
  readonly mode: SettlementMode;
  readonly every: SettlementInterval;
  readonly late_attempts: bigint;
  readonly late_pico: bigint;
  readonly late_corrections: bigint;
  readonly late_corrected_pico: bigint;
  readonly carry_in_pico: bigint;
  readonly carry_out_pico: bigint;
  readonly rounding: bigint;
  readonly payable: bigint;
  readonly closed_at: Date;
  readonly ref: string | null;
  readonly paid_at: Date | null;
}

export function periodOf(row: PeriodRow): ProviderPeriod {
  const { ref, paid_at } = row;
  return {
    providerId: row.provider_id,
    startMs: row.start_at.getTime(),
    endMs: row.end_at.getTime(),
    mode: row.mode,
    interval: row.every,
    sums: sumsOf(row),
    late: {
      attempts: row.late_attempts,
      costPicoUsd: picoUsd(row.late_pico),
      corrections: row.late_corrections,
      correctedPicoUsd: picoUsd(row.late_corrected_pico),
    },
    carryInPicoUsd: picoUsd(row.carry_in_pico),
    carryOutPicoUsd: picoUsd(row.carry_out_pico),
    roundingMicroUsd: microUsd(row.rounding),
    payableMicroUsd: microUsd(row.payable),
    closedAtMs: row.closed_at.getTime(),
    payment: ref === null || paid_at === null ? null : { ref, paidAtMs: paid_at.getTime() },
  };
}

/** $1 provider or null, $2 start or null, $3 how many. */
export const periodsSql: string = `
  select p.*, y.ref, y.paid_at
  from provider_period p left join provider_payment y using (provider_id, start_at)
  where ($1::text is null or p.provider_id = $1)
    and ($2::timestamptz is null or p.start_at = $2)
  order by p.start_at desc, p.provider_id limit $3`;

export interface LineRow extends SumColumns {
  readonly admitted_ms: bigint;
  readonly model_id: string;
  readonly upstream_model_id: string;
}

export const linesSql: string = `
  select *, extract(epoch from admitted_on)::bigint * 1000 as admitted_ms
  from provider_period_line where provider_id = $1 and start_at = $2
  order by admitted_on, model_id, upstream_model_id`;

export function lineOf(row: LineRow): SettlementLine {
  return {
    admittedDayMs: Number(row.admitted_ms),
    modelId: row.model_id,
    upstreamModelId: row.upstream_model_id,
    sums: sumsOf(row),
  };
}

export interface ClaimRow {
  readonly their_pico: bigint;
  readonly our_pico: bigint;
  readonly compared: number | null;
  readonly differing: number | null;
  readonly only_theirs: number | null;
  readonly only_ours: number | null;
  readonly unknown_claimed: number | null;
  readonly recorded_at: Date;
}

export const claimsSql: string = `
  select * from provider_statement where provider_id = $1 and start_at = $2
  order by statement_id`;

export function claimOf(row: ClaimRow): RecordedClaim {
  return {
    theirPicoUsd: picoUsd(row.their_pico),
    ourPicoUsd: picoUsd(row.our_pico),
    recordedAtMs: row.recorded_at.getTime(),
    lines:
      row.compared === null
        ? null
        : {
            compared: row.compared,
            differing: row.differing ?? 0,
            onlyTheirs: row.only_theirs ?? 0,
            onlyOurs: row.only_ours ?? 0,
            unknownClaimed: row.unknown_claimed ?? 0,
          },
  };
}

export interface EntryRow extends UsageColumns {
  readonly attempt_id: bigint;
  readonly request_id: RequestId;
  readonly model_id: string;
  readonly upstream_model_id: string;
  readonly created_at: Date;
  readonly closed_at: Date;
  readonly state: SettlementEntry["state"];
  readonly basis: SettlementBasis | null;
  readonly cost_pico: bigint | null;
  readonly debit: bigint;
  readonly overrun: bigint;
  readonly is_late: boolean;
  readonly is_corrected: boolean;
}

/**
 * $1 provider, $2 start, $3 end. A correction after the end is not shown: as far as the period
 * knows, the attempt's end was never observed.
 */
export const entriesSql: string = `
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
    case when is_observed then prompt end as prompt,
    case when is_observed then cached_prompt end as cached_prompt,
    case when is_observed then cache_write end as cache_write,
    case when is_observed then completion end as completion,
    case when is_observed then internal_reasoning end as internal_reasoning,
    case when state = 'void' then 0 when is_observed then cost_pico end as cost_pico,
    case when is_observed then debit else reserve end as debit,
    case when is_observed then overrun else 0 end as overrun,
    attempt_id < attempt_id_at($2) or closed_at < $2 as is_late, is_corrected
  from e order by attempt_id`;

export function entryOf(row: EntryRow): SettlementEntry {
  return {
    attemptId: row.attempt_id,
    requestId: row.request_id,
    modelId: row.model_id,
    upstreamModelId: row.upstream_model_id,
    admittedAtMs: row.created_at.getTime(),
    closedAtMs: row.closed_at.getTime(),
    state: row.state,
    basis: row.basis,
    usage: usageOf(row),
    costPicoUsd: row.cost_pico === null ? null : picoUsd(row.cost_pico),
    debitMicroUsd: microUsd(row.debit),
    overrunMicroUsd: microUsd(row.overrun),
    isLate: row.is_late,
    isCorrected: row.is_corrected,
  };
}

export interface BalanceRow {
  readonly provider_id: string;
  readonly accrued: bigint;
  readonly payable: bigint;
  readonly deposit: bigint;
  readonly unknown: bigint;
}

/** $1 provider or null. A deposit is ours: what was paid in is its debit. */
export const balancesSql: string = `
  select split_part(account_id, ':', 2) as provider_id,
    coalesce(sum(credits - debits) filter (where account_id like 'accrual:%'), 0)::bigint
      as accrued,
    coalesce(sum(credits - debits) filter (where account_id like 'payable:%'), 0)::bigint
      as payable,
    coalesce(sum(debits - credits) filter (where account_id like 'deposit:%'), 0)::bigint
      as deposit,
    coalesce(sum(credits - debits) filter (where account_id like 'unknown:%'), 0)::bigint
      as unknown
  from account
  where split_part(account_id, ':', 1) in ('accrual', 'payable', 'deposit', 'unknown')
    and ($1::text is null or split_part(account_id, ':', 2) = $1)
  group by 1 order by 1`;

export function balanceOf(row: BalanceRow): ProviderBalance {
  return {
    providerId: row.provider_id,
    accruedMicroUsd: microUsd(row.accrued),
    payableMicroUsd: microUsd(row.payable),
    depositMicroUsd: microUsd(row.deposit),
    unknownMicroUsd: microUsd(row.unknown),
  };
}
