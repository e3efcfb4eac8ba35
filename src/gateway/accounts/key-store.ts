import type { Caps, KeyId, OrgId } from "../../kernel/index.ts";
import type { AccountRules } from "./account-rules.ts";

export type KeyOrigin = "trial" | "console" | "identity" | "playground" | "optimize";

/** What the gateway needs of a key and its organization; read by the key's SHA-256. */
export interface KeyRecord {
  readonly keyId: KeyId;
  readonly orgId: OrgId;
  readonly origin: KeyOrigin;
  readonly name: string;
  /** Requests per minute the key may never exceed. */
  readonly requestsPerMinuteCeiling: number;
  /** Set by the customer, lower than the ceiling; undefined = the ceiling. */
  readonly requestsPerMinute?: number;
  readonly disabled: boolean;
  /** From this instant on the key is refused like one that does not exist; undefined: never. */
  readonly expiresAtMs?: number;
  /** Ids of the models that it may call; undefined: all. */
  readonly models?: readonly string[];
  readonly emailVerified: boolean;
  /** Has the organization ever held bought or granted credit? */
  readonly funded: boolean;
  readonly rules: AccountRules;
}

/** Where keys live. */
export interface KeyStore {
  /**
   * The keys that have one of these SHA-256 values, disabled ones included, by the value in
   * hexadecimal.
   */
  findByDigests(digests: readonly Buffer[]): Promise<ReadonlyMap<string, KeyRecord>>;
}

export interface KeySummary {
  readonly keyId: KeyId;
  readonly orgId: OrgId;
  readonly name: string;
  /** First 12 characters of the raw key, for labelling. */
  readonly label: string;
  readonly origin: KeyOrigin;
  readonly requestsPerMinuteCeiling: number;
  readonly caps: Caps;
  readonly createdAtMs: number;
  readonly disabledAtMs: number | null;
  /** Null: never. An expired key works again when its expiry is moved; a disabled one never does. */
  readonly expiresAtMs: number | null;
  /** Null: every model. Never empty. */
  readonly models: readonly string[] | null;
  /** Labels of its owner, sorted. */
  readonly tags: readonly string[];
}

export interface NewKey {
  readonly orgId: OrgId;
  readonly name: string;
  readonly origin: KeyOrigin;
  readonly digest: Buffer;
  readonly label: string;
  readonly requestsPerMinuteCeiling: number;
  /** Absent: none. */
  readonly caps?: Partial<Caps>;
  /** Absent or null: never. */
  readonly expiresAtMs?: number | null;
  /** Absent or null: every model. */
  readonly models?: readonly string[] | null;
  readonly tags?: readonly string[];
}
