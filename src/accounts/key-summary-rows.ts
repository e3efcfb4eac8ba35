import type { KeyOrigin, KeySummary } from "./key-store.ts";
import type { KeyId, OrgId } from "../core/ids.ts";
import { MANAGED_ORIGINS } from "../core/managed-keys.ts";
import { microUsd } from "../core/money.ts";

/** Everything of a key but its digest. */
export const keyColumns =
  "key_id, org_id, name, label, origin, rpm_ceiling, cap_micro_usd, created_at, disabled_at";

/** Is this row one of a key that the marketplace keeps for itself? */
export const managedSql: string = `origin in (${MANAGED_ORIGINS.map((each) => `'${each}'`).join(", ")})`;

export interface KeyRow {
  readonly key_id: string;
  readonly org_id: string;
  readonly name: string;
  readonly label: string;
  readonly origin: KeyOrigin;
  readonly rpm_ceiling: number;
  readonly cap_micro_usd: bigint | null;
  readonly created_at: Date;
  readonly disabled_at: Date | null;
}

export function keySummary(row: KeyRow): KeySummary {
  return {
    keyId: row.key_id as KeyId,
    orgId: row.org_id as OrgId,
    name: row.name,
    label: row.label,
    origin: row.origin,
    requestsPerMinuteCeiling: row.rpm_ceiling,
    capMicroUsd: row.cap_micro_usd === null ? null : microUsd(row.cap_micro_usd),
    createdAtMs: row.created_at.getTime(),
    disabledAtMs: row.disabled_at?.getTime() ?? null,
  };
}
