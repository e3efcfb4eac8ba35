import type { PoolClient } from "pg";

import {
  columns,
  type Columns,
  count,
  type OrgId,
  orNull,
  parseRequestId,
  type RequestId,
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
import type { Bind } from "./report-parts.ts";
import {
  END_SQL,
  endedRequestsSql,
  matchSql,
  mayBeRefused,
  openRequestsSql,
  REFUSED_COLUMNS_SQL,
  statusOfEndSql,
} from "./request-rows.ts";
import type {
  ReportedRequest,
  ReportFilter,
  RequestPage,
  RequestPageQuery,
  RequestSort,
} from "./usage-reports.ts";

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

function reportedRequest(row: Row): ReportedRequest {
  const { keyName, keyOrigin, ...read } = storedColumns.read(row);
  return {
    ...read,
    status: toRequestStatus(read),
    createdAtMs: readCreatedAt(read.requestId),
    keyName: keyName ?? "",
    keyOrigin: keyOrigin ?? "console",
  };
}

/* Parameters: $1 organization, $2 first request id, $3 the id after the last, $4 most rows. */
const RANGE_SQL = "request_id >= $2::uuid and request_id < $3::uuid";
const UNION_SQL = "\n    union all ";

/** The newest requests that were sent to a provider. The parameters are those of `RANGE_SQL`. */
export const ATTEMPTED_SQL: string = [
  endedRequestsSql("$1", RANGE_SQL),
  openRequestsSql("$1", RANGE_SQL),
]
  .map((part) => `(select * from (${part}) p order by request_id desc limit $4)`)
  .join(UNION_SQL);

/**
 * Reads a page of requests. By time it is read from an index; in another order all matching
 * requests are sorted. A refused request that has attempts after all, because the answer about its
 * hold was lost, is reported by its attempts, which are searched within two days of the refusal.
 */
export async function readRequests(
  client: PoolClient,
  filter: ReportFilter,
  { limit, cursor = "", sort = { by: "time", direction: "desc" } }: RequestPageQuery,
): Promise<RequestPage> {
  const { orgId, fromMs, toMs, statuses } = filter;
  const values: unknown[] = [orgId, requestIdFrom(fromMs), requestIdFrom(toMs), limit + 1];
  const $ = (value: unknown): string => `$${values.push(value)}`;
  const { sorted, order, behind } = orderSql(sort, readCursor(cursor, sort), $);
  // Must match the condition of the partial index of attempts that did not complete, so that the
  // planner uses the index.
  const isRare = statuses?.includes("succeeded") === false;
  const rare = isRare ? " and outcome is distinct from 'completed'" : "";
  const parts = [
    ...(statuses?.every((each) => OF_NO_END.has(each)) === true
      ? []
      : [endedRequestsSql("$1", RANGE_SQL + rare)]),
    ...(statuses?.includes("in_flight") === false ? [] : [openRequestsSql("$1", RANGE_SQL)]),
    ...(mayBeRefused(filter) ? [REFUSED_SQL] : []),
  ];
  if (parts.length === 0) return { rows: [], nextCursor: null };
  const match = matchSql(filter, { org: "$1", status: statusOfEndSql(END_SQL) }, $);
  const firstSql = (part: string): string => `(
    select * from (select p.*, (${sorted})::bigint as sorted from (${part}) p where ${match}) v
    where ${behind} order by ${order} limit $4)`;
  const page = `select * from (${parts.map(firstSql).join(UNION_SQL)}) u order by ${order} limit $4`;
  // Turns sorting off: the planner overestimates how many requests match a status, and would read
  // and sort all of them.
  if (sort.by === "time") await client.query("set local enable_sort = off");
  const found = (await client.query<Row>(namedSql(page, order), values)).rows;
  const rows = found.slice(0, limit).map(reportedRequest);
  const last = found[limit - 1];
  return { rows, nextCursor: found.length > limit && last ? writeCursor(sort, last) : null };
}

const OF_NO_END: ReadonlySet<RequestStatus> = new Set(["rejected_by_gateway", "in_flight"]);

const REFUSED_SQL = `
    select ${REFUSED_COLUMNS_SQL} from refused_request r where org_id = $1 and ${RANGE_SQL}
      and request_id not in (
        select request_id from hold where org_id = $1 and not annulled and ${RANGE_SQL})
      and not (
      select exists (select from attempt a where a.org_id = r.org_id
        and a.request_id = r.request_id
        and a.attempt_id >= attempt_id_at(r.created_at - interval '2 days')
        and a.attempt_id < attempt_id_at(r.created_at + interval '2 days')))`;

export async function readRequest(
  client: PoolClient,
  orgId: OrgId,
  requestId: RequestId,
): Promise<ReportedRequest | undefined> {
  const one = "request_id = $2::uuid";
  const requests = `
    select * from (${openRequestsSql("$1", one)}) o${UNION_SQL}${endedRequestsSql("$1", one)}${UNION_SQL}
    select ${REFUSED_COLUMNS_SQL} from refused_request where org_id = $1 and ${one}`;
  // The attempts of a request take precedence over a recorded refusal of it.
  const text = `${namedSql(requests, "outcome = 'refused' and attempts = 0")} limit 1`;
  const [row] = (await client.query<Row>(text, [orgId, requestId])).rows;
  return row && reportedRequest(row);
}

function namedSql(requests: string, order: string): string {
  return `
  select r.*, k.name as key_name, k.origin as key_origin from (${requests}) r
  left join api_key k on k.key_id = r.key_id and k.org_id = $1 order by ${order}`;
}

const SORTED_BY: Readonly<Record<RequestSort["by"], string>> = {
  time: "0",
  cost: "debit",
  duration: "duration_ms",
  tokens: "prompt + cached_prompt + cache_write + completion + internal_reasoning",
  cached: "cached_prompt",
  first_token: "first_byte_ms",
  attempts: "attempts",
};

interface SortedPlace {
  readonly value: string;
  readonly requestId: string;
}

function orderSql({ by, direction }: RequestSort, after: SortedPlace | undefined, $: Bind) {
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

/** In the order newest first, the cursor is the request id alone. */
function writeCursor({ by, direction }: RequestSort, row: Row): string {
  const place = [by, direction, String(row["sorted"]), String(row["request_id"])];
  return by === "time" && direction === "desc" ? String(row["request_id"]) : place.join(".");
}

/** Returns undefined for the first page, or if the cursor belongs to another order. */
function readCursor(text: string, sort: RequestSort): SortedPlace | undefined {
  const [id = "", value = "0", direction = "desc", by = "time"] = text.split(".").toReversed();
  const requestId = parseRequestId(id);
  const isOfOrder = by === sort.by && direction === sort.direction;
  if (!isOfOrder || requestId === undefined || !/^-?\d{1,19}$/.test(value)) return undefined;
  const isInRange = BigInt.asIntN(64, BigInt(value)) === BigInt(value);
  return isInRange ? { value, requestId } : undefined;
}
