import type { Pool } from "pg";

import { columns, count, integer, queryInTime } from "../../kernel/index.ts";
import { OWN_KEY_PINS } from "../../catalog/index.ts";
import type { TokenCount } from "./limit-store.ts";

/** The sum of the charges to exactly these scopes in one of the last 62 seconds. */
export interface RecentCharge extends TokenCount {
  /** Age in whole seconds, rounded down. */
  readonly ageSeconds: number;
  readonly scopeIds: readonly string[];
  readonly requests: number;
}

/**
 * Reads the history from which a shared limit store is refilled after it has lost its data; empty
 * if the slot is new, or of a kind that the journal does not record.
 */
export type RecentUse = (slot: string) => Promise<readonly RecentCharge[]>;

export interface PoolMember {
  readonly providerId: string;
  readonly modelId: string;
}

/**
 * Reads the use of a slot's limits from the attempts of the last minute. It overestimates: an
 * attempt without reported usage counts its estimate both as prompt and as completion tokens if it
 * is open, completed or unknown after a crash; those of a dedicated endpoint count towards every
 * limit of their organization; requests that a customer's own provider key served count, but not
 * in the windows without credit. `membersOf` lists the listings of a pool, because the journal does
 * not record pools.
 */
export async function readRecentUse(
  pool: Pool,
  slot: string,
  membersOf: (poolId: string) => readonly PoolMember[],
): Promise<readonly RecentCharge[]> {
  const [, kind = "", id = ""] = /^\{(org|endpoint|pool|platform)(?::(.+))?\}$/.exec(slot) ?? [];
  const read = async (
    text: string,
    values: unknown[],
    scopeIdsOf: (row: RecentRow) => readonly string[],
  ): Promise<readonly RecentCharge[]> => {
    const query = { name: `recent_use_of_${kind}`, text, values };
    const { rows } = await queryInTime<RecentRow>(pool, query);
    return rows.map((row) => ({ ...chargeColumns.read(row), scopeIds: scopeIdsOf(row) }));
  };
  switch (kind) {
    case "org":
      return await read(OF_ORG_SQL, [id], (row) => {
        const { key_id: keyId, model_id: modelId, is_unfunded: isUnfunded } = row;
        const wide = [`org:${id}`, `key:${keyId}`];
        const unfunded = isUnfunded ? wide.map((scopeId) => `${scopeId}#unfunded`) : [];
        return [...wide, ...unfunded, `model:${modelId}@${id}`, `model:${modelId}@${keyId}`];
      });
    case "endpoint":
      return await read(OF_ENDPOINT_SQL, [id], () => [`endpoint:${id}`]);
    case "pool": {
      const members = membersOf(id);
      const providerIds = members.map(({ providerId }) => providerId);
      const values = [providerIds, members.map(({ modelId }) => modelId)];
      return await read(OF_POOL_SQL, values, ({ org_id: orgId }) => [
        `pool:${id}`,
        `pool-share:${id}@${orgId}`,
      ]);
    }
    case "platform":
      return await read(OF_PLATFORM_SQL, [], () => ["platform"]);
    default:
      return [];
  }
}

interface RecentRow {
  /** The columns by which queries group; each query returns only its own grouping columns. */
  readonly org_id: string;
  readonly key_id: string;
  readonly model_id: string;
  readonly is_unfunded: boolean;
}

const chargeColumns = columns<Omit<RecentCharge, "scopeIds">>({
  ageSeconds: integer("age"),
  requests: count("requests"),
  tokens: count("tokens"),
  promptTokens: count("prompt_tokens"),
  completionTokens: count("completion_tokens"),
});

const PROMPT_SQL = "prompt + coalesce(cached_prompt, 0) + coalesce(cache_write, 0)";
const COMPLETION_SQL = "coalesce(completion, 0) + coalesce(internal_reasoning, 0)";

const AMOUNTS_SQL = `
    greatest(0, floor(extract(epoch from clock_timestamp() - created_at)))::integer as age,
    ${tokensSql(`${PROMPT_SQL} + ${COMPLETION_SQL}`)} as tokens,
    ${tokensSql(PROMPT_SQL)} as prompt_tokens,
    ${tokensSql(COMPLETION_SQL)} as completion_tokens`;

function tokensSql(observed: string): string {
  return `coalesce(sum(case
      when prompt is not null then ${observed}
      when state in ('open', 'unknown_after_crash') or outcome = 'completed' then estimated_tokens
      else 0 end), 0)`;
}

/* A request counts at its first attempt only, but in a pool once for each attempt. */
const REQUESTS_SQL = "count(*) filter (where ordinal = 1) as requests";

/* Attempt ids hold the time by this database's clock, and have an index over all organizations. */
const RECENT_SQL = "attempt_id >= attempt_id_at(now() - interval '62 seconds')";

/*
 * The request's id contains the time by the gateway's clock, which is less than an hour off; the
 * condition on it only narrows the index scan.
 */
const RECENT_OF_ORG_SQL = `${RECENT_SQL}
    and request_id >= (lpad(to_hex(
      floor(extract(epoch from now() - interval '1 hour') * 1000)::bigint), 12, '0')
      || repeat('0', 20))::uuid`;

const OF_ORG_SQL = `
  select key_id, model_id, price_pin_id not like '${OWN_KEY_PINS}%'
      and (select funded_at is null from org where org_id = $1) as is_unfunded,
    ${REQUESTS_SQL}, ${AMOUNTS_SQL}
  from journal
  where org_id = $1 and ${RECENT_OF_ORG_SQL}
  group by key_id, model_id, is_unfunded, age`;

const OF_ENDPOINT_SQL = `
  select ${REQUESTS_SQL}, ${AMOUNTS_SQL}
  from journal
  where (org_id, provider_id) =
      (select org_id, provider_id from dedicated_endpoint where endpoint_id = $1)
    and ${RECENT_OF_ORG_SQL}
  group by age`;

const OF_POOL_SQL = `
  select org_id, count(*) as requests, ${AMOUNTS_SQL}
  from journal
  where ${RECENT_SQL}
    and (provider_id, model_id) in (select * from unnest($1::text[], $2::text[]))
  group by org_id, age`;

const OF_PLATFORM_SQL = `
  select ${REQUESTS_SQL}, ${AMOUNTS_SQL}
  from journal
  where ${RECENT_SQL}
  group by age`;
