import type { KeyId } from "./ids.ts";

/** Keys that the marketplace keeps for its own parts: billed like any other, never displayed. */
export function isManagedOrigin(origin: string): origin is "playground" | "optimize" {
  return origin === "playground" || origin === "optimize";
}

/** What a key is called wherever people see it: a managed one by its part, any other by its id. */
export function shownKeyId({
  keyOrigin,
  keyId,
}: {
  readonly keyOrigin: string;
  readonly keyId: KeyId;
}): string {
  return isManagedOrigin(keyOrigin) ? keyOrigin : keyId;
}
