import type { PoolClient } from "pg";

import { MANAGED_SQL } from "../accounts/key-summary-rows.ts";
import { createdAtOf, requestIdFrom } from "../../ledger/index.ts";
import type { Row } from "../../kernel/index.ts";
import type { UsageQuery } from "./record-store.ts";
import { type Bind, findRolledDays, TOKENS_AND_DEBIT } from "./report-parts.ts";
import type { RequestSpan } from "./usage-report-requests.ts";
import { DAY_MS, hasSums, requestsSql, type SummedSpan, sumsWhereSql } from "./usage-report-sql.ts";

const USAGE_SUMS_SQL = TOKENS_AND_DEBIT.map((column) => `sum(${column})::bigint as ${column}`).join(
  ", ",
);

/** $1 organization. The marketplace's own keys are named by their parts. */
export const MANAGED_KEY_SQL: string = `
  select key_id as managed_id, origin from api_key where org_id = $1 and ${MANAGED_SQL}`;

const LAST_ID = "ffffffff-ffff-ffff-ffff-ffffffffffff";

/** The requests that a query asks for: before its cursor, where it has one. */
export function spanOf(query: UsageQuery): RequestSpan {
  const end = query.toMs === undefined ? LAST_ID : requestIdFrom(query.toMs);
  const cursor = query.cursor ?? LAST_ID;
  return { from: requestIdFrom(query.fromMs ?? 0), end: cursor < end ? cursor : end };
}

export type GroupedBy = "day" | "model" | "key" | "provider";

/**
 * Sums of requests by one of their columns; by provider, of attempts, which may be of several. Days
 * that are over come from the sums of the reports, on the same snapshot as the rest.
 */
export async function readUsageGroups(
  client: PoolClient,
  query: UsageQuery,
  by: GroupedBy,
): Promise<readonly Row[]> {
  await client.query("set transaction isolation level repeatable read, read only");
  const values: unknown[] = [query.orgId, query.limit];
  const $ = (value: unknown): string => `$${values.push(value)}`;
  const parts = by === "provider" ? attemptsSql(query, $) : await requestSums(client, query, by, $);
  const named = by === "key" ? "coalesce(k.origin, name)" : "name";
  const keys = by === "key" ? `left join (${MANAGED_KEY_SQL}) k on k.managed_id = name` : "";
  const order = by === "day" ? "1 desc" : "debit desc, 1";
  const text = `
  select ${named} as group, sum(requests)::bigint as requests, ${USAGE_SUMS_SQL}
  from (${parts}) part ${keys}
  group by 1 having sum(requests) <> 0 order by ${order} limit $2`;
  return (await client.query<Row>(text, values)).rows;
}

/** Days have names of four-figure years. */
const LAST_DAY_MS = Date.UTC(9999, 11, 31);

async function requestSums(
  client: PoolClient,
  query: UsageQuery,
  by: Exclude<GroupedBy, "provider">,
  $: Bind,
): Promise<string> {
  const span = spanOf(query);
  const summed: SummedSpan = {
    span,
    rolledDays: await findRolledDays(client, query.orgId),
    wholeFromMs: Math.ceil(createdAtOf(span.from) / DAY_MS) * DAY_MS,
    wholeToMs: Math.min(Math.floor(createdAtOf(span.end) / DAY_MS) * DAY_MS, LAST_DAY_MS),
  };
  const signed = TOKENS_AND_DEBIT.map((column) => `sum(sign * ${column})::bigint as ${column}`);
  const apart = `
    select ${nameSql[by]} as name, sum(sign) as requests, ${signed.join(", ")}
    from (${requestsSql(summed, "$1", $)}) r group by 1`;
  if (!hasSums(summed)) return apart;
  const name = by === "day" ? "to_char(request_day, 'YYYY-MM-DD')" : nameSql[by];
  return `${apart}
    union all
    select ${name}, sum(requests), ${USAGE_SUMS_SQL}
    from usage_sum where ${sumsWhereSql(summed, "$1", $)} group by 1`;
}

function attemptsSql(query: UsageQuery, $: Bind): string {
  const { from, end } = spanOf(query);
  return `
    select provider_id as name, count(distinct request_id) as requests, ${USAGE_SUMS_SQL}
    from journal where org_id = $1 and request_id >= ${$(from)}::uuid
      and request_id < ${$(end)}::uuid group by 1`;
}

// A request's day is the one its id carries, so that days and the bounds of a query agree.
const nameSql: Readonly<Record<Exclude<GroupedBy, "provider">, string>> = {
  day: "to_char(request_day(request_id), 'YYYY-MM-DD')",
  model: "model_id",
  key: "key_id",
};
