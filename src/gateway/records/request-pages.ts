import type { PoolClient } from "pg";

import { parseRequestId, type Row } from "../../kernel/index.ts";
import { requestIdFrom } from "../../ledger/index.ts";
import { reportedRequest, requestsQuery, type SortedPlace } from "./usage-report-requests.ts";
import type { ReportFilter, RequestPage, RequestPageQuery, RequestSort } from "./usage-reports.ts";

const NEWEST_FIRST: RequestSort = { by: "time", direction: "desc" };

/** A page of requests: by time it is read from an index, in another order it sorts all that match. */
export async function readRequests(
  client: PoolClient,
  filter: ReportFilter,
  { limit, cursor, sort = NEWEST_FIRST }: RequestPageQuery,
): Promise<RequestPage> {
  const after = readCursor(cursor, sort);
  let [from, end] = [requestIdFrom(filter.fromMs), requestIdFrom(filter.toMs)];
  if (sort.by === "time" && after !== undefined) {
    if (sort.direction === "desc") end = after.requestId < end ? after.requestId : end;
    else from = after.requestId > from ? after.requestId : from;
  }
  const query = requestsQuery(filter, { from, end }, { rows: limit + 1, sort, after });
  if (query === undefined) return { rows: [], nextCursor: null };
  const { text, values } = query;
  // How few match a status the planner cannot know: it would read and sort all instead of the first.
  if (sort.by === "time") await client.query("set local enable_sort = off");
  const found = (await client.query<Row & { readonly sorted: bigint }>(text, values)).rows;
  const shown = found.slice(0, limit);
  const rows = shown.map(reportedRequest);
  const [last, lastRow] = [rows.at(-1), shown.at(-1)];
  const hasMore = found.length > limit && last !== undefined && lastRow !== undefined;
  const nextCursor = hasMore ? writeCursor(sort, { value: lastRow.sorted, ...last }) : null;
  return { rows, nextCursor };
}

/** Newest first it is the id alone. */
function writeCursor({ by, direction }: RequestSort, { value, requestId }: SortedPlace): string {
  return isNewestFirst({ by, direction }) ? requestId : [by, direction, value, requestId].join(".");
}

/** Undefined: the first page is asked for, or the cursor is of another order. */
function readCursor(text: string | undefined, sort: RequestSort): SortedPlace | undefined {
  if (isNewestFirst(sort)) {
    const requestId = parseRequestId(text ?? "");
    return requestId === undefined ? undefined : { value: 0n, requestId };
  }
  const [by, direction, value = "", id = ""] = (text ?? "").split(".");
  const requestId = parseRequestId(id);
  const isOfOrder = by === sort.by && direction === sort.direction;
  if (!isOfOrder || requestId === undefined || !/^-?\d{1,19}$/.test(value)) return undefined;
  const read = BigInt(value);
  return BigInt.asIntN(64, read) === read ? { value: read, requestId } : undefined;
}

function isNewestFirst({ by, direction }: RequestSort): boolean {
  return by === NEWEST_FIRST.by && direction === NEWEST_FIRST.direction;
}
