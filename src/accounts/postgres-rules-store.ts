import type { Pool, PoolClient, QueryResult, QueryResultRow } from "pg";

import { assert, newRecordId, type OrgId, STORE_ANSWER_TIMEOUT_MS } from "../core/index.ts";
import type { EndpointLimits, StoredLimit } from "../limits/index.ts";
import {
  columns,
  type Columns,
  instantMs,
  inTransaction,
  queryInTime,
  type Row,
  text,
} from "../storage/index.ts";
import {
  endpointProperties,
  limitColumns,
  policyColumns,
  type AccountRulesRow,
} from "./account-rules-rows.ts";
import type { RoutingPolicy } from "./account-rules.ts";
import { keyRecord, keyRecordSql } from "./key-record-rows.ts";
import type { KeyRecord } from "./key-store.ts";
import type { EndpointRecord, LimitChange, LimitTarget, RulesStore } from "./rules-store.ts";

/** What operators and customers set for an organization, in PostgreSQL. */
export class PostgresRulesStore implements RulesStore {
  readonly #pool: Pool;

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  async findKey(keyId: string): Promise<KeyRecord | undefined> {
    const { rows } = await this.#read<AccountRulesRow>(keyRecordSql("k.key_id = $1"), [keyId]);
    return rows[0] === undefined ? undefined : keyRecord(rows[0]);
  }

  async listLimits(orgId: OrgId): Promise<readonly StoredLimit[]> {
    const { rows } = await this.#read<Row>(LIST_LIMITS_SQL, [orgId]);
    return rows.map(limitColumns.read);
  }

  async changeLimit(
    orgId: OrgId,
    target: LimitTarget,
    { requestsPerMinute, tokensPerMinute, concurrent }: LimitChange,
  ): Promise<StoredLimit | undefined> {
    assertTarget(target);
    const name = [orgId, target.scope, target.keyId ?? null, target.modelId ?? null, target.source];
    const values = [requestsPerMinute, tokensPerMinute, concurrent].flatMap((value) => [
      value !== undefined,
      value ?? null,
    ]);
    const change = async (client: PoolClient): Promise<StoredLimit | undefined> => {
      const changing = { text: CHANGE_LIMIT_SQL, values: [...name, ...values] };
      const [row] = (await queryInTime<Row>(client, changing)).rows;
      if (row === undefined) return undefined;
      await queryInTime(client, { text: DROP_EMPTY_LIMIT_SQL, values: name });
      return limitColumns.read(row);
    };
    return await inTransaction(this.#pool, change, STORE_ANSWER_TIMEOUT_MS);
  }

  async setKeysMaySetOrgLimits(orgId: OrgId, may: boolean): Promise<boolean> {
    const sql = "update org set keys_may_set_org_limits = $2 where org_id = $1";
    return (await this.#pool.query(sql, [orgId, may])).rowCount === 1;
  }

  async createEndpoint(endpoint: {
    readonly orgId: OrgId;
    readonly providerId: string;
    readonly limits: EndpointLimits;
  }): Promise<EndpointRecord | "taken" | undefined> {
    const { orgId, providerId, limits } = endpoint;
    const made = await this.#pool.query<Row>(CREATE_ENDPOINT_SQL, [
      newRecordId("endpoint"),
      orgId,
      providerId,
      limits.requestsPerSecond ?? null,
      limits.paced?.perSecond ?? null,
      limits.paced?.waitMsMax ?? null,
      limits.requestsPerMinute ?? null,
      limits.tokensPerMinute ?? null,
      limits.concurrent ?? null,
    ]);
    if (made.rows[0] !== undefined) return endpointColumns.read(made.rows[0]);
    const known = await this.#pool.query("select from org where org_id = $1", [orgId]);
    return known.rowCount === 1 ? "taken" : undefined;
  }

  async listEndpoints(orgId?: OrgId): Promise<readonly EndpointRecord[]> {
    const { rows } = await this.#read<Row>(LIST_ENDPOINTS_SQL, [orgId ?? null]);
    return rows.map(endpointColumns.read);
  }

