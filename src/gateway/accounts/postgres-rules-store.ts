import type { Pool } from "pg";

import {
  type ChangedBy,
  type ChangeLog,
  type Facts,
  createRecordId,
  type OrgId,
  type Public,
  STORE_ANSWER_TIMEOUT_MS,
  columns,
  type Columns,
  instantMs,
  queryInTime,
  readRows,
  readRowsInTime,
  text,
} from "../../kernel/index.ts";
import type { StoredLimit, LimitTarget } from "../limits/limit-ceilings.ts";
import {
  type KeyRecordRow,
  changeLimit,
  endpointProperties,
  keyRecord,
  keyRecordSql,
  limitColumns,
  lockOrg,
  policyColumns,
  valueFacts,
} from "./account-rules-rows.ts";
import type { DedicatedEndpoint, LimitChange, RoutingPolicy } from "./account-rules.ts";
import type { KeyRecord } from "./key-store.ts";
import { changeOrg } from "./postgres-org-directory.ts";

export interface EndpointRecord extends DedicatedEndpoint {
  readonly orgId: OrgId;
  readonly createdAtMs: number;
}

export class PostgresRulesStore {
  readonly #pool: Pool;
  readonly #changes: ChangeLog;

  constructor(pool: Pool, changes: ChangeLog) {
    this.#pool = pool;
    this.#changes = changes;
  }

  /** Reads a key and its rules from the database, never from a cache. */
  async findKey(keyId: string): Promise<KeyRecord | undefined> {
    const sql = keyRecordSql("k.key_id = $1 and s.digest = k.digest");
    const query = { text: sql, values: [keyId] };
    const [row] = (await queryInTime<KeyRecordRow>(this.#pool, query)).rows;
    return row && keyRecord(row);
  }

  async listLimits(orgId: OrgId): Promise<readonly StoredLimit[]> {
    return await readRowsInTime(this.#pool, limitColumns, LIST_LIMITS_SQL, [orgId]);
  }

  /**
   * Deletes the limit if no value is left. The caller has checked the ceilings. Returns undefined
   * if the organization does not exist or the key is not one of its keys.
   */
  async changeLimit(
    orgId: OrgId,
    target: LimitTarget,
    change: LimitChange,
    by: ChangedBy,
  ): Promise<StoredLimit | undefined> {
    return await this.#changes.write(
      by,
      (client, note) => changeLimit(client, note, { orgId, target, change }),
      STORE_ANSWER_TIMEOUT_MS,
    );
  }

  async setKeysMaySetOrgLimits(orgId: OrgId, may: boolean, by: ChangedBy): Promise<boolean> {
    const toFacts = (allowed: boolean): Facts => ({ allowed });
    const set = { column: "keys_may_set_org_limits", value: may, toFacts } as const;
    const change = { orgId, action: "org.keys-may-set-limits", ...set } as const;
    return await this.#changes.write(by, (client, note) => changeOrg(client, note, change));
  }

  /** Returns `taken` if the provider has another endpoint; undefined for an unknown organization. */
  async createEndpoint(
    endpoint: Pick<EndpointRecord, "orgId"> & EndpointTerms,
    by: ChangedBy,
  ): Promise<EndpointRecord | "taken" | undefined> {
    const { orgId, providerId, limits } = endpoint;
    const made = await this.#changes.write(by, async (client, note) => {
      const values = [
        createRecordId("endpoint"),
        orgId,
        providerId,
        limits.requestsPerSecond ?? null,
        limits.paced?.perSecond ?? null,
        limits.paced?.waitMsMax ?? null,
        limits.requestsPerMinute ?? null,
        limits.tokensPerMinute ?? null,
        limits.concurrent ?? null,
      ];
      const [added] = await readRows(client, endpointColumns, CREATE_ENDPOINT_SQL, values);
      if (added === undefined) return undefined;
      const target = added.endpointId;
      note({ action: "endpoint.add", orgId, target, before: null, after: endpointFacts(added) });
      return added;
    });
    if (made !== undefined) return made;
    const known = await this.#pool.query("select from org where org_id = $1", [orgId]);
    return known.rowCount === 1 ? "taken" : undefined;
  }

  async listEndpoints(orgId?: OrgId): Promise<readonly EndpointRecord[]> {
    const values = [orgId ?? null];
    return await readRowsInTime(this.#pool, endpointColumns, LIST_ENDPOINTS_SQL, values);
  }

  async removeEndpoint(endpointId: string, by: ChangedBy): Promise<boolean> {
    return await this.#changes.write(by, async (client, note) => {
      const [removed] = await readRows(client, endpointColumns, REMOVE_ENDPOINT_SQL, [endpointId]);
      if (removed === undefined) return false;
      const { orgId } = removed;
      const before = endpointFacts(removed);
      note({ action: "endpoint.remove", orgId, target: endpointId, before, after: null });
      return true;
    });
  }

  /** An empty policy removes the stored one. Returns false if the organization does not exist. */
  async setPolicy(orgId: OrgId, policy: RoutingPolicy, by: ChangedBy): Promise<boolean> {
    const values = policyValues(policy);
    const isEmpty = values.every((value) => value === null);
    return await this.#changes.write(by, async (client, note) => {
      if (!(await lockOrg(client, orgId))) return false;
      const [stored] = await readRows(client, policyColumns, POLICY_SQL, [orgId]);
      if (isEmpty) await client.query("delete from routing_policy where org_id = $1", [orgId]);
      else await client.query(SET_POLICY_SQL, [orgId, ...values]);
      const before = stored === undefined ? null : policyFacts(stored);
      const after = isEmpty ? null : policyFacts(policy);
      note({ action: "org.policy", orgId, target: orgId, before, after });
      return true;
    });
  }

  async findPolicy(orgId: OrgId): Promise<RoutingPolicy | undefined> {
    return (await readRowsInTime(this.#pool, policyColumns, POLICY_SQL, [orgId]))[0];
  }
}

export type RulesStore = Public<PostgresRulesStore>;

const POLICY_SQL = `select ${policyColumns.sql} from routing_policy where org_id = $1`;

interface EndpointTerms extends Pick<EndpointRecord, "limits"> {
  readonly providerId: string;
}

function endpointFacts({ providerId, limits }: EndpointTerms): Facts {
  return {
    provider: providerId,
    rps: limits.requestsPerSecond ?? null,
    paced_per_second: limits.paced?.perSecond ?? null,
    queue_ms: limits.paced?.waitMsMax ?? null,
    ...valueFacts(limits),
  };
}

function policyFacts({ timeoutMs, only, ignore, promptLogging }: RoutingPolicy): Facts {
  return {
    timeout_ms: timeoutMs ?? null,
    only: only ?? null,
    ignore: ignore ?? null,
    prompt_logging: promptLogging ?? null,
  };
}

const LIST_LIMITS_SQL = `
  select ${limitColumns.sql} from limit_override where org_id = $1
  order by source, scope, key_id nulls first, model_id`;

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

const REMOVE_ENDPOINT_SQL = `
  update dedicated_endpoint set removed_at = now()
  where endpoint_id = $1 and removed_at is null returning ${endpointColumns.sql}`;

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

/** An empty list becomes null: as `provider.only`, it would exclude every provider. */
function policyValues({ timeoutMs, only, ignore, promptLogging }: RoutingPolicy): unknown[] {
  const filled = (list: readonly string[] = []): readonly string[] | null =>
    list.length === 0 ? null : list;
  return [timeoutMs ?? null, filled(only), filled(ignore), promptLogging ?? null];
}
