import type { OwnKey } from "../catalog/index.ts";
import { type KeyVault, openKeyVault, type SealedRows } from "../gateway/index.ts";
import type { Config } from "../kernel/index.ts";
import type { PostgresBackend } from "./open-postgres-backend.ts";

/**
 * The vault of customers' own provider keys; undefined if `config` has no encryption key. A server
 * passes the settings in force, so that replaced keys are used at once.
 */
export function openConfiguredVault(
  config: Pick<Config, "encryptionKey">,
  inForce: { readonly current: Pick<Config, "encryptionKey"> } = { current: config },
): KeyVault | undefined {
  return openKeyVault(config.encryptionKey, () => inForce.current.encryptionKey);
}

/** Opens the sealed key of a customer for a request; throws if it cannot be opened. */
export function ownKeyOpener(vault: KeyVault): (ownKey: OwnKey) => string {
  return (ownKey) => vault.open(ownKey.sealedKey, ownKey);
}

/** Everything that is sealed: customers' provider keys and webhook secrets. */
export function sealedTables({
  connectionStore,
  webhookSecrets,
}: Pick<PostgresBackend, "connectionStore" | "webhookSecrets">): readonly SealedRows[] {
  return [connectionStore, webhookSecrets];
}
