import type { ChangedBy } from "../../kernel/index.ts";
import type { StoredConnection } from "./connection-store.ts";
import type { ConnectionStore } from "./postgres-connection-store.ts";
import type { KeyVault } from "./key-vault.ts";

const BATCH = 500;

export interface Resealed {
  /** Now sealed with the first key. */
  readonly resealed: number;
  /** Were so before. */
  readonly kept: number;
  /** Ids of connections that no key of the ring opens; they are not changed. */
  readonly unopened: readonly string[];
}

/** Seals every stored key with the first encryption key, while calls go on. May be repeated. */
export async function resealConnections(
  store: ConnectionStore,
  vault: KeyVault,
  by: ChangedBy,
): Promise<Resealed> {
  let [resealed, kept] = [0, 0];
  const unopened: string[] = [];
  for await (const batch of batches(store)) {
    const sealedBy = batch.map((each) => vault.sealedBy(each.sealedKey, each));
    kept += sealedBy.filter((name) => name === vault.keyNames[0]).length;
    unopened.push(
      ...batch.filter((_, at) => sealedBy[at] === undefined).map((each) => each.connectionId),
    );
    const others = batch.filter(
      (_, at) => sealedBy[at] !== undefined && sealedBy[at] !== vault.keyNames[0],
    );
    if (others.length > 0) {
      resealed += await store.reseal(
        others.map((each) => ({
          connectionId: each.connectionId,
          was: each.sealedKey,
          sealedKey: vault.seal(vault.open(each.sealedKey, each), each),
        })),
        by,
      );
    }
  }
  return { resealed, kept, unopened };
}

/** How many stored keys each encryption key sealed, by its name; "unknown": none of the ring did. */
export async function countSealedBy(
  store: ConnectionStore,
  vault: KeyVault,
): Promise<ReadonlyMap<string, number>> {
  const counts = new Map(vault.keyNames.map((name) => [name, 0]));
  for await (const batch of batches(store)) {
    for (const each of batch) {
      const name = vault.sealedBy(each.sealedKey, each) ?? "unknown";
      counts.set(name, (counts.get(name) ?? 0) + 1);
    }
  }
  return counts;
}

async function* batches(store: ConnectionStore): AsyncGenerator<readonly StoredConnection[]> {
  let after = "";
  while (true) {
    const batch = await store.listSealed(after, BATCH);
    const last = batch.at(-1);
    if (last === undefined) return;
    yield batch;
    after = last.connectionId;
  }
}
