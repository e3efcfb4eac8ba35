/**
 * The direct address of each database whose stores use a pooler, in runs with one (`addressesOf`).
 * Addresses that a test gets lead through the pooler.
 */
export const directOf: Map<string, string> = new Map();

/** Adds the direct address that belongs to `DATABASE_URL`. */
export function withDirectAddress<E extends Readonly<Record<string, string>>>(env: E): E {
  const direct = directOf.get(env["DATABASE_URL"] ?? "");
  return direct === undefined ? env : { ...env, DATABASE_DIRECT_URL: direct };
}
