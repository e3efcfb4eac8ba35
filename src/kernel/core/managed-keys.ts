import type { KeyId } from "./ids.ts";

/** Parts of the marketplace that call models with managed keys. These are billed, and never displayed. */
export const MANAGED_ORIGINS = ["playground", "optimize"] as const;

export type ManagedOrigin = (typeof MANAGED_ORIGINS)[number];

export function isManagedOrigin(origin: string): origin is ManagedOrigin {
  return (MANAGED_ORIGINS as readonly string[]).includes(origin);
}

/** Returns what people see of a key: a managed key by its part, any other by its id. */
export function presentKeyId({
  keyOrigin,
  keyId,
}: {
  readonly keyOrigin: string;
  readonly keyId: KeyId;
}): string {
  return isManagedOrigin(keyOrigin) ? keyOrigin : keyId;
}
