import {
  PLAIN_RULES,
  type AccountRules,
  type Connection,
  type DedicatedEndpoint,
  type RoutingPolicy,
  type UsageHold,
} from "./account-rules.ts";
import type { KeyId, ProviderId } from "../core/ids.ts";
import type { EndpointLimits, StoredLimit } from "../limits/stored-limit.ts";

/**
 * Columns of an `AccountRulesRow`, for a query over `api_key k` and `org o`. Rows arrive as JSON, so
 * that a key is one row whatever belongs to it; bytes travel as base64.
 */
export const accountRulesColumns: string = `
  o.bought_at is null as is_trial, o.keys_may_set_org_limits,
  (select json_agg(l order by l.scope, l.model_id, l.key_id, l.source) from limit_override l
    where l.org_id = k.org_id and (l.key_id is null or l.key_id = k.key_id)) as limits,
  (select json_agg(e order by e.created_at, e.endpoint_id) from dedicated_endpoint e
    where e.org_id = k.org_id and e.removed_at is null) as endpoints,
  (select json_agg(json_build_object('connection_id', c.connection_id, 'key_id', c.key_id,
      'provider_id', c.provider_id, 'sealed_key', encode(c.sealed_key, 'base64'))
    order by c.provider_id)
    from (select distinct on (provider_id) * from connection
      where org_id = k.org_id and (key_id is null or key_id = k.key_id) and disabled_at is null
      order by provider_id, key_id nulls last) c) as connections,
  (select row_to_json(p) from routing_policy p where p.org_id = k.org_id) as policy,
  (select json_agg(json_build_object('family', h.family, 'state', h.state,
      'until_ms', (extract(epoch from h.until_at) * 1000)::bigint)
    order by h.family)
    from (select distinct on (family) * from usage_hold
      where org_id = k.org_id and lifted_at is null and (until_at is null or until_at > now())
      order by family, until_at desc nulls first) h) as usage_holds`;

/** A list without rows is null. */
export interface AccountRulesRow {
  readonly is_trial: boolean;
  readonly keys_may_set_org_limits: boolean;
  readonly limits: readonly LimitRow[] | null;
  readonly endpoints: readonly EndpointRow[] | null;
  readonly connections: readonly ConnectionRow[] | null;
  readonly policy: PolicyRow | null;
  readonly usage_holds: readonly UsageHoldRow[] | null;
}

/** The rules of a key; `PLAIN_RULES` itself where there is nothing to say. */
export function accountRules(row: AccountRulesRow): AccountRules {
  if (isPlain(row)) return PLAIN_RULES;
  return {
    limits: (row.limits ?? []).map(storedLimit),
    endpoints: (row.endpoints ?? []).map(dedicatedEndpoint),
    connections: (row.connections ?? []).map(connection),
    ...(row.policy === null ? {} : { policy: routingPolicy(row.policy) }),
    usageHolds: (row.usage_holds ?? []).map(usageHold),
    isTrial: row.is_trial,
    keysMaySetOrgLimits: row.keys_may_set_org_limits,
  };
}

function isPlain(row: AccountRulesRow): boolean {
  const { is_trial, keys_may_set_org_limits, ...said } = row;
  const { limits, endpoints, connections, policy, usage_holds } = said;
  const isSilent = [limits, endpoints, connections, policy, usage_holds].every(
    (each) => each === null,
  );
  return isSilent && !is_trial && !keys_may_set_org_limits;
}

interface LimitValueColumns {
  readonly rpm: number | null;
  readonly tpm: number | null;
  readonly concurrency: number | null;
}

export interface LimitRow extends LimitValueColumns {
  readonly source: StoredLimit["source"];
  readonly scope: StoredLimit["scope"];
  readonly key_id: string | null;
  readonly model_id: string | null;
}

export function storedLimit(row: LimitRow): StoredLimit {
  return {
    source: row.source,
    scope: row.scope,
    ...(row.key_id === null ? {} : { keyId: row.key_id as KeyId }),
    ...(row.model_id === null ? {} : { modelId: row.model_id }),
    ...limitValues(row),
  };
}

function limitValues({ rpm, tpm, concurrency }: LimitValueColumns): EndpointLimits {
  return {
    ...(rpm === null ? {} : { requestsPerMinute: rpm }),
    ...(tpm === null ? {} : { tokensPerMinute: tpm }),
    ...(concurrency === null ? {} : { concurrent: concurrency }),
  };
}

export interface EndpointRow extends LimitValueColumns {
  readonly endpoint_id: string;
  readonly provider_id: string;
  readonly rps: number | null;
  readonly paced_per_second: number | null;
  readonly queue_ms_max: number | null;
}

export function dedicatedEndpoint(row: EndpointRow): DedicatedEndpoint {
  const { rps, paced_per_second: perSecond, queue_ms_max: waitMsMax } = row;
  return {
    endpointId: row.endpoint_id,
    providerId: row.provider_id as ProviderId,
    limits: {
      ...(rps === null ? {} : { requestsPerSecond: rps }),
      ...(perSecond === null || waitMsMax === null ? {} : { paced: { perSecond, waitMsMax } }),
      ...limitValues(row),
    },
  };
}

interface ConnectionRow {
  readonly connection_id: string;
  readonly key_id: string | null;
  readonly provider_id: string;
  readonly sealed_key: string;
}

function connection(row: ConnectionRow): Connection {
  return {
    connectionId: row.connection_id,
    providerId: row.provider_id as ProviderId,
    ...(row.key_id === null ? {} : { keyId: row.key_id as KeyId }),
    sealedKey: Buffer.from(row.sealed_key, "base64"),
  };
}

export interface PolicyRow {
  readonly timeout_ms: number | null;
  readonly only_providers: readonly string[] | null;
  readonly ignore_providers: readonly string[] | null;
  readonly prompt_logging: "none" | null;
}

export function routingPolicy(row: PolicyRow): RoutingPolicy {
  return {
    ...(row.timeout_ms === null ? {} : { timeoutMs: row.timeout_ms }),
    ...(row.only_providers === null ? {} : { only: row.only_providers }),
    ...(row.ignore_providers === null ? {} : { ignore: row.ignore_providers }),
    ...(row.prompt_logging === null ? {} : { promptLogging: row.prompt_logging }),
  };
}

interface UsageHoldRow {
  readonly family: UsageHold["family"];
  readonly state: UsageHold["state"];
  readonly until_ms: number | null;
}

function usageHold({ family, state, until_ms: untilMs }: UsageHoldRow): UsageHold {
  return { family, state, ...(untilMs === null ? {} : { untilMs }) };
}
