import { MANAGED_SQL } from "../accounts/index.ts";
import { type OrgId, type RequestId, type RequestStatus, requestStatusOf } from "../core/index.ts";
import {
  closedColumns,
  createdAtOf,
  heldColumns,
  journalColumns,
  priceColumns,
  usageColumns,
} from "../ledger/index.ts";
import { columns, type Columns, count, orNull, word } from "../storage/index.ts";
import { attemptColumns, refusedColumns, requestColumns } from "./record-rows.ts";
import type { PricedAttempt } from "./record-store.ts";
import { lastOf } from "./report-parts.ts";
import { END_SQL, mayBeRefused, REFUSED_STATUS_SQL, statusOfEndSql } from "./request-status-sql.ts";
import type { ReportQuery } from "./usage-report-sql.ts";
import type { ReportedRequest, ReportFilter, RequestSort } from "./usage-reports.ts";

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

/** Request ids: the first, and the one behind the last. */
export interface RequestSpan {
  readonly from: string;
  readonly end: string;
}

/** Whether requests without attempts can match: none of them has a provider. */
export function hasRefused(filter: ReportFilter): boolean {
  return filter.providerIds === undefined && mayBeRefused(filter);
}

/** Whether requests with attempts can match. */
export function hasAttempted({ statuses }: ReportFilter): boolean {
  return statuses === undefined || statuses.some((each) => each !== "rejected_by_gateway");
}

/** The place behind which a sorted list continues. */
export interface SortedPlace {
  readonly value: bigint;
  readonly requestId: string;
}

/**
 * Of the requests whose ids are in the span, `rows` at most: newest first, or in this order, with the
 * value that each is sorted by as `sorted`.
 */
export function requestsQuery(
  filter: ReportFilter,
  span: RequestSpan,
  rows: number,
  order?: { readonly sort: RequestSort; readonly after: SortedPlace | undefined },
): ReportQuery {
  const values: unknown[] = [filter.orgId, span.from, span.end, rows];
  const $ = (value: unknown): string => `$${values.push(value)}`;
  const own = ownFilterSql(filter, $);
  const parts = [
    ...(hasAttempted(filter) ? [attemptedSql(filter, own, $)] : []),
    ...(hasRefused(filter) ? [refusedSql(filter, own, $)] : []),
  ];
  const orderSql = order === undefined ? "request_id desc" : sortedOrderSql(order.sort);
  const limited = parts.map((part) => {
    const sorted = order === undefined ? part : sortedSql(part, order, $);
    return `(${sorted} order by ${orderSql} limit $4)`;
  });
  const text = `
  select r.*, k.name as key_name, k.origin as key_origin from (${limited.join(UNION)}) r
  left join api_key k on k.key_id = r.key_id and k.org_id = $1
  order by ${orderSql} limit $4`;
  return { text, values };
}

function sortedOrderSql({ direction }: RequestSort): string {
  return `sorted ${direction}, request_id ${direction}`;
}

function sortedSql(
  part: string,
  { sort, after }: { readonly sort: RequestSort; readonly after: SortedPlace | undefined },
  $: (value: unknown) => string,
): string {
  const missing = sort.direction === "desc" ? "-1" : "9223372036854775807";
  const valued = `select p.*, coalesce(${SORTED_BY[sort.by]}, ${missing})::bigint as sorted
    from (${part}) p`;
  if (after === undefined) return valued;
  const behind = sort.direction === "desc" ? "<" : ">";
  const place = `(${$(String(after.value))}::bigint, ${$(after.requestId)}::uuid)`;
  return `select * from (${valued}) v where (sorted, request_id) ${behind} ${place}`;
}

/** Of a request as `REQUEST_COLUMNS` has it. By time the ids alone decide. */
const SORTED_BY: Readonly<Record<RequestSort["by"], string>> = {
  time: "0",
  cost: "debit",
  duration: "duration_ms",
  tokens: "prompt + cached_prompt + cache_write + completion + internal_reasoning",
  cached: "cached_prompt",
  first_token: "first_byte_ms",
  attempts: "attempts",
};

const UNION = `
    union all
    `;
/** $1 organization, $2 first id, $3 id behind the last one. */
export const RANGE_SQL = "org_id = $1 and request_id >= $2::uuid and request_id < $3::uuid";
/** As the index of such attempts has it. A request that failed has one: its last. */
export const FAILED_SQL = "outcome is distinct from 'completed'";

/** What all attempts of a request have in common. */
export function ownFilterSql(
  { modelIds, keyIds, managed }: ReportFilter,
  $: (value: unknown) => string,
): string {
  const keys = [
    ...(keyIds === undefined ? [] : [`key_id = any (${$(keyIds)}::text[]) and not ${MANAGED_SQL}`]),
    ...(managed === undefined ? [] : [`origin = any (${$(managed)}::text[])`]),
  ];
  const ownKeys = `key_id in (select key_id from api_key where org_id = $1 and`;
  return [
    "true",
    ...(modelIds === undefined ? [] : [`model_id = any (${$(modelIds)}::text[])`]),
    ...(keys.length === 0 ? [] : [`${ownKeys} (${keys.join(" or ")}))`]),
  ].join(" and ");
}

function attemptedSql(
  { statuses, providerIds }: ReportFilter,
  own: string,
  $: (value: unknown) => string,
): string {
  const provider = providerIds === undefined ? undefined : `any (${$(providerIds)}::text[])`;
  const having = [
    "true",
    ...(statuses === undefined
      ? []
      : [`${statusOfEndSql(`(${END_SQL})`)} = any (${$(statuses)}::text[])`]),
    ...(provider === undefined ? [] : [`${lastOf("provider_id")} = ${provider}`]),
  ].join(" and ");
  const last = provider === undefined ? own : `${own} and provider_id = ${provider}`;
  return `
    select ${REQUEST_COLUMNS}
    from journal where ${RANGE_SQL} and ${own} and ${fewSql(statuses, last)}
    group by request_id having ${having}`;
}

/** Whether requests that did not succeed are all that is searched for: there are few of them. */
export function areRare(statuses: ReportFilter["statuses"]): statuses is readonly RequestStatus[] {
  return statuses !== undefined && !statuses.includes("succeeded");
}

/**
 * Where a status is rare, its requests are known by one attempt, and only those are put together.
 * `last`: what is true of the last attempt of each request that is searched for.
 */
function fewSql(statuses: ReportFilter["statuses"], last: string): string {
  if (!areRare(statuses)) return "true";
  const isOpenOnly = statuses.every((each) => each === "in_flight");
  const parts = [
    ...(isOpenOnly
      ? []
      : [`select request_id from attempt where ${RANGE_SQL} and ${FAILED_SQL} and ${last}`]),
    ...(statuses.includes("in_flight")
      ? [`select request_id from hold where not annulled and ${RANGE_SQL}`]
      : []),
  ];
  return `request_id = any (array(
      ${parts.join(UNION)}))`;
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
export const REFUSED_SQL = `
  select ${refusedColumns.sql} from refused_request where org_id = $1 and request_id = $2::uuid`;

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
