import type { KeyOrigin, KeyRecord } from "./key-store.ts";
import type { KeyId, OrgId } from "../core/ids.ts";
import { accountRules, accountRulesColumns, type AccountRulesRow } from "./account-rules-rows.ts";

/** A key with everything that is said about its organization, by one column of `api_key`. */
export function keyRecordSql(column: "digest" | "key_id"): string {
  return `
  select k.key_id, k.org_id, k.origin, k.name, k.rpm_ceiling, k.rpm,
    k.disabled_at is not null as disabled, o.email_verified, o.funded_at is not null as funded,
    ${accountRulesColumns}
  from api_key k join org o using (org_id)
  where k.${column} = $1`;
}

export interface KeyRecordRow extends AccountRulesRow {
  readonly key_id: string;
  readonly org_id: string;
  readonly origin: KeyOrigin;
  readonly name: string;
  readonly rpm_ceiling: number;
  readonly rpm: number | null;
  readonly disabled: boolean;
  readonly email_verified: boolean;
  readonly funded: boolean;
}

export function keyRecord(row: KeyRecordRow): KeyRecord {
  return {
    keyId: row.key_id as KeyId,
    orgId: row.org_id as OrgId,
    origin: row.origin,
    name: row.name,
    requestsPerMinuteCeiling: row.rpm_ceiling,
    ...(row.rpm === null ? {} : { requestsPerMinute: row.rpm }),
    disabled: row.disabled,
    emailVerified: row.email_verified,
    funded: row.funded,
    rules: accountRules(row),
  };
}
