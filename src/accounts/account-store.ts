import type { ChangedBy } from "../changes/index.ts";
import type { Caps, KeyId, MicroUsd, OrgId } from "../core/index.ts";
import type { KeySummary, NewKey } from "./key-store.ts";
import type { LimitChange, LimitTarget } from "./rules-store.ts";

export interface OrgSummary {
  readonly orgId: OrgId;
  readonly name: string;
  readonly email: string;
  readonly balanceMicroUsd: MicroUsd;
  readonly heldMicroUsd: MicroUsd;
  readonly createdAtMs: number;
  readonly capMicroUsd: MicroUsd | null;
  readonly isFunded: boolean;
  readonly keysMaySetOrgLimits: boolean;
}

/** What of a key is to be changed; absent: nothing of it. */
export interface KeyEdit {
  readonly name?: string;
  /** Those that are named; null removes one. */
  readonly caps?: Partial<Caps>;
  /** Null: never. */
  readonly expiresAtMs?: number | null;
  /** Null: every model. */
  readonly models?: readonly string[] | null;
  readonly tags?: readonly string[];
  /** Another secret of one key; the one it has works until then too, null: no longer. */
  readonly rotate?: {
    readonly digest: Buffer;
    readonly label: string;
    readonly oldUntilMs: number | null;
  };
  /** Permanent; a key that is disabled keeps its instant. */
  readonly disable?: true;
  /** A limit of the key, beside it. */
  readonly limit?: { readonly target: LimitTarget; readonly change: LimitChange };
}

/**
 * Whose keys a verb means: those of an organization as its people see them, to whom another's key
 * does not exist, and neither does a managed one; or every key, for operators.
 */
export type Whose = OrgId | "anyone";

/** Organizations and their keys. Who changes something is recorded, and what it does is the same. */
export interface AccountStore {
  /** `orgId`: default a new one. */
  createOrg(
    org: { readonly orgId?: OrgId; readonly name: string; readonly email: string },
    by: ChangedBy,
  ): Promise<OrgSummary>;
  listOrgs(): Promise<readonly OrgSummary[]>;
  findOrg(orgId: string): Promise<OrgSummary | undefined>;
  renameOrg(orgId: OrgId, name: string, by: ChangedBy): Promise<boolean>;
  /** Monthly spend cap from the next request on; `null` removes it. False: no such organization. */
  setOrgCap(orgId: string, capMicroUsd: MicroUsd | null, by: ChangedBy): Promise<boolean>;
  /** Also managed and disabled ones, oldest first. */
  listKeys(orgId?: string): Promise<readonly KeySummary[]>;
  /** Those that people see, newest first, disabled ones too. */
  listOwnKeys(orgId: OrgId): Promise<readonly KeySummary[]>;
  findKey(whose: Whose, keyId: string): Promise<KeySummary | undefined>;
  createKey(key: NewKey, by: ChangedBy): Promise<KeySummary>;
  /** `too_many`: the organization has as many keys as its people may make. */
  createOwnKey(key: NewKey, by: ChangedBy): Promise<KeySummary | "too_many">;
  /**
   * All of the change of all of these keys or none, from the next request on, each noted in the
   * change log. Undefined: one of them is not among those that are meant.
   */
  editKeys(
    whose: Whose,
    keyIds: readonly string[],
    edit: KeyEdit,
    by: ChangedBy,
  ): Promise<readonly KeySummary[] | undefined>;
  /** The one Playground key of the organization, made on first use; its raw form is never kept. */
  playgroundKey(orgId: OrgId): Promise<KeyId>;
}
