import {
  bySkuName,
  csvLine,
  exactUsdOrNull,
  formatExactUsd,
  formatUsd,
  instant,
  picoUsd,
  type PicoUsd,
  plainCell,
} from "../core/index.ts";
import {
  linesByModel,
  type ClaimComparison,
  type DifferingLine,
  type ProviderBalance,
  type ProviderPeriod,
  type Reconciliation,
  type SettlementStatement,
  type SettlementSums,
} from "../ledger/index.ts";

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

export function balanceText(balance: ProviderBalance): string {
  const parts = [
    `accrued $${formatUsd(balance.accruedMicroUsd)}`,
    `payable $${formatUsd(balance.payableMicroUsd)}`,
    `deposit $${formatUsd(balance.depositMicroUsd)}`,
    `unknown $${formatUsd(balance.unknownMicroUsd)}`,
    ...(balance.marginMicroUsd === 0n ? [] : [`margin $${formatUsd(balance.marginMicroUsd)}`]),
  ];
  return `${balance.providerId}: ${parts.join(", ")}`;
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

/** One line of a list of periods. */
export function periodText(period: ProviderPeriod): string {
  const { sums, payment } = period;
  const parts = [
    `${period.providerId}  ${instant(period.startMs)}  ${period.mode} ${period.interval}`,
    `${sums.attempts} attempts, $${formatUsd(period.payableMicroUsd)}`,
    payment === null ? "closed" : `paid with ${payment.ref}`,
  ];
  return parts.join("  ");
}

export function statementText({ period, lines, claims }: SettlementStatement): string {
  const { sums, late } = period;
  const rows: readonly (readonly [string, string])[] = [
    ["period", `${instant(period.startMs)} until before ${instant(period.endMs)}`],
    [
      "attempts",
      `${sums.attempts}: ${sums.settled} settled, ${sums.voids} void, ${sums.unknowns} unknown`,
    ],
    ["late", `${late.attempts} admitted earlier, $${formatExactUsd(late.costPicoUsd)}`],
    ["corrections", `${sums.corrections}, $${formatExactUsd(sums.correctedPicoUsd)}`],
    [
      "unknown",
      `$${formatUsd(sums.unknownMicroUsd)} charged, $${formatUsd(sums.resolvedMicroUsd)} resolved`,
    ],
    ["exact cost", `$${formatExactUsd(sums.costPicoUsd)}`],
    ["carried in", `$${formatExactUsd(period.carryInPicoUsd)}`],
    ["debits", `$${formatUsd(sums.debitMicroUsd)}`],
    ["overrun", `$${formatUsd(sums.overrunMicroUsd)}`],
    ["lost", `${sums.lostClaims} in restores, $${formatExactUsd(sums.lostPicoUsd)}`],
    ["margin", `$${formatUsd(sums.marginMicroUsd)}`],
    ["rounding", `$${formatUsd(period.roundingMicroUsd)}`],
    ["payable", `$${formatUsd(period.payableMicroUsd)}`],
    ["carried out", `$${formatExactUsd(period.carryOutPicoUsd)}`],
  ];
  return [
    periodText(period),
    ...rows.map(([name, value]) => `  ${name.padEnd(12)}${value}`),
    ...linesByModel(lines).map(
      (line) =>
        `  ${line.modelId} (${line.upstreamModelId}): ${line.sums.attempts} attempts, $${formatExactUsd(line.sums.costPicoUsd)}`,
    ),
    ...claims.map(
      (claim) =>
        `  the provider said $${formatExactUsd(claim.theirPicoUsd)} on ${instant(claim.recordedAtMs)}`,
    ),
  ].join("\n");
}

export function reconciliationText(found: Reconciliation): string {
  const { lines, firstDiffering } = found;
  const sums = `theirs $${formatExactUsd(found.theirPicoUsd)}, ours $${formatExactUsd(found.ourPicoUsd)}`;
  const counts =
    lines === null
      ? []
      : [
          `${lines.compared} lines compared: ${lines.differing} differ, ${lines.onlyTheirs} only theirs, ${lines.onlyOurs} only ours, ${lines.unknownClaimed} of unknown end`,
        ];
  const torn =
    found.theirLinesPicoUsd === null
      ? []
      : [`their lines add up to $${formatExactUsd(found.theirLinesPicoUsd)}, not to their total`];
  const verdict = found.isEqual ? "equal" : "different";
  return [`${verdict}: ${sums}`, ...torn, ...counts, ...firstDiffering.map(differingText)].join(
    "\n",
  );
}

function differingText(line: DifferingLine): string {
  const said = (amount: PicoUsd | null): string =>
    amount === null ? "nothing" : `$${formatExactUsd(amount)}`;
  const { kind, of, id } = line;
  return `  ${of} ${id}: ${kind.replaceAll("_", " ")}, theirs ${said(line.theirPicoUsd)}, ours ${said(line.ourPicoUsd)}`;
}

const PERIOD_COLUMNS = [
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

export function periodsCsv(periods: readonly ProviderPeriod[]): string {
  const lines = periods.map((period) => {
    const json = periodJson(period);
    return csvLine(PERIOD_COLUMNS.map((column) => plainCell(String(json[column]))));
  });
  return [csvLine(PERIOD_COLUMNS), ...lines].join("\n");
}
