import type { Pool, QueryResult, QueryResultRow } from "pg";
import type { OrgId, RequestId } from "../core/ids.ts";
import { microUsd, ZERO_MICRO_USD } from "../core/money.ts";
import type { Usage } from "../core/usage.ts";
import type { SettlementBasis } from "../ledger/ledger-store.ts";
import type {
  RecordStore,
  RequestRecord,
  UsageGroup,
  UsageQuery,
  UsageRow,
} from "./record-store.ts";
import type { MonthSpend, Balance } from "../ledger/spend-reads.ts";
import { queryInTime } from "../storage/connection.ts";
import {
  requestIdFrom,
  createdAtOf,
  usageOf,
  type UsageColumns,
} from "../ledger/attempt-columns.ts";
import { refusedRecord, attemptRecord, type RefusedRow, type AttemptRow } from "./record-rows.ts";
import { managedSql } from "../accounts/key-summary-rows.ts";

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
    const result = await this.#read<SpendRow>(monthSpendSql, [orgId, keyId ?? null]);
    const row = result.rows[0];
    return {
      spentMicroUsd: microUsd(row?.spent ?? 0n),
      inFlightMicroUsd: microUsd(row?.in_flight ?? 0n),
      capMicroUsd: row?.cap === null || row === undefined ? null : microUsd(row.cap),
      resetAtMs: row?.reset_at.getTime() ?? 0,
    };
  }

  async usagePage(
    query: UsageQuery,
  ): Promise<{ readonly rows: readonly UsageRow[]; readonly nextCursor: string | null }> {
    const result = await this.#read<UsagePageRow>(usagePageSql, [
      ...rangeValues(query),
      query.limit + 1,
    ]);
    const rows = result.rows.slice(0, query.limit).map(usageRow);
    const hasMore = result.rows.length > query.limit;
    return { rows, nextCursor: hasMore ? (rows.at(-1)?.requestId ?? null) : null };
  }

  async usageGroups(
    query: UsageQuery,
    by: "day" | "model" | "key" | "provider",
  ): Promise<readonly UsageGroup[]> {
    const result = await this.#pool.query<UsageGroupRow>(usageGroupsSql(by), [
      ...rangeValues(query),
      query.limit,
    ]);
    return result.rows.map((row) => ({
      group: row.group,
      requests: Number(row.requests),
      usage: usageOf(row) ?? zeroUsage,
      debitMicroUsd: microUsd(row.debit),
    }));
  }

  async generation(orgId: OrgId, requestId: RequestId): Promise<RequestRecord | undefined> {
    const attempts = await this.#read<AttemptRow>(attemptsSql, [orgId, requestId]);
    const [first] = attempts.rows;
    if (first === undefined) return await this.#refused(orgId, requestId);
    const records = attempts.rows.map(attemptRecord);
    const open = records.find((attempt) => attempt.outcome === "in_flight");
    return {
      requestId,
      keyId: first.key_id,
      modelId: first.model_id,
      route: first.route,
      stream: first.stream,
      createdAtMs: createdAtOf(requestId),
      outcome: (open ?? records.at(-1))?.outcome ?? "in_flight",
      attempts: records,
    };
  }

  /** A caller waits for it: what takes longer than a store may take is a fault of the store. */
  #read<R extends QueryResultRow>(text: string, values: unknown[]): Promise<QueryResult<R>> {
    return queryInTime<R>(this.#pool, { text, values });
  }

  async #refused(orgId: OrgId, requestId: RequestId): Promise<RequestRecord | undefined> {
    const result = await this.#read<RefusedRow>(refusedSql, [orgId, requestId]);
    const row = result.rows[0];
    return row === undefined ? undefined : refusedRecord(requestId, row);
  }
}

const zeroUsage: Usage = {
  prompt: 0,
  cachedPrompt: 0,
  cacheWrite: 0,
  completion: 0,
  internalReasoning: 0,
};

interface SpendRow {
  readonly spent: bigint;
  readonly in_flight: bigint;
  readonly cap: bigint | null;
  readonly reset_at: Date;
}

