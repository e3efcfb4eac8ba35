import type { EndpointLimits, LimitValues, StoredLimit } from "../limits/stored-limit.ts";
import {
  columns,
  type Columns,
  type ColumnsOf,
  integer,
  opaque,
  orAbsent,
  text,
} from "../../kernel/index.ts";
import {
  PLAIN_RULES,
  type AccountRules,
  type Connection,
  type DedicatedEndpoint,
  type RoutingPolicy,
  type AbuseRestriction,
} from "./account-rules.ts";

/**
 * Columns of an `AccountRulesRow`, for a query over `api_key k` and `org o`. Rows arrive as JSON, so
 * that a key is one row whatever belongs to it; bytes travel as base64.
 */
export const ACCOUNT_RULES_COLUMNS: string = `
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
  readonly limits: readonly object[] | null;
  readonly endpoints: readonly object[] | null;
  readonly connections: readonly object[] | null;
  readonly policy: object | null;
  readonly usage_holds: readonly object[] | null;
}

/** The rules of a key; `PLAIN_RULES` itself where there is nothing to say. */
export function accountRules(row: AccountRulesRow): AccountRules {
  if (isPlain(row)) return PLAIN_RULES;
  return {
    limits: (row.limits ?? []).map(limitColumns.read),
    endpoints: (row.endpoints ?? []).map(endpointColumns.read),
    connections: (row.connections ?? []).map(connection),
    ...(row.policy === null ? {} : { policy: policyColumns.read(row.policy) }),
    abuseRestrictions: (row.usage_holds ?? []).map(holdColumns.read),
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

const limitValues: ColumnsOf<LimitValues> = {
  requestsPerMinute: orAbsent(integer("rpm")),
  tokensPerMinute: orAbsent(integer("tpm")),
  concurrent: orAbsent(integer("concurrency")),
};

export const limitColumns: Columns<StoredLimit> = columns<StoredLimit>({
  source: text("source"),
  scope: text("scope"),
  keyId: orAbsent(text("key_id")),
  modelId: orAbsent(text("model_id")),
  ...limitValues,
});

export const endpointProperties: ColumnsOf<DedicatedEndpoint> = {
  endpointId: text("endpoint_id"),
  providerId: text("provider_id"),
  limits: columns<EndpointLimits>({
    requestsPerSecond: orAbsent(integer("rps")),
    paced: orAbsent(
      columns({ perSecond: opaque("paced_per_second"), waitMsMax: integer("queue_ms_max") }),
    ),
    ...limitValues,
  }),
};

export const policyColumns: Columns<RoutingPolicy> = columns<RoutingPolicy>({
  timeoutMs: orAbsent(integer("timeout_ms")),
  only: orAbsent(opaque("only_providers")),
  ignore: orAbsent(opaque("ignore_providers")),
  promptLogging: orAbsent(text("prompt_logging")),
});

const endpointColumns: Columns<DedicatedEndpoint> = columns(endpointProperties);

interface SealedConnection extends Omit<Connection, "sealedKey"> {
  readonly sealedKey: string;
}

const connectionColumns: Columns<SealedConnection> = columns<SealedConnection>({
  connectionId: text("connection_id"),
  providerId: text("provider_id"),
  keyId: orAbsent(text("key_id")),
  sealedKey: text("sealed_key"),
});

function connection(row: object): Connection {
  const read = connectionColumns.read(row);
  return { ...read, sealedKey: Buffer.from(read.sealedKey, "base64") };
}

const holdColumns: Columns<AbuseRestriction> = columns<AbuseRestriction>({
  family: text("family"),
  state: text("state"),
  untilMs: orAbsent(integer("until_ms")),
});
