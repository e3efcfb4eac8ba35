import type { Catalog } from "../../catalog/index.ts";
import { defined, isDay, readTags } from "../../kernel/index.ts";
import { ConsoleRefusal, invalidField } from "./console-refusal.ts";
import type { ConsoleDeps } from "./console-deps.ts";
import type { KeyChange } from "./contract.ts";
import type { Acting } from "./handler.ts";
import { readCaps } from "./read-values.ts";

/** In the result, an absent field changes nothing; null means no expiry, or all models. */
export async function readKeyFields(
  deps: Pick<ConsoleDeps, "catalog" | "rules" | "clock">,
  session: Acting,
  body: Omit<KeyChange, "name" | "rpm" | "confirm">,
  kept: readonly string[] | null = null,
) {
  const expiresAtMs = readExpiry(body.expires_at, deps.clock.nowMs());
  if (expiresAtMs instanceof ConsoleRefusal) return expiresAtMs;
  const models = await readAllowedModels(deps, session, body.models, kept);
  if (models instanceof ConsoleRefusal) return models;
  const tags = readKeyTags(body.tags);
  if (tags instanceof ConsoleRefusal) return tags;
  return defined({ caps: readCaps(body), expiresAtMs, models, tags });
}

const YEARS_MAX = 10;
const YEAR_MS = 366 * 86_400_000;
const INSTANT = /^(\d{4}-\d{2}-\d{2})T\d{2}:\d{2}(:\d{2}(\.\d{1,3})?)?Z$/;

/**
 * Returns undefined for no change, null for never. Refuses the past, since disabling is the way to
 * stop a key at once.
 */
export function readExpiry(
  text: string | null | undefined,
  nowMs: number,
): number | null | undefined | ConsoleRefusal {
  if (text === undefined || text === null || text === "") return undefined;
  if (text === "never") return null;
  const [, day = ""] = INSTANT.exec(text) ?? [];
  const atMs = isDay(day) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(atMs)) return NOT_AN_INSTANT;
  if (atMs <= nowMs) return PASSED;
  return atMs > nowMs + YEARS_MAX * YEAR_MS ? TOO_FAR : atMs;
}

const NOT_AN_INSTANT = invalidField(
  "expires_at",
  "expires_at is not an instant; use UTC, such as 2027-01-31T00:00:00Z, or `never`",
);
const PASSED = invalidField(
  "expires_at",
  "expires_at has already passed; choose a later instant, or disable the key to stop it now",
);
const TOO_FAR = invalidField(
  "expires_at",
  `expires_at is more than ${YEARS_MAX} years ahead; choose an earlier instant, or \`never\``,
);

/**
 * Returns undefined for no change, null for every model. Refuses an id that may be a typo: it must
 * be listed, served by an endpoint of the organization, or allowed for the key already (`kept`).
 */
async function readAllowedModels(
  { catalog, rules }: Pick<ConsoleDeps, "catalog" | "rules">,
  { orgId, isOperator = false }: Acting,
  models: readonly string[] | null | undefined,
  kept: readonly string[] | null,
): Promise<readonly string[] | null | undefined | ConsoleRefusal> {
  if (models === undefined || models === null) return undefined;
  if (models.length === 0) return null;
  const wanted = [...new Set(models)];
  const isListed = (id: string): boolean =>
    catalog.current.find(id) !== undefined || (isOperator && isForSale(catalog.current, id));
  const others = wanted.filter((id) => !isListed(id) && kept?.includes(id) !== true);
  if (others.length === 0) return wanted;
  const endpoints = await rules.listEndpoints(orgId);
  const unknown = others.find((id) =>
    endpoints.every(({ providerId }) => !catalog.current.isDedicated(providerId, id)),
  );
  return unknown === undefined
    ? wanted
    : invalidField(
        "models",
        `models has ${JSON.stringify(unknown)}, which is not listed; GET /v1/models has the ids`,
      );
}

/** True if a public listing has the model: a command may run without the providers' keys. */
function isForSale(catalog: Catalog, id: string): boolean {
  return catalog.deployments.some(
    ({ modelId, providerId, notReady }) =>
      modelId === id && notReady !== "staged" && !catalog.isDedicated(providerId, id),
  );
}

function readKeyTags(
  tags: readonly string[] | null | undefined,
): readonly string[] | undefined | ConsoleRefusal {
  if (tags === undefined || tags === null) return undefined;
  const read = readTags(tags);
  return read.ok ? read.tags : invalidField("tags", read.problem);
}