  async removeEndpoint(endpointId: string): Promise<boolean> {
    const sql = `update dedicated_endpoint set removed_at = now()
      where endpoint_id = $1 and removed_at is null`;
    return (await this.#pool.query(sql, [endpointId])).rowCount === 1;
  }

  async setPolicy(orgId: OrgId, policy: RoutingPolicy): Promise<boolean> {
    const values = policyValues(policy);
    const result = values.every((value) => value === null)
      ? await this.#pool.query(DROP_POLICY_SQL, [orgId])
      : await this.#pool.query(SET_POLICY_SQL, [orgId, ...values]);
    return result.rowCount === 1;
  }

  async findPolicy(orgId: OrgId): Promise<RoutingPolicy | undefined> {
    const sql = `select ${policyColumns.sql} from routing_policy where org_id = $1`;
    const { rows } = await this.#read<Row>(sql, [orgId]);
    return rows[0] === undefined ? undefined : policyColumns.read(rows[0]);
  }

  #read<R extends QueryResultRow>(sql: string, values: unknown[]): Promise<QueryResult<R>> {
    return queryInTime<R>(this.#pool, { text: sql, values });
  }
}

const LIST_LIMITS_SQL = `
  select ${limitColumns.sql} from limit_override where org_id = $1
  order by source, scope, key_id nulls first, model_id`;

// A concurrent change of the same limit waits here: it then changes what this one has left.
const CHANGE_LIMIT_SQL = `
  insert into limit_override as l
    (org_id, scope, key_id, model_id, source, rpm, tpm, concurrency)
  select o.org_id, $2, $3, $4, $5, $7, $9, $11 from org o
  where o.org_id = $1
    and ($3::text is null or exists (select from api_key where key_id = $3 and org_id = $1))
  on conflict (org_id, scope, key_id, model_id, source) do update set
    rpm = case when $6 then excluded.rpm else l.rpm end,
    tpm = case when $8 then excluded.tpm else l.tpm end,
    concurrency = case when $10 then excluded.concurrency else l.concurrency end
  returning ${limitColumns.sqlOf("l")}`;

const DROP_EMPTY_LIMIT_SQL = `
  delete from limit_override
  where org_id = $1 and scope = $2 and key_id is not distinct from $3
    and model_id is not distinct from $4 and source = $5
    and num_nonnulls(rpm, tpm, concurrency) = 0`;

const endpointColumns: Columns<EndpointRecord> = columns<EndpointRecord>({
  ...endpointProperties,
  orgId: text("org_id"),
  createdAtMs: instantMs("created_at"),
});

const CREATE_ENDPOINT_SQL = `
  insert into dedicated_endpoint (endpoint_id, org_id, provider_id, rps, paced_per_second,
    queue_ms_max, rpm, tpm, concurrency)
  select $1, o.org_id, $3, $4, $5, $6, $7, $8, $9 from org o where o.org_id = $2
  on conflict (provider_id) where removed_at is null do nothing
  returning ${endpointColumns.sql}`;

const LIST_ENDPOINTS_SQL = `
  select ${endpointColumns.sql} from dedicated_endpoint
  where removed_at is null and ($1::text is null or org_id = $1)
  order by created_at, endpoint_id`;

const SET_POLICY_SQL = `
  insert into routing_policy as p
    (org_id, timeout_ms, only_providers, ignore_providers, prompt_logging)
  select o.org_id, $2, $3, $4, $5 from org o where o.org_id = $1
  on conflict (org_id) do update set timeout_ms = excluded.timeout_ms,
    only_providers = excluded.only_providers, ignore_providers = excluded.ignore_providers,
    prompt_logging = excluded.prompt_logging, updated_at = now()`;

// Counts the organization, with or without a policy.
const DROP_POLICY_SQL = `
  with dropped as (delete from routing_policy where org_id = $1)
  select from org where org_id = $1`;

function assertTarget({ scope, keyId, modelId }: LimitTarget): void {
  assert((scope === "model") === (modelId !== undefined), "a limit of scope model names its model");
  assert(scope !== "org" || keyId === undefined, "a limit of scope org names no key");
}

/** A list of nothing says nothing: as a default of `provider.only` it would close every route. */
function policyValues({ timeoutMs, only, ignore, promptLogging }: RoutingPolicy): unknown[] {
  const filled = (list: readonly string[] = []): readonly string[] | null =>
    list.length === 0 ? null : list;
  return [timeoutMs ?? null, filled(only), filled(ignore), promptLogging ?? null];
}
