import type { PoolClient } from "pg";

import {
  assert,
  byCapPeriod,
  CAP_PERIODS,
  type Caps,
  MANAGED_ORIGINS,
  newKeyId,
  capColumn,
  columns,
  type Columns,
  computed,
  instantMs,
  integer,
  marks,
  micro,
  opaque,
  orNull,
  type Row,
  text,
} from "../../kernel/index.ts";
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
  caps: columns<Caps>(byCapPeriod((period) => orNull(micro(capColumn(period))))),
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
    key.expiresAtMs === undefined || key.expiresAtMs === null ? null : new Date(key.expiresAtMs),
    key.models ?? null,
    key.tags === undefined || key.tags.length === 0 ? null : key.tags,
    ...CAP_PERIODS.map((period) => key.caps?.[period] ?? null),
  ]);
  assert(rows[0] !== undefined, "a created key is returned");
  return keyColumns.read(rows[0]);
}

/* Notified like a change: a process may remember that there was no such key. */
const INSERT_KEY_SQL = `
  insert into api_key
    (key_id, org_id, digest, label, name, origin, rpm_ceiling, expires_at, models, tags,
      ${CAP_PERIODS.map(capColumn).join(", ")})
  values (${marks(10 + CAP_PERIODS.length)})
  returning ${keyColumns.sql}, pg_notify('${ACCOUNT_CHANNEL}', org_id)`;

/** Is this row one of a key that the marketplace keeps for itself? */
export const MANAGED_SQL: string = `origin in (${MANAGED_ORIGINS.map((each) => `'${each}'`).join(", ")})`;