const monthSpendSql = `
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

/** $1 organization, $2 first id, $3 id behind the last one. */
function rangeValues(query: UsageQuery): [string, string, string] {
  const end = query.toMs === undefined ? LAST_ID : requestIdFrom(query.toMs);
  const cursor = query.cursor ?? LAST_ID;
  return [query.orgId, requestIdFrom(query.fromMs ?? 0), cursor < end ? cursor : end];
}

const LAST_ID = "ffffffff-ffff-ffff-ffff-ffffffffffff";
const rangeSql = "org_id = $1 and request_id >= $2::uuid and request_id < $3::uuid";
const usageSumsSql = `sum(prompt)::bigint as prompt, sum(cached_prompt)::bigint as cached_prompt,
  sum(cache_write)::bigint as cache_write, sum(completion)::bigint as completion,
  sum(internal_reasoning)::bigint as internal_reasoning, sum(debit)::bigint as debit`;

interface UsagePageRow extends UsageColumns {
  readonly request_id: RequestId;
  readonly key_id: string;
  readonly model_id: string;
  readonly provider_id: string;
  readonly route: string;
  readonly debit: bigint;
  readonly basis: SettlementBasis | null;
}

/* The marketplace's own keys are named by their parts. */
const managedKeySql = `
  select key_id as managed_id, origin from api_key where org_id = $1 and ${managedSql}`;

const usagePageSql = `
  select page.*, coalesce(k.origin, page.own_key_id) as key_id
  from (
    select request_id, min(key_id) as own_key_id, min(model_id) as model_id, min(route) as route,
      (array_agg(provider_id order by ordinal desc))[1] as provider_id,
      (array_agg(basis order by ordinal desc))[1] as basis, ${usageSumsSql}
    from attempt where ${rangeSql}
    group by request_id order by request_id desc limit $4
  ) page left join (${managedKeySql}) k on k.managed_id = page.own_key_id
  order by request_id desc`;

function usageRow(row: UsagePageRow): UsageRow {
  return {
    requestId: row.request_id,
    createdAtMs: createdAtOf(row.request_id),
    keyId: row.key_id,
    modelId: row.model_id,
    providerId: row.provider_id,
    route: row.route,
    usage: usageOf(row),
    debitMicroUsd: microUsd(row.debit),
    basis: row.basis,
  };
}

interface UsageGroupRow extends UsageColumns {
  readonly group: string;
  readonly requests: bigint;
  readonly debit: bigint;
}

// A request's day is the one its id carries, so that days and the bounds of a query agree.
const requestTimeSql = `to_timestamp(
  ('x' || left(replace(request_id::text, '-', ''), 12))::bit(48)::bigint / 1000.0)`;
const groupColumns = {
  day: `to_char(${requestTimeSql} at time zone 'utc', 'YYYY-MM-DD')`,
  model: "model_id",
  key: "coalesce(origin, key_id)",
  provider: "provider_id",
};

function usageGroupsSql(by: keyof typeof groupColumns): string {
  const order = by === "day" ? "1 desc" : "debit desc, 1";
  return `
  select ${groupColumns[by]} as group, count(distinct request_id) as requests, ${usageSumsSql}
  from attempt ${by === "key" ? `left join (${managedKeySql}) k on k.managed_id = key_id` : ""}
  where ${rangeSql}
  group by 1 order by ${order} limit $4`;
}

const attemptsSql = `
  select ordinal, key_id, model_id, provider_id, upstream_model_id, route, stream, created_at,
    started_at, first_byte_ms, duration_ms, state, outcome, basis, upstream_status, error_class,
    served_model, substituted, prompt, cached_prompt, cache_write, completion,
    internal_reasoning, reserve, debit
  from attempt where org_id = $1 and request_id = $2::uuid
  order by ordinal, attempt_id`;

const refusedSql = `
  select key_id, model_id, route, stream, created_at from refused_request
  where org_id = $1 and request_id = $2::uuid`;
