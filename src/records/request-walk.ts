import type { PoolClient } from "pg";

import {
  type Clock,
  parseRequestId,
  REQUEST_WALK_MS,
  REQUEST_WALK_ROWS,
  REQUEST_WALK_ROWS_MAX,
  type RequestStatus,
  systemClock,
} from "../core/index.ts";
import { createdAtOf, requestIdFrom } from "../ledger/index.ts";
import type { Row } from "../storage/index.ts";
import { spansWorthSearching } from "./request-walk-days.ts";
import {
  areRare,
  FAILED_SQL,
  hasAttempted,
  hasRefused,
  RANGE_SQL,
  reportedRequest,
  requestsQuery,
  type RequestSpan,
} from "./usage-report-requests.ts";
import type { ReportedRequest, ReportFilter, RequestPage } from "./usage-reports.ts";

/** How far one page of requests is searched. */
export interface WalkLimits {
  readonly clock: Pick<Clock, "monotonicMs">;
  /** No piece is begun later than this. */
  readonly ms: number;
  /** Attempts in the first piece of a search. */
  readonly rows: number;
}

export const REQUEST_WALK_LIMITS: WalkLimits = {
  clock: systemClock,
  ms: REQUEST_WALK_MS,
  rows: REQUEST_WALK_ROWS,
};

/**
 * A page of requests, newest first. The journal is walked in pieces of so many attempts, each with
 * short statements, until the page is full or time is up, and the page says how far it has come.
 */
export async function walkRequests(
  client: PoolClient,
  filter: ReportFilter,
  page: { readonly limit: number; readonly cursor?: string },
  { clock, ms, rows: firstRows }: WalkLimits,
): Promise<RequestPage> {
  if (cannotMatch(filter)) return { rows: [], nextCursor: null };
  const endMs = clock.monotonicMs() + ms;
  const found: ReportedRequest[] = [];
  let pieceRows = isSelective(filter) ? firstRows : page.limit + page.limit / 8 + 1;
  let spans: readonly RequestSpan[] = spansOf(filter, page.cursor);
  for (let pieces = 1; ; pieces += 1) {
    const [span, ...older] = spans;
    if (span === undefined) return { rows: found, nextCursor: null };
    const startMs = clock.monotonicMs();
    const piece = await pieceOf(client, filter, span, pieceRows);
    const wanted = page.limit + 1 - found.length;
    const { text, values } = requestsQuery(filter, piece, wanted);
    found.push(...(await client.query<Row>(text, values)).rows.map(reportedRequest));
    if (found.length > page.limit) {
      const rows = found.slice(0, page.limit);
      return { rows, nextCursor: rows.at(-1)?.requestId ?? null };
    }
    spans = piece.from === span.from ? older : [{ from: span.from, end: piece.from }, ...older];
    // Most pages are full by now; a search that is not asks where it can find anything at all.
    if (pieces === 1 && isSelective(filter)) {
      spans = await spansWorthSearching(client, filter, spans);
    }
    const nowMs = clock.monotonicMs();
    const next = spans[0]?.end;
    if (next !== undefined && nowMs > endMs) return unfinished(found, page.limit, next);
    pieceRows = nextRows(pieceRows, nowMs - startMs);
  }
}

export function cannotMatch(filter: ReportFilter): boolean {
  return !hasAttempted(filter) && !hasRefused(filter);
}

/** May it take many attempts to find one request? */
export function isSelective({
  modelIds,
  providerIds,
  keyIds,
  managed,
  statuses,
}: ReportFilter): boolean {
  return [modelIds, providerIds, keyIds, managed, statuses].some((each) => each !== undefined);
}

export function spansOf({ fromMs, toMs }: ReportFilter, cursorText = ""): readonly RequestSpan[] {
  const from = requestIdFrom(fromMs);
  const end = requestIdFrom(toMs);
  const cursor = parseRequestId(cursorText) ?? end;
  const before = cursor < end ? cursor : end;
  return from < before ? [{ from, end: before }] : [];
}

const OF_FEW: ReadonlySet<RequestStatus> = new Set(["rejected_by_gateway", "in_flight"]);

/** The newest part of the span that has so many attempts, of those that are counted. */
export async function pieceOf(
  client: PoolClient,
  { orgId, statuses }: ReportFilter,
  span: RequestSpan,
  rows: number,
): Promise<RequestSpan> {
  // Of those there are few: the span is read at once.
  if (statuses?.every((each) => OF_FEW.has(each)) === true) return span;
  const only = areRare(statuses) ? `and ${FAILED_SQL}` : "";
  const text = `
  select request_id from attempt where ${RANGE_SQL} ${only}
  order by request_id desc offset $4 limit 1`;
  const found = await client.query<{ request_id: string }>(text, [
    orgId,
    span.from,
    span.end,
    Math.ceil(rows),
  ]);
  return { from: found.rows[0]?.request_id ?? span.from, end: span.end };
}

const QUICK_MS = 200;
const SLOW_MS = 1_000;

/** Larger pieces while they are quick: each asks the table of every day. */
export function nextRows(rows: number, tookMs: number): number {
  if (tookMs < QUICK_MS) return Math.min(rows * 2, REQUEST_WALK_ROWS_MAX);
  return tookMs > SLOW_MS ? Math.max(rows / 2, 1) : rows;
}

function unfinished(rows: readonly ReportedRequest[], limit: number, end: string): RequestPage {
  const searchedToMs = createdAtOf(end);
  const nextCursor = parseRequestId(end) ?? firstIdAt(searchedToMs);
  return { rows, nextCursor, ...(rows.length < limit && { searchedToMs }) };
}

/** The first id of a millisecond that has the form of a request's. */
function firstIdAt(ms: number): string {
  return requestIdFrom(ms).replace("-0000-0000-", "-7000-8000-");
}
