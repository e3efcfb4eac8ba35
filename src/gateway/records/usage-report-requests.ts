import { MANAGED_SQL } from "../accounts/key-store.ts";
import {
  type OrgId,
  type RequestId,
  type RequestStatus,
  requestStatusOf,
  columns,
  type Columns,
  count,
  orNull,
  word,
} from "../../kernel/index.ts";
import {
  closedColumns,
  createdAtOf,
  heldColumns,
  journalColumns,
  priceColumns,
  usageColumns,
} from "../../ledger/index.ts";
import { attemptColumns, refusedColumns, requestColumns } from "./record-rows.ts";
import type { PricedAttempt } from "./record-store.ts";
import type { Bind, ReportQuery } from "./report-parts.ts";
import { ENDED_COLUMNS_SQL, openRequestsSql } from "./request-rows.ts";
import {
  mayBeRefused,
  REFUSED_STATUS_SQL,
  ROW_END_SQL,
  statusOfEndSql,
} from "./request-status-sql.ts";
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

/** The place behind which a sorted list continues. */
export interface SortedPlace {
  readonly value: bigint;
  readonly requestId: string;
}

/** Which rows of a list: `rows` at most, in this order, behind this place. */
export interface RequestRows {
  readonly rows: number;
  readonly sort: RequestSort;
  readonly after?: SortedPlace | undefined;
}

/**
 * Of the requests whose ids are in the span, each with the value that it is sorted by as `sorted`.
 * Undefined: none can match.
 */
export function requestsQuery(
  filter: ReportFilter,
  span: RequestSpan,
  { rows, sort, after }: RequestRows,
): ReportQuery | undefined {
  const values: unknown[] = [filter.orgId, span.from, span.end, rows];
  const $ = (value: unknown): string => `$${values.push(value)}`;
  const own = ownFilterSql(filter, $);
  const { direction, by } = sort;
  const missing = direction === "desc" ? "-1" : "9223372036854775807";
  const sorted = by === "time" ? "0" : `coalesce(${SORTED_BY[by]}, ${missing})`;
  const order =
    by === "time" ? `request_id ${direction}` : `sorted ${direction}, request_id ${direction}`;
  const behind =
    after === undefined
      ? "true"
      : `(sorted, request_id) ${direction === "desc" ? "<" : ">"}
        (${$(String(after.value))}::bigint, ${$(after.requestId)}::uuid)`;
  const parts = [
    ...(hasAttempted(filter) ? [endedSql(filter, own, $)] : []),
    ...(hasOpen(filter) ? [openSql(filter, own, $)] : []),
    ...(hasRefused(filter) ? [refusedSql(filter, own, $)] : []),
  ].map(
    (part) => `(
    select * from (select p.*, (${sorted})::bigint as sorted from (${part}) p) v
    where ${behind} order by ${order} limit $4)`,
  );
  if (parts.length === 0) return undefined;
  const page = `select * from (${parts.join(UNION)}) u order by ${order} limit $4`;
  return { text: namedSql(page, order), values };
}

function namedSql(requests: string, order: string): string {
  return `
  select r.*, k.name as key_name, k.origin as key_origin from (${requests}) r
  left join api_key k on k.key_id = r.key_id and k.org_id = $1 order by ${order}`;
}

