import { sealConnection } from "../../src/gateway/accounts/postgres-connection-store.ts";
import { openKeyVault } from "../../src/gateway/accounts/key-vault.ts";
import type { PostgresBackend } from "../../src/app/open-postgres-backend.ts";
import { assert } from "../../src/kernel/core/assert.ts";
import type { KeyId, OrgId, ProviderId } from "../../src/kernel/core/ids.ts";
import { testOperator } from "./test-operator.ts";

/** The setting `encryptionKey` of gateways where customers may store their own provider keys. */
export const ENCRYPTION_KEY: string = Buffer.alloc(32, 7).toString("base64");
export const OWN_KEY = "customer-own-key-0123456789";

interface NewConnection {
  readonly orgId: OrgId;
  readonly provider: string;
  readonly providerKey?: string;
  readonly keyId?: string;
  readonly encryptionKey?: string;
}

export async function addConnection(
  { connectionStore }: Pick<PostgresBackend, "connectionStore">,
  { orgId, provider, providerKey = OWN_KEY, ...more }: NewConnection,
): Promise<string> {
  const vault = openKeyVault(more.encryptionKey ?? ENCRYPTION_KEY);
  assert(vault !== undefined, "the encryption key is valid");
  const keyId = (more.keyId as KeyId | undefined) ?? null;
  const wanted = { orgId, providerId: provider as ProviderId, keyId, name: "ours", providerKey };
  const made = await connectionStore.create(sealConnection(vault, wanted), testOperator);
  assert(typeof made === "object", "the connection is made");
  return made.connectionId;
}
