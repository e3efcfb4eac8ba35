import type { Pool, PoolClient, QueryResult, QueryResultRow } from "pg";

import {
  assert,
  capColumn,
  columns,
  type Columns,
  count,
  instantMs,
  inTransaction,
  micro,
  type OrgId,
  orNull,
  type Public,
  queryInTime,
  type RequestId,
  type Row,
  word,
  ZERO_MICRO_USD,
  ZERO_USAGE,
} from "../../kernel/index.ts";
import {
  type Balance,
  closedColumns,
  heldColumns,
  journalColumns,
  type MonthSpend,
  type PeriodSpend,
  readCreatedAt,
  requestIdFrom,
  type SpendReads,
  usageColumns,
} from "../../ledger/index.ts";
import { MANAGED_SQL } from "../accounts/key-store.ts";
import type { Grouping } from "./contract/usage.ts";
import {
  NOTICE_FACTS_SQL,
  noticeFacts,
  type NoticeFacts,
  noticeFactsValues,
  REFUSED_CAUSES_SQL,
  type RefusedFor,
} from "./notice-facts.ts";
import {
  PRICED_ATTEMPTS_SQL,
  pricedAttempt,
  REFUSED_SQL,
  refusedColumns,
  requestColumns,
  type RequestRecord,
  type UsageGroup,
  type UsageQuery,
  type UsageRow,
} from "./record-rows.ts";
import { TOKENS_AND_DEBIT } from "./report-parts.ts";
import { ATTEMPTED_SQL } from "./request-pages.ts";
import { attemptedSql, findSums, type RequestSpan } from "./request-rows.ts";

/**
 * Selects the keys of organization $1 that the marketplace made for its own use, such as the
 * playground's. Reports show their purpose in place of a name.
 */
export const MANAGED_KEY_SQL: string = `
  select key_id as managed_id, origin from api_key where org_id = $1 and ${MANAGED_SQL}`;

export type RecordStore = Public<PostgresRecordStore>;

export class PostgresRecordStore implements SpendReads {
  readonly #pool: Pool;

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  async balance(orgId: OrgId): Promise<Balance> {
    const { rows } = await this.#read<Row>(BALANCE_SQL, [`wallet:${orgId}`]);
    return rows[0] === undefined ? NO_BALANCE : balanceColumns.read(rows[0]);
  }

  async monthSpend(orgId: OrgId, keyId?: string): Promise<MonthSpend> {
    const { rows } = await this.#read<Row>(MONTH_SPEND_SQL, [orgId, keyId ?? null]);
    return rows[0] === undefined ? NO_SPEND : monthColumns.read(rows[0]);
  }

  async periodSpend(orgId: OrgId, keyId?: string): Promise<readonly PeriodSpend[]> {
    const { rows } = await this.#read<Row>(PERIOD_SPEND_SQL, [orgId, keyId ?? null]);
    return rows.map(periodColumns.read);
  }

  /**
   * Returns one page of requests, newest first. The debit of a request is the sum over its
   * attempts.
   */
  async usagePage(
    query: UsageQuery,
  ): Promise<{ readonly rows: readonly UsageRow[]; readonly nextCursor: string | null }> {
    const result = await this.#read<Row>(USAGE_PAGE_SQL, [...rangeValues(query), query.limit + 1]);
    const rows = result.rows.slice(0, query.limit).map(usageRow);
    const hasMore = result.rows.length > query.limit;
    return { rows, nextCursor: hasMore ? (rows.at(-1)?.requestId ?? null) : null };
  }

