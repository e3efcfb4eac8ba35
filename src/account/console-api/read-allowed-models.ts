import type { OrgId } from "../../kernel/index.ts";
import type { ConsoleDeps } from "./console-deps.ts";
import { type ConsoleRefusal, invalidField } from "./console-refusal.ts";

/**
 * The models that a key is to be allowed, in the order given, each once: undefined changes nothing,
 * null is every model (an empty list: one that allows none would be a disabled key). An id that is
 * not listed is refused, so that a slip does not close production; one that `kept` has may stay.
 */
export async function readAllowedModels(
  { catalog, rules }: Pick<ConsoleDeps, "catalog" | "rules">,
  orgId: OrgId,
  asked: {
    readonly models: readonly string[] | null | undefined;
    readonly kept: readonly string[] | null;
  },
): Promise<readonly string[] | null | undefined | ConsoleRefusal> {
  if (asked.models === undefined || asked.models === null) return undefined;
  if (asked.models.length === 0) return null;
  const wanted = [...new Set(asked.models)];
  const isListed = (id: string): boolean => catalog.current.find(id) !== undefined;
  const others = wanted.filter((id) => !isListed(id) && asked.kept?.includes(id) !== true);
  if (others.length === 0) return wanted;
  const endpoints = await rules.listEndpoints(orgId);
  const unknown = others.find((id) =>
    endpoints.every(
      ({ providerId }) => catalog.current.findDedicated(providerId, id) === undefined,
    ),
  );
  return unknown === undefined ? wanted : notListed(unknown);
}

function notListed(modelId: string): ConsoleRefusal {
  return invalidField(
    "models",
    `models has ${JSON.stringify(modelId)}, which is not listed; GET /v1/models has the ids`,
  );
}
