import {
  byCapPeriod,
  capColumn,
  type Caps,
  columns,
  computed,
  instantMs,
  integer,
  type KeyId,
  MANAGED_ORIGINS,
  micro,
  opaque,
  type OrgId,
  orNull,
  type RecordOf,
  text,
} from "../../kernel/index.ts";
import type { AccountRules } from "./account-rules.ts";

export type KeyOrigin = "trial" | "console" | "identity" | "playground" | "optimize";

export interface KeyRecord {
  readonly keyId: KeyId;
  readonly orgId: OrgId;
  readonly origin: KeyOrigin;
  readonly name: string;
  readonly requestsPerMinuteCeiling: number;
  /** The customer's own limit, below the ceiling; absent if the customer has set none. */
  readonly requestsPerMinute?: number;
  readonly disabled: boolean;
  /** Wall-clock time from which the key is refused; undefined if it never expires. */
  readonly expiresAtMs?: number;
  /** Ids of the models that the key may call; undefined means all. */
  readonly models?: readonly string[];
  readonly emailVerified: boolean;
  /** True if the organization has ever held bought or granted credit. */
  readonly funded: boolean;
  readonly rules: AccountRules;
}

export interface KeyStore {
  /** Finds keys, even disabled ones, by SHA-256 digest. The map's keys are hex digests. */
  findByDigests(digests: readonly Buffer[]): Promise<ReadonlyMap<string, KeyRecord>>;
}

export interface NewKey {
  readonly orgId: OrgId;
  readonly name: string;
  readonly origin: KeyOrigin;
  readonly digest: Buffer;
  readonly label: string;
  readonly requestsPerMinuteCeiling: number;
  readonly caps?: Partial<Caps>;
  readonly expiresAtMs?: number | null;
  readonly models?: readonly string[] | null;
  readonly tags?: readonly string[];
}

export const keyColumns = columns({
  keyId: text<KeyId>("key_id"),
  orgId: text<OrgId>("org_id"),
  name: text<string>("name"),
  label: text<string>("label"),
  origin: text<KeyOrigin>("origin"),
  requestsPerMinuteCeiling: integer("rpm_ceiling"),
  caps: columns<Caps>(byCapPeriod((period) => orNull(micro(capColumn(period))))),
  createdAtMs: instantMs("created_at"),
  disabledAtMs: orNull(instantMs("disabled_at")),
  /** Null: never. A later time makes an expired key work again, but never a disabled key. */
  expiresAtMs: orNull(instantMs("expires_at")),
  /** Ids of the models that the key may call; null means every model. A list is never empty. */
  models: orNull(opaque<readonly string[]>("models")),
  /** Until when the secret before the last rotation works, unless the key expires earlier. */
  oldUntilMs: orNull(instantMs("old_until")),
  /** Labels that the owner chose, sorted. */
  tags: computed("coalesce(tags, '{}')", opaque<readonly string[]>("tags")),
});
export type KeySummary = RecordOf<typeof keyColumns>;

export const MANAGED_SQL: string = `origin in (${MANAGED_ORIGINS.map((each) => `'${each}'`).join(", ")})`;
