import type { Pool, QueryConfig, QueryResult, QueryResultRow } from "pg";
import type { RoutingPolicy } from "./account-rules.ts";
import type { KeyRecord } from "./key-store.ts";
import type { EndpointRecord, LimitChange, LimitTarget, RulesStore } from "./rules-store.ts";
import { assert } from "../core/assert.ts";
import { storeAnswerTimeoutMs } from "../core/constants.ts";
import { newRecordId, type KeyId, type OrgId } from "../core/ids.ts";
import type { EndpointLimits, StoredLimit } from "../limits/stored-limit.ts";
import {
  dedicatedEndpoint,
  routingPolicy,
  storedLimit,
  type EndpointRow,
  type LimitRow,
  type PolicyRow,
} from "./account-rules-rows.ts";
import { queryInTime } from "../storage/connection.ts";
import { keyRecord, keyRecordSql, type KeyRecordRow } from "./key-record-rows.ts";

/** What operators and customers set for an organization, in PostgreSQL. */
export class PostgresRulesStore implements RulesStore {
  readonly #pool: Pool;

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  async findKey(keyId: KeyId): Promise<KeyRecord | undefined> {
    const { rows } = await this.#read<KeyRecordRow>(keyRecordSql("key_id"), [keyId]);
    return rows[0] === undefined ? undefined : keyRecord(rows[0]);
  }

  async listLimits(orgId: OrgId): Promise<readonly StoredLimit[]> {
    const { rows } = await this.#read<LimitRow>(listLimitsSql, [orgId]);
    return rows.map(storedLimit);
  }

  async changeLimit(
    orgId: OrgId,
    target: LimitTarget,
    change: LimitChange,
  ): Promise<StoredLimit | undefined> {
    assertTarget(target);
    const name = [orgId, target.scope, target.keyId ?? null, target.modelId ?? null, target.source];
    const { requestsPerMinute, tokensPerMinute, concurrent } = change;
    const values = [requestsPerMinute, tokensPerMinute, concurrent].flatMap((value) => [
      value !== undefined,
      value ?? null,
    ]);
    return await inTransaction(this.#pool, async (run) => {
      const [row] = await run(changeLimitSql, [...name, ...values]);
      if (row === undefined) return undefined;
      await run(dropEmptyLimitSql, name);
      return storedLimit(row as LimitRow);
    });
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
    const made = await this.#pool.query<EndpointRecordRow>(createEndpointSql, [
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
    if (made.rows[0] !== undefined) return endpointRecord(made.rows[0]);
    const known = await this.#pool.query("select from org where org_id = $1", [orgId]);
    return known.rowCount === 1 ? "taken" : undefined;
  }

  async listEndpoints(orgId?: OrgId): Promise<readonly EndpointRecord[]> {
    const { rows } = await this.#read<EndpointRecordRow>(listEndpointsSql, [orgId ?? null]);
    return rows.map(endpointRecord);
  }

  async removeEndpoint(endpointId: string): Promise<boolean> {
    const sql = `update dedicated_endpoint set removed_at = now()
      where endpoint_id = $1 and removed_at is null`;
    return (await this.#pool.query(sql, [endpointId])).rowCount === 1;
  }

  async setPolicy(orgId: OrgId, policy: RoutingPolicy): Promise<boolean> {
    const columns = policyColumns(policy);
    const result = columns.every((column) => column === null)
      ? await this.#pool.query(dropPolicySql, [orgId])
      : await this.#pool.query(setPolicySql, [orgId, ...columns]);
    return result.rowCount === 1;
  }

  async findPolicy(orgId: OrgId): Promise<RoutingPolicy | undefined> {
    const sql = "select * from routing_policy where org_id = $1";
    const { rows } = await this.#read<PolicyRow>(sql, [orgId]);
    return rows[0] === undefined ? undefined : routingPolicy(rows[0]);
  }

  #read<R extends QueryResultRow>(text: string, values: unknown[]): Promise<QueryResult<R>> {
    return queryInTime<R>(this.#pool, { text, values });
  }
}

