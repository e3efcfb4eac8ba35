import {
  bySkuName,
  csvLine,
  exactUsdOrNull,
  formatExactUsd,
  formatUsd,
  instant,
  picoUsd,
  plainCell,
} from "../kernel/index.ts";
import {
  linesByModel,
  type ClaimComparison,
  type ProviderBalance,
  type ProviderPeriod,
  type Reconciliation,
  type SettlementStatement,
  type SettlementSums,
} from "../ledger/index.ts";
import { plainText } from "./plain-text.ts";

type Json = Readonly<Record<string, unknown>>;

export function statementJson({ period, lines, claims }: SettlementStatement): Json {
  return {
    ...periodJson(period),
    lines: linesByModel(lines).map((line) => ({
      model_id: line.modelId,
      upstream_model_id: line.upstreamModelId,
      ...sumsJson(line.sums),
    })),
    provider_statements: claims.map((claim) => ({
      recorded_at: instant(claim.recordedAtMs),
      ...comparisonJson(claim),
    })),
  };
}

export function periodJson(period: ProviderPeriod): Json {
  const { late, payment } = period;
  return {
    provider_id: period.providerId,
    start: instant(period.startMs),
    end: instant(period.endMs),
    mode: period.mode,
    interval: period.interval,
    state: payment === null ? "closed" : "paid",
    closed_at: instant(period.closedAtMs),
    ...sumsJson(period.sums),
    late: { attempts: Number(late.attempts), cost_usd: formatExactUsd(late.costPicoUsd) },
    late_corrections: {
      attempts: Number(late.corrections),
      cost_usd: formatExactUsd(late.correctedPicoUsd),
    },
    carry_in_usd: formatExactUsd(period.carryInPicoUsd),
    carry_out_usd: formatExactUsd(period.carryOutPicoUsd),
    rounding_usd: formatUsd(period.roundingMicroUsd),
    payable_usd: formatUsd(period.payableMicroUsd),
    payment: payment === null ? null : { ref: payment.ref, paid_at: instant(payment.paidAtMs) },
  };
}

function sumsJson(sums: SettlementSums): Json {
  return {
    attempts: Number(sums.attempts),
    settled_attempts: Number(sums.settled),
    void_attempts: Number(sums.voids),
    tokens: bySkuName<bigint, number>(sums, Number),
    cost_usd: formatExactUsd(sums.costPicoUsd),
    cost_pico_usd: sums.costPicoUsd.toString(),
    debit_usd: formatUsd(sums.debitMicroUsd),
    overrun_usd: formatUsd(sums.overrunMicroUsd),
    margin_usd: formatUsd(sums.marginMicroUsd),
    unknown: { attempts: Number(sums.unknowns), charged_usd: formatUsd(sums.unknownMicroUsd) },
    corrections: {
      attempts: Number(sums.corrections),
      cost_usd: formatExactUsd(sums.correctedPicoUsd),
      resolved_usd: formatUsd(sums.resolvedMicroUsd),
    },
    lost: { attempts: Number(sums.lostClaims), cost_usd: formatExactUsd(sums.lostPicoUsd) },
  };
}

export function balanceJson(balance: ProviderBalance): Json {
  return {
    provider_id: balance.providerId,
    accrued_usd: formatUsd(balance.accruedMicroUsd),
    payable_usd: formatUsd(balance.payableMicroUsd),
    deposit_usd: formatUsd(balance.depositMicroUsd),
    unknown_usd: formatUsd(balance.unknownMicroUsd),
    margin_usd: formatUsd(balance.marginMicroUsd),
  };
}

export function reconciliationJson(found: Reconciliation): Json {
  return {
    equal: found.isEqual,
    ...comparisonJson(found),
    their_lines_usd: exactUsdOrNull(found.theirLinesPicoUsd),
    first_differences: found.firstDiffering.map((line) => ({
      kind: line.kind,
      [`${line.of}_id`]: line.id,
      their_usd: exactUsdOrNull(line.theirPicoUsd),
      our_usd: exactUsdOrNull(line.ourPicoUsd),
    })),
  };
}

function comparisonJson({ theirPicoUsd, ourPicoUsd, lines }: ClaimComparison): Json {
  return {
    their_usd: formatExactUsd(theirPicoUsd),
    our_usd: formatExactUsd(ourPicoUsd),
    difference_usd: formatExactUsd(picoUsd(theirPicoUsd - ourPicoUsd)),
    lines: lines && {
      compared: lines.compared,
      differing: lines.differing,
      only_theirs: lines.onlyTheirs,
      only_ours: lines.onlyOurs,
      unknown_claimed: lines.unknownClaimed,
    },
  };
}

/** Of a list, for people and as CSV. */
const PERIOD_COLUMNS: readonly string[] = [
  "provider_id",
  "start",
  "end",
  "mode",
  "interval",
  "state",
  "attempts",
  "cost_usd",
  "debit_usd",
  "overrun_usd",
  "margin_usd",
  "rounding_usd",
  "payable_usd",
];

/** Closed periods and the balances with providers as two tables. */
export function settlementText(json: object): string {
  return plainText(json, [...PERIOD_COLUMNS, ...BALANCE_COLUMNS]);
}

const BALANCE_COLUMNS: readonly string[] = ["accrued_usd", "deposit_usd", "unknown_usd"];

export function periodsCsv(periods: readonly ProviderPeriod[]): string {
  const lines = periods.map((period) => {
    const json = periodJson(period);
    return csvLine(PERIOD_COLUMNS.map((column) => plainCell(String(json[column]))));
  });
  return [csvLine(PERIOD_COLUMNS), ...lines].join("\n");
}
