import {
  type BySku,
  columns,
  type Columns,
  computed,
  count,
  instantMs,
  type MicroUsd,
  opaque,
  type OrgId,
  orNull,
  type PicoUsd,
  type RequestId,
  type ServedModel,
  type Usage,
  word,
} from "../../kernel/index.ts";
import {
  answerColumns,
  type AnsweredHeaders,
  type AttemptOutcome,
  closedColumns,
  heldColumns,
  journalColumns,
  priceColumns,
  type RefusalReason,
  servedColumns,
  type SettlementBasis,
} from "../../ledger/index.ts";

export interface AttemptRecord {
  readonly ordinal: number;
  readonly providerId: string;
  readonly upstreamModelId: string;
  readonly startedAtMs: number;
  readonly firstByteMs: number | null;
  readonly durationMs: number | null;
  readonly outcome: AttemptOutcome | "in_flight" | "unknown_after_crash";
  readonly upstreamStatus: number | null;
  readonly errorClass: string | null;
  /** The model that the provider reported; null if it reported none. */
  readonly served: ServedModel | null;
  /** The headers of the answer, if this was the last attempt. */
  readonly answered: AnsweredHeaders;
  readonly usage: Usage | null;
  readonly reserveMicroUsd: MicroUsd;
  readonly debitMicroUsd: MicroUsd;
  readonly basis: SettlementBasis | null;
  readonly sheet: SettledSheet;
}

/**
 * The price sheet that settles an attempt: the one in force at its admission, for the size of its
 * prompt.
 */
export interface SettledSheet {
  readonly pinId: string;
  /**
   * The sheet applies to prompts above this number of tokens (prompt, cached and written together);
   * 0 for the sheet of all other prompts.
   */
  readonly abovePromptTokens: number;
}

/** Prices in pico-dollars per token. */
export type PinnedPrices = BySku<PicoUsd>;

/** An attempt with the prices of its sheet; `prices` is null if they are not stored. */
export interface PricedAttempt extends AttemptRecord {
  readonly prices: PinnedPrices | null;
}

export interface RequestRecord {
  readonly requestId: RequestId;
  readonly keyId: string;
  readonly modelId: string | null;
  readonly route: string;
  readonly stream: boolean;
  readonly createdAtMs: number;
  readonly outcome: AttemptRecord["outcome"];
  readonly attempts: readonly PricedAttempt[];
  readonly refused?: Refused;
}

export interface Refused {
  readonly errorClass: string;
  /** Null if no reason was stored, as for a client that had left. */
  readonly reason: RefusalReason | null;
}

export interface UsageQuery {
  readonly orgId: OrgId;
  readonly fromMs?: number;
  readonly toMs?: number;
  readonly limit: number;
  readonly cursor?: string;
}

export interface UsageRow {
  readonly requestId: RequestId;
  readonly createdAtMs: number;
  readonly keyId: string;
  readonly modelId: string;
  readonly providerId: string;
  readonly route: string;
  readonly usage: Usage | null;
  readonly debitMicroUsd: MicroUsd;
  readonly basis: SettlementBasis | null;
}

export interface UsageGroup {
  /** The day (YYYY-MM-DD), model id, key id or provider id. */
  readonly group: string;
  readonly requests: number;
  readonly usage: Usage;
  readonly debitMicroUsd: MicroUsd;
}

/* Without usage, the sheet for the shortest prompts applies. */
const SHEET_SQL = `from price_sheet s where s.pin_id = price_pin_id and
  (s.above_prompt_tokens = 0 or s.above_prompt_tokens < prompt + cached_prompt + cache_write)
  order by s.above_prompt_tokens desc limit 1`;

export const attemptColumns: Columns<AttemptRecord> = columns({
  ordinal: heldColumns.ordinal,
  providerId: heldColumns.providerId,
  upstreamModelId: heldColumns.upstreamModelId,
  startedAtMs: computed("coalesce(started_at, created_at)", instantMs("started_at")),
  firstByteMs: closedColumns.firstByteMs,
  durationMs: orNull(closedColumns.durationMs),
  outcome: computed(
    "case when state = 'open' then 'in_flight' else coalesce(outcome, 'failed') end",
    word("outcome"),
  ),
  upstreamStatus: closedColumns.upstreamStatus,
  errorClass: closedColumns.errorClass,
  served: orNull(servedColumns),
  answered: answerColumns,
  usage: closedColumns.usage,
  reserveMicroUsd: heldColumns.reserveMicroUsd,
  debitMicroUsd: journalColumns.debitMicroUsd,
  basis: orNull(closedColumns.basis),
  sheet: columns<SettledSheet>({
    pinId: computed(
      `coalesce((select s.sheet_pin_id ${SHEET_SQL}), price_pin_id)`,
      word("price_sheet_id"),
    ),
    abovePromptTokens: computed(
      `coalesce((select s.above_prompt_tokens ${SHEET_SQL}), 0)`,
      count("price_sheet_above"),
    ),
  }),
});

export const requestColumns: Columns<
  Pick<RequestRecord, "keyId" | "modelId" | "route" | "stream">
> = columns({
  keyId: heldColumns.keyId,
  modelId: orNull(heldColumns.modelId),
  route: heldColumns.route,
  stream: heldColumns.stream,
});

export const refusedColumns: Columns<Refused> = columns({
  errorClass: word("error_class"),
  reason: opaque("reason"),
});

export const REFUSED_SQL = `
  select ${requestColumns.sql}, ${refusedColumns.sql}, created_at from refused_request
  where org_id = $1 and request_id = $2::uuid`;

export const PRICED_ATTEMPTS_SQL = `
  select a.*, ${priceColumns.sqlOf("p")}
  from (
    select ${requestColumns.sql}, ${attemptColumns.sql}, attempt_id from journal
    where org_id = $1 and request_id = $2::uuid
  ) a left join price_pin p on p.pin_id = a.price_sheet_id
  order by ordinal, attempt_id`;

export function pricedAttempt(row: object): PricedAttempt {
  return { ...attemptColumns.read(row), prices: orNull(priceColumns).read(row) };
}
