import type { KeyRecord, KeyStore } from "../../src/gateway/accounts/key-store.ts";

export async function findKey(keyStore: KeyStore, digest: Buffer): Promise<KeyRecord | undefined> {
  return (await keyStore.findByDigests([digest])).get(digest.toString("hex"));
}
