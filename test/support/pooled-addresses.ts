/**
 * The direct address of each database, keyed by its address through the pooler, in runs with a
 * pooler (`addressesOf`). Tests get the address through the pooler.
 */
export const directOf: Map<string, string> = new Map();

/** Adds the direct address that belongs to `DATABASE_URL`, in runs with a pooler. */
export function withDirectAddress<E extends Readonly<Record<string, string>>>(env: E): E {
  const direct = directOf.get(env["DATABASE_URL"] ?? "");
  return direct === undefined ? env : { ...env, DATABASE_DIRECT_URL: direct };
}
