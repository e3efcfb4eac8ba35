import {
  csvLine,
  exactUsdOrNull,
  formatUsd,
  HOUR_SKU,
  HOUR_SKU_NAME,
  instant,
  plainCell,
  TOKEN_BUCKET_NAMES,
  TOKEN_BUCKETS,
} from "../../kernel/index.ts";
import type { ProviderPeriod, SettlementEntry } from "./settlement-rows.ts";
import { SettlementFault } from "./settlement-store.ts";

/** Yields a period's entries. Rejects at the end with `SettlementFault` if some are missing. */
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

type Field = readonly [name: string, show: (entry: SettlementEntry) => string | null];

const FIELDS: readonly Field[] = [
  ["attempt_id", ({ attemptId }) => attemptId.toString()],
  ["request_id", ({ requestId }) => requestId],
  ["admitted_at", ({ admittedAtMs }) => instant(admittedAtMs)],
  ["closed_at", ({ closedAtMs }) => instant(closedAtMs)],
  ["model_id", ({ modelId }) => plainCell(modelId)],
  ["upstream_model_id", ({ upstreamModelId }) => plainCell(upstreamModelId)],
  ["state", ({ state }) => state],
  ["basis", ({ basis }) => basis],
  ...TOKEN_BUCKET_NAMES.map((bucket): Field => [
    TOKEN_BUCKETS[bucket],
    ({ usage }) => usage?.[bucket].toString() ?? null,
  ]),
  ["cost_pico_usd", ({ costPicoUsd }) => costPicoUsd?.toString() ?? null],
  ["cost_usd", ({ costPicoUsd }) => exactUsdOrNull(costPicoUsd)],
  ["debit_usd", ({ debitMicroUsd }) => formatUsd(debitMicroUsd)],
  ["overrun_usd", ({ overrunMicroUsd }) => formatUsd(overrunMicroUsd)],
  ["late", ({ isLate }) => (isLate ? "yes" : "no")],
  ["corrected", ({ isCorrected }) => (isCorrected ? "yes" : "no")],
  [HOUR_SKU_NAME, ({ usage }) => usage?.[HOUR_SKU]?.toString() ?? null],
  ["margin_usd", ({ marginMicroUsd }) => formatUsd(marginMicroUsd)],
];

export const ENTRY_COLUMNS: string = csvLine(FIELDS.map(([name]) => name));

/**
 * Writes an attempt as a CSV line. An unknown cost is an empty field. Model ids are written so that
 * no spreadsheet runs them as formulas.
 */
export function entryLine(entry: SettlementEntry): string {
  return csvLine(FIELDS.map(([, show]) => show(entry)));
}
