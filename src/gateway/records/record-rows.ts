import {
  answerColumns,
  closedColumns,
  heldColumns,
  journalColumns,
  priceColumns,
  servedColumns,
} from "../../ledger/index.ts";
import {
  columns,
  type Columns,
  computed,
  count,
  instantMs,
  opaque,
  orNull,
  word,
} from "../../kernel/index.ts";
import type {
  AttemptRecord,
  PricedAttempt,
  Refused,
  RequestRecord,
  SettledSheet,
} from "./record-store.ts";

/* Without usage, the sheet of the shortest prompt applies. */
const SHEET_SQL = `from price_sheet s where s.pin_id = price_pin_id and
  (s.above_prompt_tokens = 0 or s.above_prompt_tokens < prompt + cached_prompt + cache_write)
  order by s.above_prompt_tokens desc limit 1`;

/** An attempt of a request, over rows of `journal`. */
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

/** The columns that the attempts of a request have in common, and that are kept of a refused one. */
export const requestColumns: Columns<
  Pick<RequestRecord, "keyId" | "modelId" | "route" | "stream">
> = columns({
  keyId: heldColumns.keyId,
  modelId: orNull(heldColumns.modelId),
  route: heldColumns.route,
  stream: heldColumns.stream,
});

/** The columns of a row of `refused_request`. */
export const refusedColumns: Columns<Refused> = columns({
  errorClass: word("error_class"),
  reason: opaque("reason"),
});

/** $1 organization, $2 request. */
export const REFUSED_SQL = `
  select ${requestColumns.sql}, ${refusedColumns.sql}, created_at from refused_request
  where org_id = $1 and request_id = $2::uuid`;

/** $1 organization, $2 request. */
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
