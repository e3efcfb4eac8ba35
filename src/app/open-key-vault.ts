import { countWebhooksSealedBy, resealWebhooks } from "../account/index.ts";
import type { OwnKey } from "../catalog/index.ts";
import { countSealedBy, type KeyVault, openKeyVault, resealConnections } from "../gateway/index.ts";
import type { ChangedBy, Config } from "../kernel/index.ts";
import type { PostgresBackend } from "./open-postgres-backend.ts";

/**
 * The vault of customers' own provider keys; undefined: none is configured, so there are none. A
 * server gives the settings in force, whose keys are those of the moment.
 */
export function openConfiguredVault(
  config: Pick<Config, "encryptionKey">,
  inForce: { readonly current: Pick<Config, "encryptionKey"> } = { current: config },
): KeyVault | undefined {
  return openKeyVault(config.encryptionKey, () => inForce.current.encryptionKey);
}

/** How dispatch opens the key of a customer's own; it throws when it does not open. */
export function ownKeyOpener(vault: KeyVault): (ownKey: OwnKey) => string {
  return (ownKey) => vault.open(ownKey.sealedKey, ownKey);
}

type SealedStores = Pick<PostgresBackend, "connectionStore" | "webhookSecrets">;

/** Seals customers' provider keys and webhook secrets with the first encryption key. May be repeated. */
export async function resealSecrets(
  { connectionStore, webhookSecrets }: SealedStores,
  vault: KeyVault,
  by: ChangedBy,
): ReturnType<typeof resealConnections> {
  const keys = await resealConnections(connectionStore, vault, by);
  const secrets = await resealWebhooks(webhookSecrets, vault, by);
  return {
    resealed: keys.resealed + secrets.resealed,
    kept: keys.kept + secrets.kept,
    unopened: [...keys.unopened, ...secrets.unopened],
  };
}

/** How many of them each encryption key sealed, by its name; "unknown": none of the ring did. */
export async function countSecretsSealedBy(
  { connectionStore, webhookSecrets }: SealedStores,
  vault: KeyVault,
): Promise<ReadonlyMap<string, number>> {
  const counts = new Map(await countSealedBy(connectionStore, vault));
  for (const [name, secrets] of await countWebhooksSealedBy(webhookSecrets, vault)) {
    counts.set(name, (counts.get(name) ?? 0) + secrets);
  }
  return counts;
}
