import type { OwnKey } from "../catalog/index.ts";
import { type KeyVault, openKeyVault, type SealedRows } from "../gateway/index.ts";
import type { Config } from "../kernel/index.ts";
import type { PostgresBackend } from "./open-postgres-backend.ts";

/**
 * The vault of customers' own provider keys; undefined if no encryption key is set. Servers pass
 * the settings in force, so that they use new encryption keys at once.
 */
export function openConfiguredVault(
  config: Pick<Config, "encryptionKey">,
  inForce: { readonly current: Pick<Config, "encryptionKey"> } = { current: config },
): KeyVault | undefined {
  return openKeyVault(config.encryptionKey, () => inForce.current.encryptionKey);
}

export function ownKeyOpener(vault: KeyVault): (ownKey: OwnKey) => string {
  return (ownKey) => vault.open(ownKey.sealedKey, ownKey);
}

export function sealedTables({
  connectionStore,
  webhookSecrets,
}: Pick<PostgresBackend, "connectionStore" | "webhookSecrets">): readonly SealedRows[] {
  return [connectionStore, webhookSecrets];
}
