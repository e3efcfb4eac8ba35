import type { Pool, QueryResult, QueryResultRow } from "pg";

import {
  assert,
  microUsd,
  type OrgId,
  type RequestId,
  ZERO_MICRO_USD,
  ZERO_USAGE,
  capColumn,
  columns,
  type Columns,
  count,
  inTransaction,
  instantMs,
  micro,
  orNull,
  queryInTime,
  type Row,
  word,
} from "../../kernel/index.ts";
import {
  type Balance,
  closedColumns,
  readCreatedAt,
  heldColumns,
  journalColumns,
  type MonthSpend,
  type PeriodSpend,
  requestIdFrom,
  usageColumns,
} from "../../ledger/index.ts";
import {
  NOTICE_FACTS_SQL,
  noticeFacts,
  type NoticeFacts,
  type NoticeFactsRow,
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
} from "./record-rows.ts";
import type {
  RecordStore,
  RequestRecord,
  UsageGroup,
  UsageQuery,
  UsageRow,
} from "./record-store.ts";
import { MANAGED_KEY_SQL, readUsageGroups, toRequestSpan } from "./usage-groups.ts";
import { ATTEMPTED_SQL } from "./request-pages.ts";
import { TOKENS_AND_DEBIT } from "./report-parts.ts";

/** Reads of the journal. A request is its attempts; its id carries when it came. */
export class PostgresRecordStore implements RecordStore {
  readonly #pool: Pool;

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  async balance(orgId: OrgId): Promise<Balance> {
    const result = await this.#read<{ settled: bigint; held: bigint }>(
      `select credits - debits - owed as settled, reserved as held from account
      where account_id = $1`,
      [`wallet:${orgId}`],
    );
    const row = result.rows[0];
    return row === undefined
      ? { settledMicroUsd: ZERO_MICRO_USD, heldMicroUsd: ZERO_MICRO_USD }
      : { settledMicroUsd: microUsd(row.settled), heldMicroUsd: microUsd(row.held) };
  }

  async monthSpend(orgId: OrgId, keyId?: string): Promise<MonthSpend> {
    const result = await this.#read<SpendRow>(MONTH_SPEND_SQL, [orgId, keyId ?? null]);
    const row = result.rows[0];
    return {
      spentMicroUsd: microUsd(row?.spent ?? 0n),
      inFlightMicroUsd: microUsd(row?.in_flight ?? 0n),
      capMicroUsd: row?.cap === null || row === undefined ? null : microUsd(row.cap),
      resetAtMs: row?.reset_at.getTime() ?? 0,
    };
  }

  async periodSpend(orgId: OrgId, keyId?: string): Promise<readonly PeriodSpend[]> {
    const { rows } = await this.#read<Row>(PERIOD_SPEND_SQL, [orgId, keyId ?? null]);
    return rows.map(periodColumns.read);
  }

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
    const { rows } = await this.#read<NoticeFactsRow>(NOTICE_FACTS_SQL, values);
    const [row] = rows;
    assert(row !== undefined, "a statement of sums answers with a row");
    return noticeFacts(row);
  }

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

  /** A caller waits for the result, so a slow query counts as a store fault. */
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

interface SpendRow {
  readonly spent: bigint;
  readonly in_flight: bigint;
  readonly cap: bigint | null;
  readonly reset_at: Date;
}

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

/** $1 organization, $2 key, or null: all. What resets last comes first. */
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
  keyId: word("key_id"),
  period: word("period"),
  spentMicroUsd: micro("spent"),
  inFlightMicroUsd: micro("in_flight"),
  capMicroUsd: micro("cap"),
  resetAtMs: instantMs("reset_at"),
});

/** $1 organization, $2 first id, $3 id after the last one. */
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
