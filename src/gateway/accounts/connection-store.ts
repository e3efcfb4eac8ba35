import { type KeyId, createRecordId, type OrgId, type ProviderId } from "../../kernel/index.ts";
import type { KeyVault } from "./key-vault.ts";

/** A connection as people see it; never its key. */
export interface ConnectionSummary {
  readonly connectionId: string;
  readonly orgId: OrgId;
  readonly providerId: ProviderId;
  /** Null if every key of the organization may use it. */
  readonly keyId: KeyId | null;
  readonly name: string;
  /** Last four characters of the provider's key, to distinguish it from others. */
  readonly label: string;
  readonly createdAtMs: number;
  readonly disabledAtMs: number | null;
}

export interface StoredConnection extends ConnectionSummary {
  /** Empty once the connection is disabled. */
  readonly sealedKey: Buffer;
}

export type NewConnection = Omit<StoredConnection, "createdAtMs" | "disabledAtMs">;

/**
 * The caller: an organization, which sees only its own connections, or an operator, who sees all.
 */
export type ConnectionOwner = OrgId | "operator";

/** A connection with its key sealed, ready to be stored. `providerKeyProblem` found nothing wrong. */
export function sealConnection(
  vault: KeyVault,
  wanted: Pick<NewConnection, "orgId" | "providerId" | "keyId" | "name"> & {
    readonly providerKey: string;
  },
): NewConnection {
  const { orgId, providerId, keyId, name, providerKey } = wanted;
  const connectionId = createRecordId("conn");
  return {
    connectionId,
    orgId,
    providerId,
    keyId,
    name,
    label: providerKey.slice(-LABEL_CHARS),
    sealedKey: vault.seal(providerKey, { connectionId, orgId, providerId }),
  };
}

const LABEL_CHARS = 4;