  async usageGroups(
    query: UsageQuery,
    by: "day" | "model" | "key" | "provider",
  ): Promise<readonly UsageGroup[]> {
    const rows = await inTransaction(this.#pool, (client) => readUsageGroups(client, query, by));
    return rows.map((row) => {
      const group = groupColumns.read(row);
      return { ...group, usage: group.usage ?? ZERO_USAGE };
    });
  }

  async noticeFacts(orgId: OrgId, nowMs: number): Promise<NoticeFacts> {
    const values = noticeFactsValues(orgId, nowMs);
    const { rows } = await this.#read<Row>(NOTICE_FACTS_SQL, values);
    const [row] = rows;
    assert(row !== undefined, "a statement of sums answers with a row");
    return noticeFacts(row);
  }

  /** Counts the causes of the newest ten thousand refusals since `fromMs`, most frequent first. */
  async refusedFor(orgId: OrgId, fromMs: number): Promise<readonly RefusedFor[]> {
    const values = [orgId, requestIdFrom(fromMs)];
    return (await this.#read<RefusedFor>(REFUSED_CAUSES_SQL, values)).rows;
  }

  async generation(orgId: OrgId, requestId: RequestId): Promise<RequestRecord | undefined> {
    const { rows } = await this.#read<Row>(PRICED_ATTEMPTS_SQL, [orgId, requestId]);
    const [first] = rows;
    if (first === undefined) return await this.#refused(orgId, requestId);
    const records = rows.map(pricedAttempt);
    const open = records.find((attempt) => attempt.outcome === "in_flight");
    return {
      requestId,
      ...requestColumns.read(first),
      createdAtMs: readCreatedAt(requestId),
      outcome: (open ?? records.at(-1))?.outcome ?? "in_flight",
      attempts: records,
    };
  }

  /** A client waits for the result, so a slow query counts as a store fault. */
  #read<R extends QueryResultRow>(text: string, values: unknown[]): Promise<QueryResult<R>> {
    return queryInTime<R>(this.#pool, { text, values });
  }

  async #refused(orgId: OrgId, requestId: RequestId): Promise<RequestRecord | undefined> {
    const [row] = (await this.#read<Row>(REFUSED_SQL, [orgId, requestId])).rows;
    if (row === undefined) return undefined;
    const createdAtMs = journalColumns.createdAtMs.read(row);
    return {
      requestId,
      ...requestColumns.read(row),
      createdAtMs,
      outcome: "refused",
      attempts: [],
      refused: refusedColumns.read(row),
    };
  }
}

const BALANCE_SQL = `
  select credits - debits - owed as settled, reserved as held from account where account_id = $1`;

const balanceColumns: Columns<Balance> = columns({
  settledMicroUsd: micro("settled"),
  heldMicroUsd: micro("held"),
});
const NO_BALANCE: Balance = { settledMicroUsd: ZERO_MICRO_USD, heldMicroUsd: ZERO_MICRO_USD };

const spendProperties = {
  spentMicroUsd: micro("spent"),
  inFlightMicroUsd: micro("in_flight"),
  resetAtMs: instantMs("reset_at"),
} as const;
const monthColumns: Columns<MonthSpend> = columns({
  ...spendProperties,
  capMicroUsd: orNull(micro("cap")),
});
const NO_SPEND: MonthSpend = {
  spentMicroUsd: ZERO_MICRO_USD,
  inFlightMicroUsd: ZERO_MICRO_USD,
  capMicroUsd: null,
  resetAtMs: 0,
};

const MONTH_SPEND_SQL = `
  with m as (select date_trunc('month', now() at time zone 'utc')::date as month),
  s as (
    select coalesce(sum(settled) filter (where month = (select month from m)), 0) as spent,
      coalesce(sum(reserved), 0) as in_flight
    from spend where scope = case when $2::text is null then 'org' else 'key' end
      and id = coalesce($2, $1)
  )
  select s.spent, s.in_flight,
    case when $2 is null then o.cap_micro_usd else k.cap_micro_usd end as cap,
    (m.month + interval '1 month') at time zone 'utc' as reset_at
  from m, s, org o left join api_key k on k.key_id = $2
  where o.org_id = $1 and ($2 is null or k.org_id = o.org_id)`;

/**
 * Reads the spend of keys that have a weekly or daily cap. $1 organization, $2 key or null for all
 * keys. For each key, the week's row comes before the day's.
 */
const PERIOD_SPEND_SQL = `
  with d as (select (now() at time zone 'utc')::date as today,
    date_trunc('week', now() at time zone 'utc')::date as monday)
  select k.key_id, p.period, p.cap, coalesce((
      select sum(settled) from spend_day
      where key_id = k.key_id and day >= p.first and day < p.behind), 0)::bigint as spent,
    coalesce((select sum(reserved) from spend where scope = 'key' and id = k.key_id), 0)::bigint
      as in_flight,
    p.behind::timestamp at time zone 'utc' as reset_at
  from d, api_key k cross join lateral (values
    ('week', k.${capColumn("week")}, d.monday, d.monday + 7),
    ('day', k.${capColumn("day")}, d.today, d.today + 1)) as p(period, cap, first, behind)
  where k.org_id = $1 and ($2::text is null or k.key_id = $2) and p.cap is not null
  order by k.key_id, p.period desc`;

const periodColumns: Columns<PeriodSpend> = columns({
  ...spendProperties,
  keyId: word("key_id"),
  period: word("period"),
  capMicroUsd: micro("cap"),
});

/**
 * Returns the query parameters: $1 organization, $2 first request id, $3 the id after the last one.
 */
function rangeValues(query: UsageQuery): [string, string, string] {
  const { from, end } = toRequestSpan(query);
  return [query.orgId, from, end];
}

const USAGE_PAGE_SQL = `
  select request_id, coalesce(k.origin, key_id) as key_id, model_id, provider_id, route, basis,
    ${TOKENS_AND_DEBIT.join(", ")}
  from (${ATTEMPTED_SQL}) page left join (${MANAGED_KEY_SQL}) k on k.managed_id = key_id
  order by request_id desc limit $4`;

const pageColumns: Columns<Omit<UsageRow, "createdAtMs">> = columns({
  requestId: heldColumns.requestId,
  keyId: heldColumns.keyId,
  modelId: heldColumns.modelId,
  providerId: heldColumns.providerId,
  route: heldColumns.route,
  usage: orNull(usageColumns),
  debitMicroUsd: journalColumns.debitMicroUsd,
  basis: orNull(closedColumns.basis),
});

function usageRow(row: Row): UsageRow {
  const read = pageColumns.read(row);
  return { ...read, createdAtMs: readCreatedAt(read.requestId) };
}

type FoundGroup = Omit<UsageGroup, "usage"> & Pick<UsageRow, "usage">;

const groupColumns: Columns<FoundGroup> = columns({
  group: word("group"),
  requests: count("requests"),
  usage: orNull(usageColumns),
  debitMicroUsd: journalColumns.debitMicroUsd,
});

const LAST_ID = "ffffffff-ffff-ffff-ffff-ffffffffffff";

/**
 * Returns the range of request ids of a query. It ends at the query's cursor, if it has one: the
 * last id of the previous page.
 */
export function toRequestSpan(query: UsageQuery): RequestSpan {
  const end = query.toMs === undefined ? LAST_ID : requestIdFrom(query.toMs);
  const cursor = query.cursor ?? LAST_ID;
  return { from: requestIdFrom(query.fromMs ?? 0), end: cursor < end ? cursor : end };
}

/**
 * Sums requests by one of their columns; by provider it sums attempts, since a request may have
 * attempts at several. Past days are read from daily sums, in the same snapshot as the requests of
 * other days.
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

// The day is that of the time in the request's id, so that days agree with the bounds of a query.
const GROUP_SQL: Readonly<Record<Grouping, string>> = {
  day: "to_char(coalesce(request_day, request_day(request_id)), 'YYYY-MM-DD')",
  model: "model_id",
  key: "coalesce(k.origin, key_id)",
  provider: "provider_id",
};