/** Of a request's row; by time the ids alone decide. */
const SORTED_BY: Readonly<Record<Exclude<RequestSort["by"], "time">, string>> = {
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
const RANGE_SQL = "org_id = $1 and request_id >= $2::uuid and request_id < $3::uuid";
const OPEN_SQL = `not annulled and ${RANGE_SQL}`;

type Asked = Pick<ReportFilter, "providerIds" | "statuses">;

/** Whether requests with finished attempts can match. */
function hasAttempted({ statuses }: ReportFilter): boolean {
  return statuses?.every((each) => OF_NO_END.has(each)) !== true;
}

const OF_NO_END: ReadonlySet<RequestStatus> = new Set(["rejected_by_gateway", "in_flight"]);

function hasOpen({ statuses }: ReportFilter): boolean {
  return statuses?.includes("in_flight") !== false;
}

/** Whether requests without attempts can match: none of them has a provider. */
function hasRefused(filter: ReportFilter): boolean {
  return filter.providerIds === undefined && mayBeRefused(filter);
}

/** What all attempts of a request have in common. */
function ownFilterSql({ modelIds, keyIds, managed }: ReportFilter, $: Bind): string {
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

function providerSql({ providerIds }: Asked, $: Bind): string {
  return providerIds === undefined ? "true" : `provider_id = any (${$(providerIds)}::text[])`;
}

/** Requests that have ended: each is its last attempt. */
function endedSql(filter: Asked, own: string, $: Bind): string {
  const { statuses } = filter;
  const isOf =
    statuses === undefined
      ? "true"
      : `${statusOfEndSql(ROW_END_SQL)} = any (${$(statuses)}::text[])`;
  // As the index of such attempts has it.
  const isRare = statuses !== undefined && !statuses.includes("succeeded");
  return `
    select ${ENDED_COLUMNS_SQL} from attempt where ${RANGE_SQL} and final and ${own}
      and ${providerSql(filter, $)} and ${isOf}${isRare ? ` and ${FAILED_SQL}` : ""}
      and request_id not in (select request_id from hold where ${OPEN_SQL})`;
}

const FAILED_SQL = "outcome is distinct from 'completed'";

function openSql(filter: Asked, own: string, $: Bind): string {
  return `
    select * from (${openRequestsSql(OPEN_SQL)}) o where ${own} and ${providerSql(filter, $)}`;
}

/** $1 organization, $2 and $3 a span, $4 rows: the newest requests that a provider was asked for. */
export const ATTEMPTED_SQL: string = [endedSql({}, "true", () => ""), openSql({}, "true", () => "")]
  .map((part) => `(select * from (${part}) p order by request_id desc limit $4)`)
  .join(UNION);

/*
 * One that has attempts after all (the answer about its hold was lost) is reported with them. They
 * are of about the same time by any clock that is halfway right, so that a few days are searched.
 */
function refusedSql({ statuses }: ReportFilter, own: string, $: Bind): string {
  const isOf =
    statuses === undefined ? "true" : `${REFUSED_STATUS_SQL} = any (${$(statuses)}::text[])`;
  return `
    select ${REFUSED_ROW_SQL} from refused_request r where ${RANGE_SQL} and ${own} and ${isOf}
      and request_id not in (select request_id from hold where ${OPEN_SQL})
      and not (
      select exists (select from attempt a where a.org_id = r.org_id
        and a.request_id = r.request_id
        and a.attempt_id >= attempt_id_at(r.created_at - interval '2 days')
        and a.attempt_id < attempt_id_at(r.created_at + interval '2 days')))`;
}

const REFUSED_ROW_SQL = `request_id, key_id, model_id, null as provider_id, route, stream,
      0::bigint as attempts, 'refused' as outcome, error_class, null::integer as first_byte_ms,
      null as basis, null::bigint as prompt, null::bigint as cached_prompt,
      null::bigint as cache_write, null::bigint as completion, null::bigint as internal_reasoning,
      0::bigint as debit, null::integer as duration_ms`;

export function oneRequestQuery(orgId: OrgId, requestId: RequestId): ReportQuery {
  const one = "org_id = $1 and request_id = $2::uuid";
  const requests = `
    select * from (${openRequestsSql(`not annulled and ${one}`)}) o
    union all select ${ENDED_COLUMNS_SQL} from attempt where ${one} and final
    union all select ${REFUSED_ROW_SQL} from refused_request where ${one}`;
  // An open one before what of it has ended, and either before the refusal of it.
  const text = `${namedSql(requests, "outcome = 'refused', outcome <> 'in_flight'")} limit 1`;
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
