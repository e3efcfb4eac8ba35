import { MANAGED_SQL } from "../accounts/index.ts";
import { type OrgId, type RequestId, type RequestStatus, requestStatusOf } from "../core/index.ts";
import {
  closedColumns,
  createdAtOf,
  heldColumns,
  journalColumns,
  requestIdFrom,
  usageColumns,
} from "../ledger/index.ts";
import {
  type Column,
  columns,
  type Columns,
  count,
  orAbsent,
  orNull,
  pico,
  word,
} from "../storage/index.ts";
import { attemptColumns, requestColumns } from "./record-rows.ts";
import type { PinnedPrices, PricedAttempt } from "./record-store.ts";
import { lastOf } from "./report-parts.ts";
import { END_SQL, mayBeRefused, REFUSED_STATUS_SQL, statusOfEndSql } from "./request-status-sql.ts";
import type { ReportQuery } from "./usage-report-sql.ts";
import type { ReportedRequest, ReportFilter } from "./usage-reports.ts";

type StoredRequest = Omit<ReportedRequest, "createdAtMs" | "keyName" | "keyOrigin" | "status"> & {
  readonly keyName: string | null;
  readonly keyOrigin: ReportedRequest["keyOrigin"] | null;
};

const storedColumns: Columns<StoredRequest> = columns({
  requestId: heldColumns.requestId,
  modelId: orNull(heldColumns.modelId),
  keyId: heldColumns.keyId,
  keyName: orNull(word("key_name")),
  keyOrigin: orNull(word("key_origin")),
  providerId: orNull(heldColumns.providerId),
  route: heldColumns.route,
  stream: heldColumns.stream,
  attempts: count("attempts"),
  outcome: word("outcome"),
  errorClass: closedColumns.errorClass,
  usage: orNull(usageColumns),
  firstByteMs: closedColumns.firstByteMs,
  durationMs: orNull(closedColumns.durationMs),
  debitMicroUsd: journalColumns.debitMicroUsd,
});

export function reportedRequest(row: object): ReportedRequest {
  const { keyName, keyOrigin, ...read } = storedColumns.read(row);
  return {
    ...read,
    status: requestStatusOf(read),
    createdAtMs: createdAtOf(read.requestId),
    keyName: keyName ?? "",
    keyOrigin: keyOrigin ?? "console",
  };
}

/** Newest first, `rows` at most, before `cursor` where there is one. Undefined: none can match. */
export function requestsQuery(
  filter: ReportFilter,
  page: { readonly rows: number; readonly cursor?: string },
): ReportQuery | undefined {
  const { orgId, fromMs, toMs, statuses, providerId } = filter;
  const end = requestIdFrom(toMs);
  const { cursor = end } = page;
  const values: unknown[] = [orgId, requestIdFrom(fromMs), cursor < end ? cursor : end, page.rows];
  const $ = (value: unknown): string => `$${values.push(value)}`;
  const own = ownFilterSql(filter, $);
  const parts = [
    ...(isOnly(statuses, "rejected_by_gateway") ? [] : [attemptedSql(filter, own, $)]),
    ...(providerId === undefined && mayBeRefused(filter) ? [refusedSql(filter, own, $)] : []),
  ].map((part) => `(${part} order by request_id desc limit $4)`);
  if (parts.length === 0) return undefined;
  const text = `
  select r.*, k.name as key_name, k.origin as key_origin from (${parts.join(UNION)}) r
  left join api_key k on k.key_id = r.key_id and k.org_id = $1
  order by request_id desc limit $4`;
  return { text, values };
}

const UNION = `
    union all
    `;
const RANGE_SQL = "org_id = $1 and request_id >= $2::uuid and request_id < $3::uuid";

function isOnly(statuses: ReportFilter["statuses"], status: RequestStatus): boolean {
  return statuses?.length === 1 && statuses[0] === status;
}

/** What all attempts of a request have in common. */
function ownFilterSql(
  { modelId, keyId, managed }: ReportFilter,
  $: (value: unknown) => string,
): string {
  const ownKeys = `key_id in (select key_id from api_key where org_id = $1 and`;
  return [
    "true",
    ...(modelId === undefined ? [] : [`model_id = ${$(modelId)}`]),
    ...(keyId === undefined ? [] : [`${ownKeys} key_id = ${$(keyId)} and not ${MANAGED_SQL})`]),
    ...(managed === undefined ? [] : [`${ownKeys} origin = ${$(managed)})`]),
  ].join(" and ");
}

