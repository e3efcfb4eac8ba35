import {
  type AttemptEnd,
  type BySku,
  columns,
  computed,
  count,
  instantMs,
  opaque,
  type OrgId,
  orNull,
  type PicoUsd,
  type RecordOf,
  type RequestId,
  type Row,
  word,
} from "../../kernel/index.ts";
import {
  answerColumns,
  closedColumns,
  heldColumns,
  journalColumns,
  priceColumns,
  type RefusalReason,
  servedColumns,
  usageColumns,
} from "../../ledger/index.ts";

/* Finds an attempt's price sheet; without usage, the sheet for the shortest prompts applies. */
const SHEET_SQL = `from price_sheet s where s.pin_id = price_pin_id and
  (s.above_prompt_tokens = 0 or s.above_prompt_tokens < prompt + cached_prompt + cache_write)
  order by s.above_prompt_tokens desc limit 1`;

const attemptColumns = columns({
  ordinal: heldColumns.ordinal,
  providerId: word<string>("provider_id"),
  upstreamModelId: heldColumns.upstreamModelId,
  startedAtMs: computed("coalesce(started_at, created_at)", instantMs("started_at")),
  firstByteMs: closedColumns.firstByteMs,
  durationMs: orNull(closedColumns.durationMs),
  outcome: computed(
    "case when state = 'open' then 'in_flight' else coalesce(outcome, 'failed') end",
    word<AttemptEnd>("outcome"),
  ),
  upstreamStatus: closedColumns.upstreamStatus,
  errorClass: orNull(word<string>("error_class")),
  /** The model that the provider reported; null if it reported none. */
  served: orNull(servedColumns),
  /** The headers of the answer, if this was the last attempt. */
  answered: answerColumns,
  usage: closedColumns.usage,
  reserveMicroUsd: heldColumns.reserveMicroUsd,
  debitMicroUsd: journalColumns.debitMicroUsd,
  basis: orNull(closedColumns.basis),
  /** The price sheet in force at the attempt's admission, for the size of its prompt. */
  sheet: columns({
    pinId: computed(
      `coalesce((select s.sheet_pin_id ${SHEET_SQL}), price_pin_id)`,
      word("price_sheet_id"),
    ),
    /**
     * The sheet is for prompts above this number of tokens (prompt, cached and cache-write tokens
     * together); 0 for the sheet without such a bound.
     */
    abovePromptTokens: computed(
      `coalesce((select s.above_prompt_tokens ${SHEET_SQL}), 0)`,
      count("price_sheet_above"),
    ),
  }),
});
export type AttemptRecord = RecordOf<typeof attemptColumns>;

/** An attempt with the prices of its sheet; `prices` is null if they are not stored. */
export interface PricedAttempt extends AttemptRecord {
  readonly prices: BySku<PicoUsd> | null;
}

export const requestProperties = {
  keyId: heldColumns.keyId,
  modelId: orNull(word<string>("model_id")),
  route: heldColumns.route,
  stream: heldColumns.stream,
} as const;
export const requestColumns = columns(requestProperties);

const refusedColumns = columns({
  errorClass: word<string>("error_class"),
  /** Null if no reason was stored, as for a client that had left. */
  reason: opaque<RefusalReason | null>("reason"),
});
export type Refused = RecordOf<typeof refusedColumns>;

export interface RequestRecord extends RecordOf<typeof requestColumns>, Recorded {
  readonly requestId: RequestId;
  readonly createdAtMs: number;
  readonly outcome: AttemptEnd;
}

export interface UsageQuery {
  readonly orgId: OrgId;
  readonly fromMs?: number;
  readonly toMs?: number;
  readonly limit: number;
  readonly cursor?: string;
}

export const groupColumns = columns({
  /** The day (YYYY-MM-DD), model id, provider id, or key id (for a managed key its origin). */
  group: word<string>("group"),
  requests: count("requests"),
  usage: usageColumns,
  debitMicroUsd: journalColumns.debitMicroUsd,
});
export type UsageGroup = RecordOf<typeof groupColumns>;

const REFUSED_SQL = `
  select ${requestColumns.sql}, ${refusedColumns.sql} from refused_request
  where org_id = $1 and request_id = $2::uuid`;

const PRICED_ATTEMPTS_SQL = `
  select a.*, ${priceColumns.sqlOf("p")}
  from (
    select ${requestColumns.sql}, ${attemptColumns.sql}, attempt_id from journal
    where org_id = $1 and request_id = $2::uuid
  ) a left join price_pin p on p.pin_id = a.price_sheet_id
  order by ordinal, attempt_id`;

export interface Recorded {
  readonly attempts: readonly PricedAttempt[];
  /** Why the gateway refused the request; undefined if it has attempts. */
  readonly refused?: Refused;
}

/** `row` is the first row found. `query` binds the organization to $1 and the request to $2. */
export async function readRecorded(
  query: (text: string) => Promise<readonly Row[]>,
): Promise<(Recorded & { readonly row: Row }) | undefined> {
  const rows = await query(PRICED_ATTEMPTS_SQL);
  const attempts = rows.map((each) => {
    return { ...attemptColumns.read(each), prices: orNull(priceColumns).read(each) };
  });
  if (rows[0] !== undefined) return { row: rows[0], attempts };
  const [row] = await query(REFUSED_SQL);
  return row && { row, attempts, refused: refusedColumns.read(row) };
}
