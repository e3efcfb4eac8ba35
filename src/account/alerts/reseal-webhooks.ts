import type { KeyVault } from "../../gateway/index.ts";
import type { ChangedBy } from "../../kernel/index.ts";
import type { SealedSecret } from "./alert-store.ts";
import type { SealedSecretStore } from "./postgres-webhook-secrets.ts";
import { openSecret, sealSecret, secretSealedBy } from "./webhook-secret.ts";

const BATCH = 200;

interface Resealed {
  /** Now sealed with the first key. */
  readonly resealed: number;
  /** Were so before. */
  readonly kept: number;
  /** Ids of destinations whose secret no key of the ring opens; they are not changed. */
  readonly unopened: readonly string[];
}

/** Seals every secret of a webhook with the first encryption key, while deliveries go on. */
export async function resealWebhooks(
  store: SealedSecretStore,
  vault: KeyVault,
  by: ChangedBy,
): Promise<Resealed> {
  let [resealed, kept] = [0, 0];
  const unopened = new Set<string>();
  for await (const batch of batches(store)) {
    const others: (SealedSecret & { resealed: Buffer })[] = [];
    for (const each of batch) {
      const name = secretSealedBy(vault, each.sealed, each);
      if (name === undefined) unopened.add(each.destinationId);
      else if (name === vault.keyNames[0]) kept += 1;
      else {
        const secret = openSecret(vault, each.sealed, each);
        others.push({ ...each, resealed: sealSecret(vault, secret, each) });
      }
    }
    if (others.length > 0) resealed += await store.reseal(others, by);
  }
  return { resealed, kept, unopened: [...unopened] };
}

/** How many secrets each encryption key sealed, by its name; "unknown": none of the ring did. */
export async function countWebhooksSealedBy(
  store: SealedSecretStore,
  vault: KeyVault,
): Promise<ReadonlyMap<string, number>> {
  const counts = new Map<string, number>();
  for await (const batch of batches(store)) {
    for (const each of batch) {
      const name = secretSealedBy(vault, each.sealed, each) ?? "unknown";
      counts.set(name, (counts.get(name) ?? 0) + 1);
    }
  }
  return counts;
}

async function* batches(store: SealedSecretStore): AsyncGenerator<readonly SealedSecret[]> {
  let after = "";
  while (true) {
    const batch = await store.listSealed(after, BATCH);
    const last = batch.at(-1);
    if (last === undefined) return;
    yield batch;
    after = last.destinationId;
  }
}
