import type { PoolClient } from "pg";

import {
  type Facts,
  type Note,
  assert,
  type KeyId,
  type OrgId,
  shownKeyId,
  queryInTime,
  type Row,
} from "../../kernel/index.ts";
import type { LimitValues, StoredLimit } from "../limits/stored-limit.ts";
import { limitColumns } from "./account-rules-rows.ts";
import type { LimitChange, LimitTarget } from "./rules-store.ts";

/** Changes one limit and notes it. Undefined: there is no such organization, or it has no such key. */
export async function changeLimit(
  client: PoolClient,
  note: Note,
  {
    orgId,
    target,
    change: { requestsPerMinute, tokensPerMinute, concurrent },
  }: { readonly orgId: OrgId; readonly target: LimitTarget; readonly change: LimitChange },
): Promise<StoredLimit | undefined> {
  assertTarget(target);
  const name = [orgId, target.scope, target.keyId ?? null, target.modelId ?? null, target.source];
  const values = [requestsPerMinute, tokensPerMinute, concurrent].flatMap((value) => [
    value !== undefined,
    value ?? null,
  ]);
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
  const changed = keyId === undefined ? orgId : await shownKey(client, keyId);
  note({ action: "limit.change", orgId, target: changed, before, after });
  return stored;
}

/** What organizations have is changed one at a time; false: there is no such organization. */
export async function lockOrg(client: PoolClient, orgId: OrgId): Promise<boolean> {
  const lock = { text: "select from org where org_id = $1 for no key update", values: [orgId] };
  return (await queryInTime(client, lock)).rowCount === 1;
}

function limitFacts(limit: StoredLimit): Facts {
  return {
    scope: limit.scope,
    source: limit.source,
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

// A subquery reads what was there before the statement.
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

/** What a key is called in the change log: a managed one by its part. */
async function shownKey(client: PoolClient, keyId: KeyId): Promise<string> {
  const asked = { text: "select origin from api_key where key_id = $1", values: [keyId] };
  const { rows } = await queryInTime<{ origin: string }>(client, asked);
  return shownKeyId({ keyOrigin: rows[0]?.origin ?? "", keyId });
}
