/** The direct address of each database by its address through the pooler, in runs with a pooler. */
export const directOf: Map<string, string> = new Map();

export function withDirectAddress<E extends Readonly<Record<string, string>>>(env: E): E {
  const direct = directOf.get(env["DATABASE_URL"] ?? "");
  return direct === undefined ? env : { ...env, DATABASE_DIRECT_URL: direct };
}
