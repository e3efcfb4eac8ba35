import {
  csvLine,
  exactUsdOrNull,
  formatUsd,
  HOUR_SKU,
  HOUR_SKU_NAME,
  plainCell,
  TOKEN_BUCKET_NAMES,
  TOKEN_BUCKETS,
} from "../../kernel/index.ts";
import { SettlementFault, type ProviderPeriod, type SettlementEntry } from "./settlement-store.ts";

/**
 * Yields the entries of a period and checks at the end that they were complete. Rejects with
 * `SettlementFault` if the journal no longer has all of them.
 */
export async function* wholePeriod(
  period: ProviderPeriod,
  entries: AsyncIterable<readonly SettlementEntry[]>,
): AsyncGenerator<readonly SettlementEntry[]> {
  let count = 0n;
  let cost = 0n;
  for await (const block of entries) {
    for (const { state, costPicoUsd } of block) {
      if (state !== "lost") count += 1n;
      cost += costPicoUsd ?? 0n;
    }
    yield block;
  }
  const due = period.sums.attempts + period.late.corrections;
  if (count === due && cost === period.sums.costPicoUsd) return;
  throw new SettlementFault(
    "not_whole",
    `the journal has ${count} of the ${due} attempts of this period; the others are in the files they were retired to`,
  );
}

export const ENTRY_COLUMNS: string = csvLine([
  "attempt_id",
  "request_id",
  "admitted_at",
  "closed_at",
  "model_id",
  "upstream_model_id",
  "state",
  "basis",
  ...Object.values(TOKEN_BUCKETS),
  "cost_pico_usd",
  "cost_usd",
  "debit_usd",
  "overrun_usd",
  "late",
  "corrected",
  HOUR_SKU_NAME,
  "margin_usd",
]);

/**
 * Writes an attempt as a CSV line. An unknown cost is an empty field. Names are written so that no
 * spreadsheet runs them as formulas.
 */
export function entryLine(entry: SettlementEntry): string {
  const { usage, costPicoUsd } = entry;
  return csvLine([
    entry.attemptId.toString(),
    entry.requestId,
    new Date(entry.admittedAtMs).toISOString(),
    new Date(entry.closedAtMs).toISOString(),
    plainCell(entry.modelId),
    plainCell(entry.upstreamModelId),
    entry.state,
    entry.basis,
    ...TOKEN_BUCKET_NAMES.map((bucket) => usage?.[bucket].toString() ?? null),
    costPicoUsd?.toString() ?? null,
    exactUsdOrNull(costPicoUsd),
    formatUsd(entry.debitMicroUsd),
    formatUsd(entry.overrunMicroUsd),
    entry.isLate ? "yes" : "no",
    entry.isCorrected ? "yes" : "no",
    usage?.[HOUR_SKU]?.toString() ?? null,
    formatUsd(entry.marginMicroUsd),
  ]);
}
