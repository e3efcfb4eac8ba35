import type { PoolClient } from "pg";

import { MANAGED_SQL } from "../accounts/key-store.ts";
import { requestIdFrom } from "../../ledger/index.ts";
import type { Row } from "../../kernel/index.ts";
import type { Grouping } from "./contract/usage.ts";
import type { UsageQuery } from "./record-store.ts";
import { TOKENS_AND_DEBIT } from "./report-parts.ts";
import { attemptedSql, findSums, type RequestSpan } from "./request-sums.ts";

/** $1 is the organization. The marketplace's managed keys are reported by their purpose. */
export const MANAGED_KEY_SQL: string = `
  select key_id as managed_id, origin from api_key where org_id = $1 and ${MANAGED_SQL}`;

const LAST_ID = "ffffffff-ffff-ffff-ffff-ffffffffffff";

/** The requests that a query asks for: before its cursor, where it has one. */
export function toRequestSpan(query: UsageQuery): RequestSpan {
  const end = query.toMs === undefined ? LAST_ID : requestIdFrom(query.toMs);
  const cursor = query.cursor ?? LAST_ID;
  return { from: requestIdFrom(query.fromMs ?? 0), end: cursor < end ? cursor : end };
}

/**
 * Sums of requests by one of their columns; by provider, of attempts, which may be of several. Days
 * that are over come from the sums of the reports, on the same snapshot as the rest.
 */
export async function readUsageGroups(
  client: PoolClient,
  query: UsageQuery,
  by: Grouping,
): Promise<readonly Row[]> {
  await client.query("set transaction isolation level repeatable read, read only");
  const span = toRequestSpan(query);
  const values: unknown[] = [query.orgId, query.limit];
  const $ = (value: unknown): string => `$${values.push(value)}`;
  const of =
    by === "provider"
      ? `journal where org_id = $1 and request_id >= ${$(span.from)}::uuid
        and request_id < ${$(span.end)}::uuid`
      : `(${attemptedSql(await findSums(client, query.orgId, span), "$1", $)}) r
        left join (${MANAGED_KEY_SQL}) k on k.managed_id = key_id`;
  const requests = by === "provider" ? "count(distinct request_id)" : "sum(requests)";
  const sums = TOKENS_AND_DEBIT.map((column) => `sum(${column})::bigint as ${column}`).join(", ");
  const text = `
  select ${GROUP_SQL[by]} as group, ${requests}::bigint as requests, ${sums} from ${of}
  group by 1 having ${requests} <> 0
  order by ${by === "day" ? "1 desc" : "debit desc, 1"} limit $2`;
  return (await client.query<Row>(text, values)).rows;
}

// A request's day is the one its id carries, so that days and the bounds of a query agree.
const GROUP_SQL: Readonly<Record<Grouping, string>> = {
  day: "to_char(coalesce(request_day, request_day(request_id)), 'YYYY-MM-DD')",
  model: "model_id",
  key: "coalesce(k.origin, key_id)",
  provider: "provider_id",
};
