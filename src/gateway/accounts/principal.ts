import { isManagedOrigin, type KeyId, type OrgId, defined } from "../../kernel/index.ts";
import type { AccountRules } from "./account-rules.ts";
import type { KeyOrigin, KeyRecord } from "./key-store.ts";

export interface Principal {
  readonly orgId: OrgId;
  readonly keyId: KeyId;
  readonly keyOrigin: KeyOrigin;
  readonly requestsPerMinuteCeiling: number;
  readonly requestsPerMinute?: number;
  /** True if the organization has ever held bought or granted credit. */
  readonly funded: boolean;
  /** True for a key that the marketplace created for its own use; billed like any key. */
  readonly managed: boolean;
  /** Ids of the models that the key may call; undefined means all. */
  readonly models?: ReadonlySet<string>;
  readonly rules: AccountRules;
}

/** An organization as the console sees it, without a key that could make calls. */
export interface Organization {
  readonly orgId: OrgId;
  readonly funded: boolean;
  readonly rules: Pick<AccountRules, "limits" | "endpoints">;
}

export function toPrincipal(record: KeyRecord): Principal {
  const { orgId, keyId, origin, requestsPerMinuteCeiling, requestsPerMinute } = record;
  const { funded, models, rules } = record;
  return {
    orgId,
    keyId,
    keyOrigin: origin,
    requestsPerMinuteCeiling,
    funded,
    managed: isManagedOrigin(origin),
    ...defined({ requestsPerMinute, models: models && new Set(models) }),
    rules,
  };
}
