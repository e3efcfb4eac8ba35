import {
  bool,
  columns,
  type Columns,
  computed,
  instantMs,
  integer,
  opaque,
  orAbsent,
  text,
} from "../../kernel/index.ts";
import { accountRules, ACCOUNT_RULES_COLUMNS, type AccountRulesRow } from "./account-rules-rows.ts";
import type { KeyRecord } from "./key-store.ts";

/**
 * Keys with everything that is known about their organizations; `which` is about `api_key k` and its
 * secret `s`. The one that a key had before it was rotated is a secret too, which expires by itself.
 */
export function keyRecordSql(which: string): string {
  return `
  select encode(s.digest, 'hex') as digest, ${recordColumns.sqlOf("k")}, ${ACCOUNT_RULES_COLUMNS}
  from api_key k join org o using (org_id) cross join lateral (
    values (k.digest, k.expires_at), (k.old_digest, least(k.expires_at, k.old_until))
  ) s (digest, expires_at)
  where ${which}`;
}

export interface KeyRecordRow extends AccountRulesRow {
  /** SHA-256 of the key, hexadecimal. */
  readonly digest: string;
}

/** Of a key `k` and its organization `o`. */
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

export function keyRecord(row: AccountRulesRow): KeyRecord {
  return { ...recordColumns.read(row), rules: accountRules(row) };
}
