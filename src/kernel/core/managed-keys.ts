import type { KeyId } from "./ids.ts";

/** Features that call models with keys of the gateway's own, which are billed and never shown. */
export const MANAGED_ORIGINS = ["playground", "optimize"] as const;

export type ManagedOrigin = (typeof MANAGED_ORIGINS)[number];

export function isManagedOrigin(origin: string): origin is ManagedOrigin {
  return (MANAGED_ORIGINS as readonly string[]).includes(origin);
}

/** The name of a key for people: a managed key shows its feature, any other key its id. */
export function presentKeyId({
  keyOrigin,
  keyId,
}: {
  readonly keyOrigin: string;
  readonly keyId: KeyId;
}): string {
  return isManagedOrigin(keyOrigin) ? keyOrigin : keyId;
}
