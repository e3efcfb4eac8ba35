import type { OwnKey } from "../catalog/index.ts";
import { type KeyVault, openKeyVault, type SealedRows } from "../gateway/index.ts";
import type { Config } from "../kernel/index.ts";
import type { PostgresBackend } from "./open-postgres-backend.ts";

/** Undefined if no encryption key is set. With `inForce`, reloaded keys are used at once. */
export function openConfiguredVault(
  config: Pick<Config, "encryptionKey">,
  inForce: { readonly current: Pick<Config, "encryptionKey"> } = { current: config },
): KeyVault | undefined {
  return openKeyVault(config.encryptionKey, () => inForce.current.encryptionKey);
}

export function ownKeyOpener(vault: KeyVault): (ownKey: OwnKey) => string {
  return (ownKey) => vault.open(ownKey.sealedKey, ownKey);
}

export function sealedTables(stores: PostgresBackend): readonly SealedRows[] {
  return [stores.connectionStore, stores.webhookSecrets];
}
