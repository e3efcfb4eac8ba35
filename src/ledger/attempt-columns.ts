import {
  big,
  bool,
  byBucket,
  type BySku,
  type Column,
  columns,
  type Columns,
  type ColumnsOf,
  count,
  durationMs,
  HOUR_SKU,
  HOUR_SKU_NAME,
  instantMs,
  integer,
  micro,
  type MicroUsd,
  orAbsent,
  orNull,
  pico,
  type PicoUsd,
  type RecordOf,
  type ServedModel,
  SKU_NAMES,
  text,
  TOKEN_BUCKETS,
  type TokenBucket,
  type Usage,
  word,
} from "../kernel/index.ts";
import type { AnsweredHeaders, CloseRow, ReserveRow } from "./ledger-store.ts";

/** Reads the wall-clock milliseconds in a request id: a UUID of version 7 begins with them. */
export function readCreatedAt(requestId: string): number {
  return Number.parseInt(requestId.slice(0, 8) + requestId.slice(9, 13), 16);
}

/** Returns the lowest request id of an instant, as a bound of queries: ids sort by their time. */
export function requestIdFrom(atMs: number): string {
  const hex = Math.max(0, Math.trunc(atMs)).toString(16).padStart(12, "0").slice(-12);
  return `${hex.slice(0, 8)}-${hex.slice(8)}-0000-0000-000000000000`;
}

/** `join_attempts` looks for other attempts of a request in two days of ids around a known one. */
export const TWO_DAYS_OF_IDS: bigint = 172_800_000n << 22n;

/**
 * The columns that a hold writes, in the order of the parameters of `ledger_batch` and
 * `annul_attempt`.
 */
export const heldColumns: ColumnsOf<Omit<ReserveRow, "lane">> = {
  attemptId: big("attempt_id"),
  requestId: word("request_id", "uuid"),
  ordinal: integer("ordinal", "smallint"),
  orgId: word("org_id"),
  keyId: word("key_id"),
  modelId: text("model_id"),
  providerId: text("provider_id"),
  upstreamModelId: text("upstream_model_id"),
  pricePinId: word("price_pin_id"),
  route: word("route"),
  stream: bool("stream"),
  estimatedTokens: count("estimated_tokens"),
  reserveMicroUsd: micro("reserve"),
};

function skuColumns<T>(columnOf: (name: string) => Column<T>): Columns<BySku<T>> {
  return columns<BySku<T>>({
    ...byBucket((bucket) => columnOf(TOKEN_BUCKETS[bucket])),
    [HOUR_SKU]: orAbsent(columnOf(HOUR_SKU_NAME)),
  });
}

/** The five token counts that reports add up; cache writes include those for an hour. */
export const usageColumns: Columns<Readonly<Record<TokenBucket, number>>> = columns(
  byBucket((bucket) => count(TOKEN_BUCKETS[bucket])),
);
/** `usageColumns`, and the count of one-hour cache writes, which is null if there are none. */
export const hourUsageColumns: Columns<Usage> = skuColumns(count);
export const SUMMED_USAGE_SQL: string = Object.values(SKU_NAMES)
  .map((name) => {
    const sum = name === HOUR_SKU_NAME ? `nullif(sum(${name}), 0)` : `coalesce(sum(${name}), 0)`;
    return `${sum}::bigint as ${name}`;
  })
  .join(", ");

/** The prices of a pin, in pico-dollars per token. */
export const priceColumns: Columns<BySku<PicoUsd>> = skuColumns((name) => pico(`${name}_pico`));

export const servedColumns: Columns<ServedModel> = columns({
  name: text("served_model"),
  isSubstituted: bool("substituted"),
});

const answeredColumns: ColumnsOf<AnsweredHeaders> = {
  remainingRequests: orAbsent(count("remaining_rpm")),
  remainingTokens: orAbsent(count("remaining_tpm")),
  queueMs: orAbsent(durationMs("queue_ms")),
  retryAfterSeconds: orAbsent(integer("retry_after")),
  droppedParams: orAbsent(text("dropped_params")),
};

/** The columns that a closing by `finish_job` writes, in the order of its parameters. */
const jobClosedColumns: ColumnsOf<Omit<CloseRow, "lane" | keyof AnsweredHeaders>> = {
  attemptId: heldColumns.attemptId,
  outcome: word("outcome"),
  basis: word("basis"),
  usage: orNull(hourUsageColumns),
  costPicoUsd: pico("cost_pico"),
  owedPicoUsd: orAbsent(pico("owed_pico")),
  upstreamStatus: orNull(integer("upstream_status", "smallint")),
  errorClass: orNull(word("error_class")),
  startedAtMs: instantMs("started_at"),
  firstByteMs: orNull(durationMs("first_byte_ms")),
  durationMs: durationMs("duration_ms"),
  final: bool("final"),
  served: orAbsent(servedColumns),
};

/**
 * The columns that a closing writes, in the order of the parameters of `ledger_batch` and
 * `close_batch`.
 */
export const closedColumns: ColumnsOf<Omit<CloseRow, "lane">> = {
  ...jobClosedColumns,
  ...answeredColumns,
};

/** The columns that only SQL functions write; the gateway only reads them. */
export const journalColumns: ColumnsOf<{
  readonly debitMicroUsd: MicroUsd;
  readonly overrunMicroUsd: MicroUsd;
  readonly providerJobId: string;
  readonly createdAtMs: number;
  readonly closedAtMs: number;
}> = {
  debitMicroUsd: micro("debit"),
  overrunMicroUsd: micro("overrun"),
  providerJobId: text("provider_job_id"),
  createdAtMs: instantMs("created_at"),
  closedAtMs: instantMs("closed_at"),
};

export const answerColumns: Columns<AnsweredHeaders> = columns(answeredColumns);

export const holdColumns: Columns<ReserveRow> = columns(heldColumns);

export const closeColumns: Columns<CloseRow> = columns(closedColumns);

/** For `finish_job`. Has no header columns: the client got its headers before the job ended. */
export const jobCloseColumns: Columns<CloseRow> = columns(jobClosedColumns);

export const adoptedColumns = columns({
  attemptId: heldColumns.attemptId,
  requestId: heldColumns.requestId,
  orgId: heldColumns.orgId,
  keyId: heldColumns.keyId,
  modelId: heldColumns.modelId,
  providerId: heldColumns.providerId,
  upstreamModelId: heldColumns.upstreamModelId,
  providerJobId: journalColumns.providerJobId,
  reserveMicroUsd: heldColumns.reserveMicroUsd,
});

export type AdoptedAttempt = RecordOf<typeof adoptedColumns>;
