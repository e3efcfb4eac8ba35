import type { ChangedBy } from "../changes/index.ts";
import type { KeyId, MicroUsd, OrgId } from "../core/index.ts";
import type { KeyEdit, KeySummary, NewKey } from "./key-store.ts";
import type { LimitChange, LimitTarget } from "./rules-store.ts";

export interface CustomerOrg {
  readonly orgId: OrgId;
  readonly name: string;
  readonly email: string;
  readonly createdAtMs: number;
  readonly capMicroUsd: MicroUsd | null;
  readonly isFunded: boolean;
  readonly keysMaySetOrgLimits: boolean;
}

/** A change of keys, with one of a limit beside it. */
export interface CustomerKeyEdit extends KeyEdit {
  readonly limit?: { readonly target: LimitTarget; readonly change: LimitChange };
}

/**
 * What a person of an organization does with it. Every verb carries the organization: another's key
 * is a key that does not exist, and so is a managed one.
 */
export interface CustomerStore {
  findOrg(orgId: OrgId): Promise<CustomerOrg | undefined>;
  renameOrg(orgId: OrgId, name: string, by: ChangedBy): Promise<boolean>;
  /** Newest first, disabled ones too, managed ones never. */
  listKeys(orgId: OrgId): Promise<readonly KeySummary[]>;
  findKey(orgId: OrgId, keyId: string): Promise<KeySummary | undefined>;
  /** `too_many`: the organization has as many keys as it may. */
  createKey(key: NewKey, by: ChangedBy): Promise<KeySummary | "too_many">;
  /**
   * All of the change of all of these keys or none, each noted in the change log. Undefined: one of
   * them is not the organization's.
   */
  editKeys(
    orgId: OrgId,
    keyIds: readonly string[],
    edit: CustomerKeyEdit,
    by: ChangedBy,
  ): Promise<readonly KeySummary[] | undefined>;
  setOrgCap(orgId: OrgId, capMicroUsd: MicroUsd | null, by: ChangedBy): Promise<boolean>;
  /** Permanent; a second call keeps the first instant. */
  disableKey(orgId: OrgId, keyId: string, by: ChangedBy): Promise<KeySummary | undefined>;
  /** The one Playground key of the organization, made on first use; its raw form is never kept. */
  playgroundKey(orgId: OrgId): Promise<KeyId>;
}
