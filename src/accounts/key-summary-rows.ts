import type { PoolClient } from "pg";

import { assert, MANAGED_ORIGINS, newKeyId } from "../core/index.ts";
import {
  columns,
  type Columns,
  computed,
  instantMs,
  integer,
  micro,
  opaque,
  orNull,
  type Row,
  text,
} from "../storage/index.ts";
import { ACCOUNT_CHANNEL } from "./account-notices.ts";
import type { KeySummary, NewKey } from "./key-store.ts";

/** Everything of a key but its digest. */
export const keyColumns: Columns<KeySummary> = columns({
  keyId: text("key_id"),
  orgId: text("org_id"),
  name: text("name"),
  label: text("label"),
  origin: text("origin"),
  requestsPerMinuteCeiling: integer("rpm_ceiling"),
  capMicroUsd: orNull(micro("cap_micro_usd")),
  weekCapMicroUsd: orNull(micro("cap_week_micro_usd")),
  dayCapMicroUsd: orNull(micro("cap_day_micro_usd")),
  createdAtMs: instantMs("created_at"),
  disabledAtMs: orNull(instantMs("disabled_at")),
  expiresAtMs: orNull(instantMs("expires_at")),
  models: orNull(opaque("models")),
  tags: computed("coalesce(tags, '{}')", opaque("tags")),
});

/** Makes a key; what an organization may have is checked by the caller. */
export async function insertKey(client: PoolClient, key: NewKey): Promise<KeySummary> {
  const { rows } = await client.query<Row>(INSERT_KEY_SQL, [
    newKeyId(),
    key.orgId,
    key.digest,
    key.label,
    key.name,
    key.origin,
    key.requestsPerMinuteCeiling,
    key.capMicroUsd,
    key.expiresAtMs === undefined || key.expiresAtMs === null ? null : new Date(key.expiresAtMs),
    key.models ?? null,
    key.weekCapMicroUsd ?? null,
    key.dayCapMicroUsd ?? null,
    key.tags === undefined || key.tags.length === 0 ? null : key.tags,
  ]);
  assert(rows[0] !== undefined, "a created key is returned");
  return keyColumns.read(rows[0]);
}

/* Notified like a change: a process may remember that there was no such key. */
const INSERT_KEY_SQL = `
  insert into api_key
    (key_id, org_id, digest, label, name, origin, rpm_ceiling, cap_micro_usd, expires_at, models,
      cap_week_micro_usd, cap_day_micro_usd, tags)
  values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
  returning ${keyColumns.sql}, pg_notify('${ACCOUNT_CHANNEL}', org_id)`;

/** Is this row one of a key that the marketplace keeps for itself? */
export const MANAGED_SQL: string = `origin in (${MANAGED_ORIGINS.map((each) => `'${each}'`).join(", ")})`;