function attemptedSql(
  { statuses, providerId }: ReportFilter,
  own: string,
  $: (value: unknown) => string,
): string {
  const isOpen = `request_id in (
      select request_id from hold where not annulled and ${RANGE_SQL})`;
  const having = [
    "true",
    ...(statuses === undefined
      ? []
      : [`${statusOfEndSql(`(${END_SQL})`)} = any (${$(statuses)}::text[])`]),
    ...(providerId === undefined ? [] : [`${lastOf("provider_id")} = ${$(providerId)}`]),
  ].join(" and ");
  return `
    select ${REQUEST_COLUMNS}
    from journal where ${RANGE_SQL} and ${own} ${isOnly(statuses, "in_flight") ? `and ${isOpen}` : ""}
    group by request_id having ${having}`;
}

const REQUEST_COLUMNS = `request_id, min(key_id) as key_id, min(model_id) as model_id,
      ${lastOf("provider_id")} as provider_id, min(route) as route, bool_or(stream) as stream,
      count(*) as attempts,
      case when bool_or(state = 'open') then 'in_flight'
        else coalesce(${lastOf("outcome")}, 'failed') end as outcome,
      ${lastOf("error_class")} as error_class, sum(prompt)::bigint as prompt,
      sum(cached_prompt)::bigint as cached_prompt, sum(cache_write)::bigint as cache_write,
      sum(completion)::bigint as completion,
      sum(internal_reasoning)::bigint as internal_reasoning,
      ${lastOf("first_byte_ms")} as first_byte_ms, sum(duration_ms)::integer as duration_ms,
      sum(debit)::bigint as debit`;

/*
 * One that has attempts after all (the answer about its hold was lost) is reported with them. They
 * are of about the same time by any clock that is halfway right, so that a few days are searched.
 */
function refusedSql(
  { statuses }: ReportFilter,
  own: string,
  $: (value: unknown) => string,
): string {
  const filter =
    statuses === undefined
      ? own
      : `${own} and ${REFUSED_STATUS_SQL} = any (${$(statuses)}::text[])`;
  return `
    select request_id, key_id, model_id, null as provider_id, route, stream, 0::bigint as attempts,
      'refused' as outcome, error_class, null::bigint as prompt, null::bigint as cached_prompt,
      null::bigint as cache_write, null::bigint as completion,
      null::bigint as internal_reasoning, null::integer as first_byte_ms,
      null::integer as duration_ms, 0::bigint as debit
    from refused_request r where ${RANGE_SQL} and ${filter}
      and request_id not in (select request_id from hold where not annulled and ${RANGE_SQL})
      and not (
      select exists (select from attempt a where a.org_id = r.org_id
        and a.request_id = r.request_id
        and a.attempt_id >= attempt_id_at(r.created_at - interval '2 days')
        and a.attempt_id < attempt_id_at(r.created_at + interval '2 days')))`;
}

export function oneRequestQuery(orgId: OrgId, requestId: RequestId): ReportQuery {
  const text = `
  select r.*, k.name as key_name, k.origin as key_origin from (
    select ${REQUEST_COLUMNS}
    from journal where org_id = $1 and request_id = $2::uuid group by request_id
    union all
    select request_id, key_id, model_id, null, route, stream, 0, 'refused', error_class,
      null, null, null, null, null, null, null, 0
    from refused_request where org_id = $1 and request_id = $2::uuid
  ) r left join api_key k on k.key_id = r.key_id and k.org_id = $1
  order by attempts desc limit 1`;
  return { text, values: [orgId, requestId] };
}

/** $1 organization, $2 request. */
export const PRICED_ATTEMPTS_SQL = `
  select a.*, p.prompt_pico, p.cached_prompt_pico, p.cache_write_pico, p.completion_pico,
    p.internal_reasoning_pico, p.cache_write_1h_pico
  from (
    select ${requestColumns.sql}, ${attemptColumns.sql}, attempt_id from journal
    where org_id = $1 and request_id = $2::uuid
  ) a left join price_pin p on p.pin_id = a.price_sheet_id
  order by ordinal, attempt_id`;

/** Null where the prices were not kept. */
const pricesColumn: Column<PinnedPrices | null> = orNull(
  columns<PinnedPrices>({
    prompt: pico("prompt_pico"),
    cachedPrompt: pico("cached_prompt_pico"),
    cacheWrite: pico("cache_write_pico"),
    completion: pico("completion_pico"),
    internalReasoning: pico("internal_reasoning_pico"),
    cacheWrite1h: orAbsent(pico("cache_write_1h_pico")),
  }),
);

export function pricedAttempt(row: object): PricedAttempt {
  return { ...attemptColumns.read(row), prices: pricesColumn.read(row) };
}
