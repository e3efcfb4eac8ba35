import type { PoolClient } from "pg";

import {
  assert,
  bool,
  type Columns,
  columns,
  type ColumnsOf,
  computed,
  type Facts,
  instantMs,
  integer,
  type KeyId,
  type Note,
  opaque,
  orAbsent,
  type OrgId,
  queryInTime,
  type Row,
  presentKeyId,
  text,
} from "../../kernel/index.ts";
import type {
  EndpointLimits,
  LimitValues,
  StoredLimit,
  LimitTarget,
} from "../limits/limit-ceilings.ts";
import {
  type AbuseRestriction,
  type AccountRules,
  type Connection,
  type DedicatedEndpoint,
  type LimitChange,
  PLAIN_RULES,
  type RoutingPolicy,
} from "./account-rules.ts";
import type { KeyRecord } from "./key-store.ts";

/** Selects the rules of a key. Nested rows are JSON, so that a key is one row; bytes are base64. */
const ACCOUNT_RULES_COLUMNS: string = `
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

/** The values of a row of `keyRecordSql` besides `recordColumns`; a list without rows is null. */
export interface KeyRecordRow {
  readonly digest: string;
  readonly is_trial: boolean;
  readonly keys_may_set_org_limits: boolean;
  readonly limits: readonly object[] | null;
  readonly endpoints: readonly object[] | null;
  readonly connections: readonly object[] | null;
  readonly policy: object | null;
  readonly usage_holds: readonly object[] | null;
}

function accountRules(row: KeyRecordRow): AccountRules {
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

function isPlain(row: KeyRecordRow): boolean {
  const { limits, endpoints, connections, policy, usage_holds } = row;
  const said = [limits, endpoints, connections, policy, usage_holds];
  return said.every((each) => each === null) && !row.is_trial && !row.keys_may_set_org_limits;
}

const limitValues: ColumnsOf<LimitValues> = {
  requestsPerMinute: orAbsent(integer("rpm")),
  tokensPerMinute: orAbsent(integer("tpm")),
  concurrent: orAbsent(integer("concurrency")),
};

const LIMIT_NAMES = Object.keys(limitValues) as readonly (keyof LimitValues)[];

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

const connectionColumns = columns<Omit<Connection, "sealedKey"> & { readonly sealedKey: string }>({
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

export async function changeLimit(
  client: PoolClient,
  note: Note,
  {
    orgId,
    target,
    change,
  }: { readonly orgId: OrgId; readonly target: LimitTarget; readonly change: LimitChange },
): Promise<StoredLimit | undefined> {
  assertTarget(target);
  const name = [orgId, target.scope, target.keyId ?? null, target.modelId ?? null, target.source];
  const values = LIMIT_NAMES.flatMap((each) => [change[each] !== undefined, change[each] ?? null]);
  if (!(await lockOrg(client, orgId))) return undefined;
  const changing = { text: CHANGE_LIMIT_SQL, values: [...name, ...values] };
  const [row] = (await queryInTime<Row>(client, changing)).rows;
  if (row === undefined) return undefined;
  await queryInTime(client, { text: DROP_EMPTY_LIMIT_SQL, values: name });
  const stored = limitColumns.read(row);
  const was: unknown = row["was"];
  const before = was === null ? null : limitFacts(limitColumns.read(was as Row));
  const after = limitFacts(stored);
  const { keyId } = target;
  const changed = keyId === undefined ? orgId : await presentKey(client, keyId);
  note({ action: "limit.change", orgId, target: changed, before, after });
  return stored;
}

/** Locks the organization until the transaction ends; false if there is no such organization. */
export async function lockOrg(client: PoolClient, orgId: OrgId): Promise<boolean> {
  const lock = { text: "select from org where org_id = $1 for no key update", values: [orgId] };
  return (await queryInTime(client, lock)).rowCount === 1;
}

function limitFacts(limit: StoredLimit): Facts {
  return {
    scope: limit.scope,
    source: limit.source,
    of_one_key: limit.keyId !== undefined,
    model: limit.modelId ?? null,
    ...valueFacts(limit),
  };
}

export function valueFacts(limits: LimitValues): Facts {
  return {
    rpm: limits.requestsPerMinute ?? null,
    tpm: limits.tokensPerMinute ?? null,
    concurrency: limits.concurrent ?? null,
  };
}

// The subquery reads the old values, because it sees the table as it was before this statement.
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
  returning ${limitColumns.sqlOf("l")}, (
    select row_to_json(b) from limit_override b
    where b.org_id = $1 and b.scope = $2 and b.key_id is not distinct from $3
      and b.model_id is not distinct from $4 and b.source = $5
  ) as was`;

const DROP_EMPTY_LIMIT_SQL = `
  delete from limit_override
  where org_id = $1 and scope = $2 and key_id is not distinct from $3
    and model_id is not distinct from $4 and source = $5
    and num_nonnulls(rpm, tpm, concurrency) = 0`;

function assertTarget({ scope, keyId, modelId }: LimitTarget): void {
  assert((scope === "model") === (modelId !== undefined), "a limit of scope model names its model");
  assert(scope !== "org" || keyId === undefined, "a limit of scope org names no key");
}

/** Returns the name of a key for the change log; a managed key is named by its purpose. */
async function presentKey(client: PoolClient, keyId: KeyId): Promise<string> {
  const asked = { text: "select origin from api_key where key_id = $1", values: [keyId] };
  const { rows } = await queryInTime<{ origin: string }>(client, asked);
  return presentKeyId({ keyOrigin: rows[0]?.origin ?? "", keyId });
}

/**
 * `which` is a condition on `api_key k` and its secret `s`. The secret from before a rotation has a
 * row too, with its own expiry.
 */
export function keyRecordSql(which: string): string {
  return `
  select encode(s.digest, 'hex') as digest, ${recordColumns.sqlOf("k")}, ${ACCOUNT_RULES_COLUMNS}
  from api_key k join org o using (org_id) cross join lateral (
    values (k.digest, k.expires_at), (k.old_digest, least(k.expires_at, k.old_until))
  ) s (digest, expires_at)
  where ${which}`;
}

const recordColumns: Columns<Omit<KeyRecord, "rules">> = columns<Omit<KeyRecord, "rules">>({
  keyId: text("key_id"),
  orgId: text("org_id"),
  origin: text("origin"),
  name: text("name"),
  requestsPerMinuteCeiling: integer("rpm_ceiling"),
  requestsPerMinute: orAbsent(integer("rpm")),
  disabled: computed("k.disabled_at is not null", bool("disabled")),
  expiresAtMs: orAbsent(computed("s.expires_at", instantMs("expires_at"))),
  models: orAbsent(opaque("models")),
  emailVerified: computed("o.email_verified", bool("email_verified")),
  funded: computed("o.funded_at is not null", bool("funded")),
});

export function keyRecord(row: KeyRecordRow): KeyRecord {
  return { ...recordColumns.read(row), rules: accountRules(row) };
}
