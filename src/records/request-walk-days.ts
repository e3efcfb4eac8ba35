import type { PoolClient } from "pg";

import { REPORT_DAYS_MAX } from "../core/index.ts";
import { createdAtOf, requestIdFrom } from "../ledger/index.ts";
import { attemptsOutsideSql } from "./report-parts.ts";
import { findRolledDays, findUnrolledRequestIds } from "./usage-report-days.ts";
import { statusOfEndSql } from "./request-status-sql.ts";
import { hasRefused, ownFilterSql, RANGE_SQL, type RequestSpan } from "./usage-report-requests.ts";
import { DAY_MS, isoDay } from "./usage-report-sql.ts";
import type { ReportFilter } from "./usage-reports.ts";

/**
 * The parts of one span in which the filter can match, newest first: days whose sums have nothing
 * that it asks for are left out, unless they have requests that are in no sum.
 */
export async function spansWorthSearching(
  client: PoolClient,
  filter: ReportFilter,
  spans: readonly RequestSpan[],
): Promise<readonly RequestSpan[]> {
  const [span] = spans;
  if (span === undefined) return [];
  const firstDay = Math.floor(createdAtOf(span.from) / DAY_MS);
  const lastDay = Math.floor(createdAtOf(span.end) / DAY_MS);
  if (lastDay - firstDay > REPORT_DAYS_MAX) return spans;
  const rolledDays = await findRolledDays(client, filter.orgId);
  if (rolledDays.length === 0) return spans;
  const days = Array.from({ length: lastDay - firstDay + 1 }, (_, at) => (lastDay - at) * DAY_MS);
  const worth = await daysWithMatches(client, filter, { span, days, rolledDays });
  return days
    .filter((day) => worth.has(isoDay(day)))
    .map((day) => ({
      from: later(requestIdFrom(day), span.from),
      end: earlier(requestIdFrom(day + DAY_MS), span.end),
    }))
    .filter(({ from, end }) => from < end);
}

interface Looked {
  readonly span: RequestSpan;
  /** Midnights. */
  readonly days: readonly number[];
  readonly rolledDays: readonly string[];
}

async function daysWithMatches(
  client: PoolClient,
  filter: ReportFilter,
  { span, days, rolledDays }: Looked,
): Promise<ReadonlySet<string>> {
  const values: unknown[] = [filter.orgId, span.from, span.end];
  const $ = (value: unknown): string => `$${values.push(value)}`;
  const own = ownFilterSql(filter, $);
  const { providerIds, statuses } = filter;
  const summed = [
    `org_id = $1 and day = any (${$(rolledDays)}::date[]) and request_day = d.day and ${own}`,
    ...(providerIds === undefined ? [] : [`provider_id = any (${$(providerIds)}::text[])`]),
    ...(statuses === undefined
      ? []
      : [`${statusOfEndSql("status")} = any (${$(statuses)}::text[])`]),
  ].join(" and ");
  const ofDay = `${RANGE_SQL} and request_id >= d.first and request_id < d.behind`;
  const refused = `or exists (select from refused_request where ${ofDay} and ${own})`;
  const text = `
  select to_char(d.day, 'YYYY-MM-DD') as day
  from unnest(${$(days.map(isoDay))}::date[], ${$(days.map(requestIdFrom))}::uuid[],
    ${$(days.map((day) => requestIdFrom(day + DAY_MS)))}::uuid[]) as d (day, first, behind)
  where exists (select from usage_sum where ${summed})
    or exists (select from journal where ${ofDay} and ${attemptsOutsideSql(rolledDays)})
    ${hasRefused(filter) ? refused : ""}`;
  const { rows } = await client.query<{ day: string }>(text, values);
  const range = { fromMs: createdAtOf(span.from), toMs: createdAtOf(span.end) + 1 };
  const unrolled = await findUnrolledRequestIds(client, filter.orgId, range);
  return new Set([
    ...rows.map(({ day }) => day),
    ...unrolled.map((requestId) => isoDay(createdAtOf(requestId))),
  ]);
}

function later(a: string, b: string): string {
  return a > b ? a : b;
}

function earlier(a: string, b: string): string {
  return a < b ? a : b;
}
