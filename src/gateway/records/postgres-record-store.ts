import type { Pool, PoolClient } from "pg";

import {
  capColumn,
  columns,
  type Columns,
  instantMs,
  micro,
  type OrgId,
  orNull,
  type Public,
  queryInTime,
  queryOneInTime,
  readRows,
  readRowsInTime,
  type RequestId,
  type Row,
  word,
  ZERO_MICRO_USD,
} from "../../kernel/index.ts";
import {
  type Balance,
  type MonthSpend,
  type PeriodSpend,
  readCreatedAt,
  requestIdFrom,
  type SpendReads,
} from "../../ledger/index.ts";
import type { Grouping } from "./contract/usage.ts";
import {
  NOTICE_FACTS_SQL,
  noticeFacts,
  type NoticeFacts,
  REFUSED_CAUSES_SQL,
  type RefusedFor,
} from "./notice-facts.ts";
import {
  groupColumns,
  readRecorded,
  requestColumns,
  type RequestRecord,
  type UsageGroup,
  type UsageQuery,
} from "./record-rows.ts";
import { DAY_MS, HOUR_MS, TOKENS_AND_DEBIT } from "./report-parts.ts";
import type { ReportSources } from "./report-sources.ts";
import { readRequestPage, type RequestPage } from "./request-pages.ts";
import {
  attemptedSql,
  findSums,
  LAST_MS,
  MANAGED_KEYS_SQL,
  toRequestSpan,
} from "./request-rows.ts";

export type RecordStore = Public<PostgresRecordStore>;

export class PostgresRecordStore implements SpendReads {
  readonly #pool: Pool;
  readonly #reports: Pick<ReportSources, "runNow">;

  constructor(pool: Pool, reports: Pick<ReportSources, "runNow">) {
    this.#pool = pool;
    this.#reports = reports;
  }

  async balance(orgId: OrgId): Promise<Balance> {
    const values = [`wallet:${orgId}`];
    const [balance] = await readRowsInTime(this.#pool, balanceColumns, BALANCE_SQL, values);
    return balance ?? NO_BALANCE;
  }

  async monthSpend(orgId: OrgId, keyId?: string): Promise<MonthSpend> {
    const values = [orgId, keyId ?? null];
    const [spend] = await readRowsInTime(this.#pool, monthColumns, MONTH_SPEND_SQL, values);
    return spend ?? NO_SPEND;
  }

  async periodSpend(orgId: OrgId, keyId?: string): Promise<readonly PeriodSpend[]> {
    const values = [orgId, keyId ?? null];
    return await readRowsInTime(this.#pool, periodColumns, PERIOD_SPEND_SQL, values);
  }

  /** Returns one page of the requests that were sent to a provider, newest first. */
  async usagePage({
    orgId,
    fromMs = 0,
    toMs = LAST_MS,
    ...page
  }: UsageQuery): Promise<RequestPage> {
    return await readRequestPage(
      (query) => queryInTime<Row>(this.#pool, query),
      { orgId, fromMs, toMs },
      { ...page, isAttempted: true },
    );
  }

  /** Uses a connection for reports, because it may read the whole journal of the organization. */
  async usageGroups(query: UsageQuery, by: Grouping): Promise<readonly UsageGroup[]> {
    return await this.#reports.runNow((client) => readUsageGroups(client, query, by));
  }

  async noticeFacts(orgId: OrgId, nowMs: number): Promise<NoticeFacts> {
    const since = [requestIdFrom(nowMs - HOUR_MS), requestIdFrom(nowMs - DAY_MS)];
    return noticeFacts(await queryOneInTime<Row>(this.#pool, NOTICE_FACTS_SQL, [orgId, ...since]));
  }

  /** Counts the causes of the newest ten thousand refusals since `fromMs`, most frequent first. */
  async refusedFor(orgId: OrgId, fromMs: number): Promise<readonly RefusedFor[]> {
    return await this.#read<RefusedFor>(REFUSED_CAUSES_SQL, [orgId, requestIdFrom(fromMs)]);
  }

  async generation(orgId: OrgId, requestId: RequestId): Promise<RequestRecord | undefined> {
    const found = await readRecorded((text) => this.#read<Row>(text, [orgId, requestId]));
    if (found === undefined) return undefined;
    const { row, attempts, refused } = found;
    const createdAtMs = readCreatedAt(requestId);
    const common = { requestId, createdAtMs, ...requestColumns.read(row), attempts };
    if (refused !== undefined) return { ...common, outcome: "refused", refused };
    const open = attempts.find((attempt) => attempt.outcome === "in_flight");
    const outcome = (open ?? attempts.at(-1))?.outcome ?? "in_flight";
    return { ...common, outcome };
  }

  /** A client waits for the result, so a slow query counts as a store fault. */
  async #read<R extends object>(text: string, values: unknown[]): Promise<readonly R[]> {
    return (await queryInTime<R>(this.#pool, { text, values })).rows;
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

/** Reads the spend of keys under weekly and daily caps, weekly first. $2 key, or null for all. */
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

/** To group by provider, sums attempts: a request may have attempts at several providers. */
async function readUsageGroups(
  client: PoolClient,
  query: UsageQuery,
  by: Grouping,
): Promise<readonly UsageGroup[]> {
  const { from, end } = toRequestSpan(query);
  // The page ends before the cursor, which is the last id of the previous page.
  const { cursor = end } = query;
  const span = { from, end: cursor < end ? cursor : end };
  const values: unknown[] = [query.orgId, query.limit];
  const $ = (value: unknown): string => `$${values.push(value)}`;
  const of =
    by === "provider"
      ? `journal where org_id = $1 and request_id >= ${$(span.from)}::uuid
        and request_id < ${$(span.end)}::uuid`
      : `(${attemptedSql(await findSums(client, query.orgId, span), $)}) r
        left join (${MANAGED_KEYS_SQL}) k on k.managed_id = key_id`;
  const requests = by === "provider" ? "count(distinct request_id)" : "sum(requests)";
  const sums = TOKENS_AND_DEBIT.map((each) => `coalesce(sum(${each}), 0)::bigint as ${each}`);
  const text = `
  select ${GROUP_SQL[by]} as group, ${requests}::bigint as requests, ${sums.join(", ")} from ${of}
  group by 1 having ${requests} <> 0
  order by ${by === "day" ? "1 desc" : "debit desc, 1"} limit $2`;
  return await readRows(client, groupColumns, text, values);
}

// The day is that of the time in the request's id, so that days agree with the bounds of a query.
const GROUP_SQL: Readonly<Record<Grouping, string>> = {
  day: "to_char(coalesce(request_day, request_day(request_id)), 'YYYY-MM-DD')",
  model: "model_id",
  key: "coalesce(k.origin, key_id)",
  provider: "provider_id",
};
