import type { KeyId } from "./ids.ts";

/** Origins of keys that the marketplace keeps for its own parts: billed, and never displayed. */
export const MANAGED_ORIGINS = ["playground", "optimize"] as const;

export type ManagedOrigin = (typeof MANAGED_ORIGINS)[number];

export function isManagedOrigin(origin: string): origin is ManagedOrigin {
  return (MANAGED_ORIGINS as readonly string[]).includes(origin);
}

/** The name of a key wherever people see it: a managed one by its part, any other by its id. */
export function presentKeyId({
  keyOrigin,
  keyId,
}: {
  readonly keyOrigin: string;
  readonly keyId: KeyId;
}): string {
  return isManagedOrigin(keyOrigin) ? keyOrigin : keyId;
}