const listLimitsSql = `
  select * from limit_override where org_id = $1
  order by source, scope, key_id nulls first, model_id`;

// A concurrent change of the same limit waits here: it then changes what this one has left.
const changeLimitSql = `
  insert into limit_override as l
    (org_id, scope, key_id, model_id, source, rpm, tpm, concurrency)
  select o.org_id, $2, $3, $4, $5, $7, $9, $11 from org o
  where o.org_id = $1
    and ($3::text is null or exists (select from api_key where key_id = $3 and org_id = $1))
  on conflict (org_id, scope, key_id, model_id, source) do update set
    rpm = case when $6 then excluded.rpm else l.rpm end,
    tpm = case when $8 then excluded.tpm else l.tpm end,
    concurrency = case when $10 then excluded.concurrency else l.concurrency end
  returning *`;

const dropEmptyLimitSql = `
  delete from limit_override
  where org_id = $1 and scope = $2 and key_id is not distinct from $3
    and model_id is not distinct from $4 and source = $5
    and num_nonnulls(rpm, tpm, concurrency) = 0`;

const createEndpointSql = `
  insert into dedicated_endpoint (endpoint_id, org_id, provider_id, rps, paced_per_second,
    queue_ms_max, rpm, tpm, concurrency)
  select $1, o.org_id, $3, $4, $5, $6, $7, $8, $9 from org o where o.org_id = $2
  on conflict (provider_id) where removed_at is null do nothing
  returning *`;

const listEndpointsSql = `
  select * from dedicated_endpoint
  where removed_at is null and ($1::text is null or org_id = $1)
  order by created_at, endpoint_id`;

const setPolicySql = `
  insert into routing_policy as p
    (org_id, timeout_ms, only_providers, ignore_providers, prompt_logging)
  select o.org_id, $2, $3, $4, $5 from org o where o.org_id = $1
  on conflict (org_id) do update set timeout_ms = excluded.timeout_ms,
    only_providers = excluded.only_providers, ignore_providers = excluded.ignore_providers,
    prompt_logging = excluded.prompt_logging, updated_at = now()`;

// Counts the organization, with or without a policy.
const dropPolicySql = `
  with dropped as (delete from routing_policy where org_id = $1)
  select from org where org_id = $1`;

function assertTarget({ scope, keyId, modelId }: LimitTarget): void {
  assert((scope === "model") === (modelId !== undefined), "a limit of scope model names its model");
  assert(scope !== "org" || keyId === undefined, "a limit of scope org names no key");
}

type Run = (text: string, values?: unknown[]) => Promise<readonly object[]>;

/** Rolls back by closing the connection: after a fault its state is unknown. */
async function inTransaction<T>(pool: Pool, work: (run: Run) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  const run: Run = async (text, values = []) => {
    const inTime: QueryConfig & { readonly query_timeout: number } = {
      text,
      values,
      query_timeout: storeAnswerTimeoutMs,
    };
    return (await client.query<object>(inTime)).rows;
  };
  let isDone = false;
  try {
    await run("begin");
    const outcome = await work(run);
    await run("commit");
    isDone = true;
    return outcome;
  } finally {
    client.release(!isDone);
  }
}

interface EndpointRecordRow extends EndpointRow {
  readonly org_id: string;
  readonly created_at: Date;
}

function endpointRecord(row: EndpointRecordRow): EndpointRecord {
  return {
    ...dedicatedEndpoint(row),
    orgId: row.org_id as OrgId,
    createdAtMs: row.created_at.getTime(),
  };
}

/** A list of nothing says nothing: as a default of `provider.only` it would close every route. */
function policyColumns({ timeoutMs, only, ignore, promptLogging }: RoutingPolicy): unknown[] {
  const filled = (list: readonly string[] = []): readonly string[] | null =>
    list.length === 0 ? null : list;
  return [timeoutMs ?? null, filled(only), filled(ignore), promptLogging ?? null];
}
