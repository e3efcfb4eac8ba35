import { isDay, type OrgId, readTags } from "../../kernel/index.ts";
import { ConsoleRefusal, invalidField } from "./console-refusal.ts";
import type { ConsoleDeps } from "./console-deps.ts";

const YEARS_MAX = 10;
const YEAR_MS = 366 * 86_400_000;
const INSTANT = /^(\d{4}-\d{2}-\d{2})T\d{2}:\d{2}(:\d{2}(\.\d{1,3})?)?Z$/;

/**
 * When a key is to expire, in milliseconds: undefined changes nothing, null is never. An instant
 * that has passed is refused: to stop a key at once is what disabling is for.
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
 * Reads the models that a key may call, deduplicated in the given order. Undefined changes nothing;
 * null and an empty list allow every model. An unlisted id is refused, so that a typo does not
 * block production, unless `kept` already contains it.
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

/** Undefined changes nothing; an empty list removes all. */
export function readKeyTags(
  tags: readonly string[] | null | undefined,
): readonly string[] | undefined | ConsoleRefusal {
  if (tags === undefined || tags === null) return undefined;
  const read = readTags(tags);
  return read.ok ? read.tags : invalidField("tags", read.problem);
}
