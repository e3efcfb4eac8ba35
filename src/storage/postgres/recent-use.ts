import type { Pool } from "pg";
import type { RecentCharge, RecentUse } from "../../limits/recent-use.ts";
import { queryInTime } from "./connection.ts";

/**
 * What the attempts of the last minute say about an organization's limits: its own scope, its keys'
 * and its models'. Errs towards too much: an attempt that nothing was reported of counts with its
 * estimate, and exempt requests count like others.
 */
export class PostgresRecentUse implements RecentUse {
  readonly #pool: Pool;

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  async recentUse(slot: string): Promise<readonly RecentCharge[]> {
    const orgId = /^\{org:(.+)\}$/.exec(slot)?.[1];
    if (orgId === undefined) return [];
    const result = await queryInTime<RecentRow>(this.#pool, {
      name: "recent_use",
      text: recentUseSql,
      values: [orgId],
    });
    return result.rows.map((row) => ({
      ageSeconds: row.age,
      scopeIds: [`org:${orgId}`, `key:${row.key_id}`, `model:${row.model_id}`],
      requests: Number(row.requests),
      tokens: Number(row.tokens),
    }));
  }
}

interface RecentRow {
  readonly key_id: string;
  readonly model_id: string;
  readonly age: number;
  readonly requests: bigint;
  readonly tokens: bigint;
}

/*
 * By the attempt's id, which carries this database's clock; the request's id, which carries the
 * gateway's, only finds the rows in their index: an hour is more than any clock is off.
 */
const recentUseSql = `
  select key_id, model_id,
    greatest(0, floor(extract(epoch from clock_timestamp() - created_at)))::integer as age,
    count(*) filter (where ordinal = 1) as requests,
    coalesce(sum(case
      when prompt is not null then prompt + coalesce(cached_prompt, 0) + coalesce(cache_write, 0)
        + coalesce(completion, 0) + coalesce(internal_reasoning, 0)
      when state in ('open', 'unknown_after_crash') or outcome = 'completed' then estimated_tokens
      else 0 end), 0) as tokens
  from attempt
  where org_id = $1
    and request_id >= (lpad(to_hex(
      floor(extract(epoch from now() - interval '1 hour') * 1000)::bigint), 12, '0')
      || repeat('0', 20))::uuid
    and attempt_id >= attempt_id_at(now() - interval '62 seconds')
  group by key_id, model_id, age`;
