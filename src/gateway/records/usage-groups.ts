import type { PoolClient } from "pg";

import { MANAGED_SQL } from "../accounts/key-store.ts";
import { createdAtOf, requestIdFrom } from "../../ledger/index.ts";
import type { Row } from "../../kernel/index.ts";
import type { UsageQuery } from "./record-store.ts";
import { findRolledDays, findUnrolledRequestIds } from "./usage-report-days.ts";
import { TOKENS_AND_DEBIT } from "./report-parts.ts";
import type { RequestSpan } from "./usage-report-requests.ts";
import {
  DAY_MS,
  hasSums,
  type SummedPart,
  sumsWhereSql,
  unsummedSpans,
} from "./usage-report-sql.ts";

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
 * Sums of attempts by one of their columns. Days that are over come from the sums of the reports,
 * on the same snapshot as the rest. Not by provider: a sum has whole requests, and the attempts of
 * one may be of several providers.
 */
export async function readUsageGroups(
  client: PoolClient,
  query: UsageQuery,
  by: GroupedBy,
): Promise<readonly Row[]> {
  await client.query("set transaction isolation level repeatable read, read only");
  const span = spanOf(query);
  const summed = by === "provider" ? NO_SUMS : await summedPart(client, query, span);
  const values: unknown[] = [query.orgId, query.limit];
  const $ = (value: unknown): string => `$${values.push(value)}`;
  const parts = [
    ...unsummedSpans({ ...summed, span }, { org: "$1", $ }).map((where) => journalSql(by, where)),
    ...(hasSums(summed) ? [sumsSql(by, sumsWhereSql(summed, "$1", $))] : []),
  ];
  const named = by === "key" ? "coalesce(k.origin, name)" : "name";
  const keys = by === "key" ? `left join (${MANAGED_KEY_SQL}) k on k.managed_id = name` : "";
  const order = by === "day" ? "1 desc" : "debit desc, 1";
  const text = `
  select ${named} as group, sum(requests)::bigint as requests, ${USAGE_SUMS_SQL}
  from (${parts.join(`
    union all`)}
  ) part ${keys}
  group by 1 order by ${order} limit $2`;
  return (await client.query<Row>(text, values)).rows;
}

const NO_SUMS: SummedPart = {
  wholeFromMs: 0,
  wholeToMs: 0,
  rolledDays: [],
  unrolledRequestIds: [],
};
/** Days have names of four-figure years. */
const LAST_DAY_MS = Date.UTC(9999, 11, 31);

async function summedPart(
  client: PoolClient,
  { orgId }: UsageQuery,
  span: RequestSpan,
): Promise<SummedPart> {
  const rolledDays = await findRolledDays(client, orgId);
  const wholeFromMs = Math.ceil(createdAtOf(span.from) / DAY_MS) * DAY_MS;
  const wholeToMs = Math.min(Math.floor(createdAtOf(span.end) / DAY_MS) * DAY_MS, LAST_DAY_MS);
  const range = { fromMs: wholeFromMs, toMs: wholeToMs };
  const unrolledRequestIds = await findUnrolledRequestIds(client, orgId, range);
  return { wholeFromMs, wholeToMs, rolledDays, unrolledRequestIds };
}

// A request's day is the one its id carries, so that days and the bounds of a query agree.
const nameSql: Readonly<Record<GroupedBy, string>> = {
  day: "to_char(request_day(request_id), 'YYYY-MM-DD')",
  model: "model_id",
  key: "key_id",
  provider: "provider_id",
};

function journalSql(by: GroupedBy, where: string): string {
  return `
    select ${nameSql[by]} as name, count(distinct request_id) as requests, ${USAGE_SUMS_SQL}
    from journal where ${where} group by 1`;
}

function sumsSql(by: GroupedBy, where: string): string {
  const name = by === "day" ? "to_char(request_day, 'YYYY-MM-DD')" : nameSql[by];
  return `
    select ${name}, sum(requests)::bigint, ${USAGE_SUMS_SQL}
    from usage_sum where ${where} group by 1`;
}
