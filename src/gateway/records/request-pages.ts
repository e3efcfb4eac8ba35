import {
  type AttemptEnd,
  columns,
  count,
  orNull,
  parseRequestId,
  type RecordOf,
  type RequestStatus,
  toRequestStatus,
  type Row,
  word,
} from "../../kernel/index.ts";
import {
  closedColumns,
  readCreatedAt,
  heldColumns,
  journalColumns,
  requestIdFrom,
  usageColumns,
} from "../../ledger/index.ts";
import type { KeyOrigin } from "../accounts/key-store.ts";
import { requestProperties } from "./record-rows.ts";
import type { ReportQuery } from "./report-parts.ts";
import {
  END_SQL,
  endedRequestsSql,
  matchSql,
  mayBeRefused,
  openRequestsSql,
  REFUSED_COLUMNS_SQL,
  type ReportFilter,
  statusOfEndSql,
  UNION_SQL,
} from "./request-rows.ts";

const storedColumns = columns({
  requestId: heldColumns.requestId,
  ...requestProperties,
  keyName: orNull(word<string>("key_name")),
  keyOrigin: orNull(word<KeyOrigin>("key_origin")),
  /** The provider of the last attempt; null if there was none. */
  providerId: orNull(word<string>("provider_id")),
  attempts: count("attempts"),
  /** The outcome of the last attempt; `refused` where there was none. */
  outcome: word<AttemptEnd>("outcome"),
  errorClass: orNull(word<string>("error_class")),
  usage: orNull(usageColumns),
  firstByteMs: closedColumns.firstByteMs,
  /** The duration of all attempts together. */
  durationMs: orNull(closedColumns.durationMs),
  debitMicroUsd: journalColumns.debitMicroUsd,
  basis: orNull(closedColumns.basis),
});

export type ReportedRequest = ReturnType<typeof reportedRequest>;

function reportedRequest(row: Row) {
  const read: RecordOf<typeof storedColumns> = storedColumns.read(row);
  return {
    ...read,
    keyName: read.keyName ?? "",
    keyOrigin: read.keyOrigin ?? "console",
    status: toRequestStatus(read),
    createdAtMs: readCreatedAt(read.requestId),
  };
}

/** The value that requests are sorted by. In both directions, requests without it come last. */
export type RequestSortBy = keyof typeof SORTED_BY;

const SORTED_BY = {
  time: "0",
  cost: "debit",
  duration: "duration_ms",
  tokens: "prompt + cached_prompt + cache_write + completion + internal_reasoning",
  cached: "cached_prompt",
  first_token: "first_byte_ms",
  attempts: "attempts",
} as const;

export interface RequestSort {
  readonly by: RequestSortBy;
  readonly direction: "asc" | "desc";
}

const NEWEST_FIRST: RequestSort = { by: "time", direction: "desc" };

export interface RequestPageQuery {
  readonly limit: number;
  /** The cursor that the previous page of the same order returned. */
  readonly cursor?: string;
  /** Absent means newest first. */
  readonly sort?: RequestSort;
  /** Leaves out the requests that were refused. */
  readonly isAttempted?: true;
}

export interface RequestPage {
  readonly rows: readonly ReportedRequest[];
  readonly nextCursor: string | null;
}

/* Parameters: $1 organization, $2 first request id, $3 the id after the last, $4 most rows. */
const RANGE_SQL = "request_id >= $2::uuid and request_id < $3::uuid";

/** Reads one row more than the page holds, to know whether there is a next page. */
export async function readRequestPage(
  run: (query: ReportQuery) => Promise<{ readonly rows: readonly Row[] }>,
  filter: ReportFilter,
  page: RequestPageQuery,
): Promise<RequestPage> {
  const { limit, sort = NEWEST_FIRST } = page;
  const { rows } = await run(requestsQuery(filter, page));
  const last = rows[limit - 1];
  return {
    rows: rows.slice(0, limit).map(reportedRequest),
    nextCursor: rows.length > limit && last !== undefined ? writeCursor(sort, last) : null,
  };
}

