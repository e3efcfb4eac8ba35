import { countSealedBy, type KeyVault, resealConnections } from "../gateway/index.ts";
import { countWebhooksSealedBy, resealWebhooks } from "../account/index.ts";
import type { ChangedBy } from "../kernel/index.ts";
import type { PostgresBackend } from "./open-postgres-backend.ts";

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
