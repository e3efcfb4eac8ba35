import type { PoolClient } from "pg";

import { parseRequestId } from "../core/index.ts";
import { createdAtOf } from "../ledger/index.ts";
import type { Row } from "../storage/index.ts";
import { spansWorthSearching } from "./request-walk-days.ts";
import {
  cannotMatch,
  isSelective,
  nextRows,
  pieceOf,
  spansOf,
  type WalkLimits,
} from "./request-walk.ts";
import {
  reportedRequest,
  requestsQuery,
  type RequestSpan,
  type SortedPlace,
} from "./usage-report-requests.ts";
import {
  type ReportedRequest,
  type ReportFilter,
  type RequestPage,
  type RequestPageQuery,
  type RequestSort,
  ReportTimeout,
} from "./usage-reports.ts";

/** Later pages read what the first one has read, on a machine that may be busier by then. */
const LATER_PAGE_TIMES = 3;

/**
 * A page of requests in another order than newest first. No index has it: the newest attempts are
 * read in pieces until time is up or there are no older ones, and the first rows of each piece are
 * merged. How far that came is said, and kept in the cursor: the pages behind it sort the same
 * requests.
 */
export async function sortRequests(
  client: PoolClient,
  filter: ReportFilter,
  page: RequestPageQuery & { readonly sort: RequestSort },
  limits: WalkLimits,
): Promise<RequestPage> {
  const cursor = readCursor(page.cursor, page.sort);
  const [whole] = spansOf(cursor === undefined ? filter : { ...filter, fromMs: cursor.fromMs });
  if (whole === undefined || cannotMatch(filter)) return { rows: [], nextCursor: null };
  const { found, stoppedAt } = await firstOf(client, filter, { page, cursor, whole }, limits);
  const searchedToMs =
    stoppedAt === undefined
      ? cursor?.isUnfinished === true
        ? cursor.fromMs
        : undefined
      : createdAtOf(stoppedAt);
  const shown = found.slice(0, page.limit);
  const last = found.length > page.limit ? shown.at(-1) : undefined;
  const range = {
    fromMs: searchedToMs ?? cursor?.fromMs ?? filter.fromMs,
    isUnfinished: searchedToMs !== undefined,
  };
  return {
    rows: shown.map(({ request }) => request),
    nextCursor: last === undefined ? null : writeCursor(page.sort, { ...range, after: last }),
    ...(searchedToMs !== undefined && { searchedToMs }),
  };
}

interface Sorting {
  readonly page: RequestPageQuery & { readonly sort: RequestSort };
  readonly cursor: Cursor | undefined;
  readonly whole: RequestSpan;
}

/** The first rows of the page's order; `stoppedAt`: requests before this id were not read. */
async function firstOf(
  client: PoolClient,
  filter: ReportFilter,
  { page, cursor, whole }: Sorting,
  { clock, ms, rows: firstRows }: WalkLimits,
): Promise<{ readonly found: readonly SortedRequest[]; readonly stoppedAt?: string }> {
  const startMs = clock.monotonicMs();
  const order = { sort: page.sort, after: cursor?.after };
  let found: readonly SortedRequest[] = [];
  let pieceRows = firstRows;
  let spans: readonly RequestSpan[] = [whole];
  for (let pieces = 1; ; pieces += 1) {
    const [span, ...older] = spans;
    if (span === undefined) return { found };
    const pieceMs = clock.monotonicMs();
    if (cursor === undefined && pieceMs > startMs + ms) return { found, stoppedAt: span.end };
    if (pieceMs > startMs + ms * LATER_PAGE_TIMES) throw new ReportTimeout(TOO_SLOW);
    const piece = await pieceOf(client, filter, span, pieceRows);
    const { text, values } = requestsQuery(filter, piece, page.limit + 1, order);
    const { rows } = await client.query<Row & { readonly sorted: bigint }>(text, values);
    found = merged(found, rows.map(sortedRequest), page);
    spans = piece.from === span.from ? older : [{ from: span.from, end: piece.from }, ...older];
    if (pieces === 1 && isSelective(filter)) {
      spans = await spansWorthSearching(client, filter, spans);
    }
    pieceRows = nextRows(pieceRows, clock.monotonicMs() - pieceMs);
  }
}

const TOO_SLOW = "sorting took too long; choose a shorter range";

interface SortedRequest extends SortedPlace {
  readonly request: ReportedRequest;
}

function sortedRequest(row: Row & { readonly sorted: bigint }): SortedRequest {
  const request = reportedRequest(row);
  return { request, value: row.sorted, requestId: request.requestId };
}

function merged(
  some: readonly SortedRequest[],
  more: readonly SortedRequest[],
  { sort, limit }: { readonly sort: RequestSort; readonly limit: number },
): readonly SortedRequest[] {
  const turn = sort.direction === "asc" ? 1 : -1;
  return [...some, ...more].sort((a, b) => turn * compare(a, b)).slice(0, limit + 1);
}

function compare(a: SortedPlace, b: SortedPlace): number {
  if (a.value !== b.value) return a.value < b.value ? -1 : 1;
  return a.requestId < b.requestId ? -1 : 1;
}

interface Cursor {
  /** How far back the first page came: what all pages sort. */
  readonly fromMs: number;
  /** There are older requests, which were not searched. */
  readonly isUnfinished: boolean;
  readonly after: SortedPlace;
}

function writeCursor(
  { by, direction }: RequestSort,
  { fromMs, isUnfinished, after }: Cursor,
): string {
  return [by, direction, fromMs, isUnfinished ? 1 : 0, after.value, after.requestId].join(".");
}

/** Undefined: the first page is asked for, or the cursor is of another order. */
function readCursor(text: string | undefined, sort: RequestSort): Cursor | undefined {
  const [by, direction, fromMs = "", unfinished, value = "", id = ""] = (text ?? "").split(".");
  const requestId = parseRequestId(id);
  const isWhole = /^\d{1,13}$/.test(fromMs) && /^-?\d{1,19}$/.test(value);
  if (by !== sort.by || direction !== sort.direction || requestId === undefined || !isWhole) {
    return undefined;
  }
  if (BigInt.asIntN(64, BigInt(value)) !== BigInt(value)) return undefined;
  return {
    fromMs: Number(fromMs),
    isUnfinished: unfinished === "1",
    after: { value: BigInt(value), requestId },
  };
}