function requestsQuery(
  filter: ReportFilter,
  { limit, cursor = "", sort = NEWEST_FIRST, isAttempted }: RequestPageQuery,
): ReportQuery {
  const { orgId, fromMs, toMs, statuses } = filter;
  const values: unknown[] = [orgId, requestIdFrom(fromMs), requestIdFrom(toMs), limit + 1];
  const $ = (value: unknown): string => `$${values.push(value)}`;
  const { sorted, order, behind } = orderSql(sort, readCursor(cursor, sort), $);
  // Must match the condition of the partial index of attempts that did not complete; otherwise the
  // planner does not use it.
  const isRare = statuses?.includes("succeeded") === false;
  const rare = isRare ? " and outcome is distinct from 'completed'" : "";
  const parts = [
    ...(statuses?.every((each) => OF_NO_END.has(each)) === true
      ? []
      : [endedRequestsSql(RANGE_SQL + rare)]),
    openRequestsSql(RANGE_SQL),
    ...(isAttempted !== true && mayBeRefused(filter) ? [REFUSED_SQL] : []),
  ];
  const match = matchSql(filter, statusOfEndSql(END_SQL), $);
  const firstSql = (part: string): string => `(
    select * from (select p.*, (${sorted})::bigint as sorted from (${part}) p where ${match}) v
    where ${behind} order by ${order} limit $4)`;
  const page = `select * from (${parts.map(firstSql).join(UNION_SQL)}) u order by ${order} limit $4`;
  const text = `
  select r.*, k.name as key_name, k.origin as key_origin from (${page}) r
  left join api_key k on k.key_id = r.key_id and k.org_id = $1 order by ${order}`;
  return { text, values };
}

const OF_NO_END: ReadonlySet<RequestStatus> = new Set(["rejected_by_gateway", "in_flight"]);

/*
 * A refused request that has attempts after all, because the answer about its hold was lost, is
 * reported by its attempts, which are searched within two days of the refusal.
 */
const REFUSED_SQL = `
    select ${REFUSED_COLUMNS_SQL} from refused_request r where org_id = $1 and ${RANGE_SQL}
      and request_id not in (
        select request_id from hold where org_id = $1 and not annulled and ${RANGE_SQL})
      and not (
      select exists (select from attempt a where a.org_id = r.org_id
        and a.request_id = r.request_id
        and a.attempt_id >= attempt_id_at(r.created_at - interval '2 days')
        and a.attempt_id < attempt_id_at(r.created_at + interval '2 days')))`;

function orderSql(
  { by, direction }: RequestSort,
  after: ReturnType<typeof readCursor>,
  $: (value: unknown) => string,
) {
  const isDown = direction === "desc";
  const sorted = `coalesce(${SORTED_BY[by]}, ${isDown ? "-1" : "9223372036854775807"})`;
  const keys = by === "time" ? ["request_id"] : ["sorted", "request_id"];
  const order = keys.map((key) => `${key} ${direction}`).join(", ");
  if (after === undefined) return { sorted, order, behind: "true" };
  const place = [`${$(after.requestId)}::uuid`];
  if (by !== "time") place.unshift(`${$(after.value)}::bigint`);
  const behind = `(${keys.join(", ")}) ${isDown ? "<" : ">"} (${place.join(", ")})`;
  return { sorted, order, behind };
}

/** Returns the cursor after this row; in the order newest first it is the request id alone. */
function writeCursor({ by, direction }: RequestSort, row: Row): string {
  const place = [by, direction, String(row["sorted"]), String(row["request_id"])];
  return by === "time" && direction === "desc" ? String(row["request_id"]) : place.join(".");
}

/** Returns undefined for the first page, or if the cursor belongs to another order. */
function readCursor(text: string, sort: RequestSort) {
  const [id = "", value = "0", direction = "desc", by = "time"] = text.split(".").toReversed();
  const requestId = parseRequestId(id);
  const isOfOrder = by === sort.by && direction === sort.direction;
  if (!isOfOrder || requestId === undefined || !/^-?\d{1,19}$/.test(value)) return undefined;
  const isInRange = BigInt.asIntN(64, BigInt(value)) === BigInt(value);
  return isInRange ? { value, requestId } : undefined;
}
