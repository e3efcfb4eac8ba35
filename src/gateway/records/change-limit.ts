import type { Catalog } from "../../catalog/index.ts";
import {
  assert,
  type ChangedBy,
  invalidRequest,
  type KeyId,
  MODEL_LIMITS_PER_ORG_MAX,
  type OrgId,
  refusal,
  type Refusal,
  refused,
  type Result,
  type JsonDocument,
  readJsonObject,
  type Refused,
  type SchemaCheck,
  schemaCheck,
  WordTable,
  defined,
} from "../../kernel/index.ts";
import type { DedicatedEndpoint, LimitChange } from "../accounts/account-rules.ts";
import type { RulesStore } from "../accounts/postgres-rules-store.ts";
import {
  isNamed,
  keyCeilings,
  type LimitCeilings,
  orgCeilings,
  type StoredLimit,
  type LimitTarget,
} from "../limits/limit-ceilings.ts";
import { unknownModel } from "../routing/plan-route.ts";
import {
  LIMIT_NAMES,
  LIMIT_WORDS,
  LimitChange as Body,
  LimitValues,
  NamedLimit,
} from "./contract/limit-change.ts";
import type { LimitUseDeps } from "./limit-use.ts";

export type LimitActor =
  | { readonly kind: "key"; readonly orgId: OrgId; readonly keyId: KeyId }
  | { readonly kind: "person"; readonly orgId: OrgId };

export interface PlannedChange {
  readonly orgId: OrgId;
  readonly target: LimitTarget;
  readonly change: LimitChange;
}

/** Checks the key, the model, the scope, the ceilings and the number of limits. Changes nothing. */
export async function planLimitChange(
  deps: Pick<LimitUseDeps, "catalog" | "rules" | "limitDefaults">,
  actor: LimitActor,
  request: LimitRequest,
): Promise<Result<PlannedChange>> {
  const asked = keyNamed(actor, request);
  if (!asked.ok) return asked;
  const { orgId } = actor;
  const { scope, modelId, change } = request;
  const keyId = actor.kind === "key" ? actor.keyId : asked.named;
  // All of these are read from the database, never from a cache.
  const [limits, endpoints, key] = await Promise.all([
    deps.rules.listLimits(orgId),
    deps.rules.listEndpoints(orgId),
    keyId === undefined ? undefined : deps.rules.findKey(keyId),
  ]);
  if (keyId !== undefined && key?.orgId !== orgId) return refused(NO_SUCH_KEY);
  const maySetOrg = actor.kind === "person" || key?.rules.keysMaySetOrgLimits === true;
  if (scope === "org" && !maySetOrg) return refused(ORG_NOT_OPEN);
  const named = asked.named === undefined ? undefined : key;
  const target: LimitTarget = {
    source: "self",
    scope,
    ...defined({ keyId: named?.keyId, modelId }),
  };
  const isStored = limits.some((limit) => isNamed(limit, target));
  // A model that is no longer listed keeps its limits, and they can still be removed.
  if (modelId !== undefined && !isStored && !isServed(deps.catalog.current, endpoints, modelId)) {
    return refused(unknownModel(modelId));
  }
  const ceilings =
    named === undefined
      ? orgCeilings(limits, modelId, deps.limitDefaults)
      : keyCeilings({ ...named, rules: { limits } }, modelId, deps.limitDefaults);
  const reason =
    ceilingProblem(change, ceilings) ?? (isStored ? undefined : limitCountProblem(target, limits));
  if (reason !== undefined) return refused(invalidRequest(reason));
  return { ok: true, orgId, target, change };
}

export async function makeLimitChange(
  rules: RulesStore,
  planned: PlannedChange,
  by: ChangedBy,
): Promise<Result<{ readonly stored: StoredLimit }>> {
  const stored = await rules.changeLimit(planned.orgId, planned.target, planned.change, by);
  return stored === undefined ? refused(NO_SUCH_KEY) : { ok: true, stored };
}

/* The answer does not tell whether the key belongs to another organization or does not exist. */
const NOT_YOUR_KEY: Refusal = invalidRequest(
  "key_id must be the id of the calling key, or be left out; limits of other keys are set in the console",
);

const NO_SUCH_KEY: Refusal = refusal("not_found", "the organization has no key with this key_id");

const ORG_NOT_OPEN: Refusal = invalidRequest(
  'scope "org" may not be set by the keys of this organization; set the limit in the console, or allow it there',
);

/** Returns the key that the limit applies to; undefined if it applies to the whole organization. */
function keyNamed(
  actor: LimitActor,
  { scope, keyId }: LimitRequest,
): Result<{ readonly named: string | undefined }> {
  if (scope === "org") return { ok: true, named: undefined };
  if (actor.kind === "key") {
    const isOwn = keyId === undefined || keyId === actor.keyId;
    return isOwn ? { ok: true, named: actor.keyId } : refused(NOT_YOUR_KEY);
  }
  if (scope === "key" && keyId === undefined) {
    return refused(invalidRequest('key_id is missing; scope "key" needs the id of one'));
  }
  return { ok: true, named: keyId };
}

function isServed(
  catalog: Catalog,
  endpoints: readonly DedicatedEndpoint[],
  modelId: string,
): boolean {
  if (catalog.find(modelId) !== undefined) return true;
  return endpoints.some(({ providerId }) => catalog.isDedicated(providerId, modelId));
}

const STORED_LIMIT_MAX = 2_147_483_647;

function ceilingProblem(change: LimitChange, ceilings: LimitCeilings): string | undefined {
  for (const word of LIMIT_WORDS) {
    const name = LIMIT_NAMES[word];
    const ceiling = Math.min(ceilings[name], STORED_LIMIT_MAX);
    const value = change[name];
    if (value === undefined || value === null) continue;
    if (value < 1) {
      return `${word} ${value} is below 1; choose a limit from 1 to the ceiling of ${ceiling}, or null to remove yours`;
    }
    if (value > ceiling) {
      return `${word} ${value} is above the ceiling of ${ceiling}; choose a limit up to the ceiling`;
    }
  }
  return undefined;
}

function limitCountProblem(
  target: LimitTarget,
  limits: readonly StoredLimit[],
): string | undefined {
  if (target.scope !== "model") return undefined;
  assert(target.modelId !== undefined, "a limit of scope model names its model");
  const own = limits.filter(({ source, scope }) => source === "self" && scope === "model");
  if (own.length < MODEL_LIMITS_PER_ORG_MAX) return undefined;
  return `the organization has limits of ${own.length} models, and ${MODEL_LIMITS_PER_ORG_MAX} is the most; remove one first: send null for each of its values`;
}

export interface LimitRequest {
  readonly scope: NamedLimit["scope"];
  /** As the client sent it; `planLimitChange` checks whether the caller may name this key. */
  readonly keyId?: string;
  /** The model's id as the client sent it; present if and only if the scope is `model`. */
  readonly modelId?: string;
  /**
   * Whole numbers, or null to remove a limit; at least one field is set. `planLimitChange` checks
   * their bounds.
   */
  readonly change: LimitChange;
}

/** Reads the body of a limit change, or refuses with a 400 that names the field and its values. */
export function readLimitRequest(body: Buffer): Result<{ readonly request: LimitRequest }> {
  const read = readJsonObject(body, WORDS);
  if (!read.ok) return read;
  const misnamed = findNameProblem(read.doc);
  if (misnamed !== undefined) return invalid(misnamed);
  const fields = JSON.parse(body.toString()) as NamedLimit & LimitValues;
  const problem =
    findProblem(checkNamed, fields) ??
    findPlacementProblem(fields) ??
    findProblem(checkValues, fields);
  if (problem !== undefined) return invalid(problem);
  const words = LIMIT_WORDS.filter((word) => fields[word] !== undefined);
  if (words.length === 0) return invalid(NOTHING_CHANGES);
  const { scope, key_id: keyId, model: modelId } = fields;
  const request: LimitRequest = {
    scope,
    ...defined({ keyId, modelId }),
    change: Object.fromEntries(words.map((word) => [LIMIT_NAMES[word], fields[word]])),
  };
  return { ok: true, request };
}

function invalid(message: string): Refused {
  return refused(invalidRequest(message));
}

/** `readJsonObject` refuses the key `__proto__` at every depth, so its scan must know this word. */
const WORDS = new WordTable(["__proto__"]);
const MESSAGES = { missing: 'is missing; send "org" or "key" or "model"', unknown: "" };
const checkNamed = schemaCheck(NamedLimit, MESSAGES);
const checkValues = schemaCheck(LimitValues, MESSAGES);
const NOTHING_CHANGES =
  "rpm, tpm and concurrency are all missing; send at least one, or null to remove your limit";

const FIELDS: readonly string[] = Object.keys(Body.properties);
const ECHOED_CHARS_MAX = 64;

function findNameProblem(doc: JsonDocument): string | undefined {
  const names = new Set<string>();
  for (const key of doc.keys(0)) {
    const name = doc.text(key);
    if (!FIELDS.includes(name)) {
      const shown = name.slice(0, ECHOED_CHARS_MAX);
      return `${shown} is not a field of this route; it accepts ${FIELDS.join(", ")}`;
    }
    if (names.has(name)) return `${name} is duplicated; send it once`;
    names.add(name);
  }
  return undefined;
}

function findProblem(check: SchemaCheck, fields: object): string | undefined {
  const fault = check(fields);
  return fault === undefined ? undefined : `${String(fault.path[0])} ${fault.message}`;
}

function findPlacementProblem({ scope, key_id: keyId, model }: NamedLimit): string | undefined {
  if (scope === "model") {
    return model === undefined ? 'model is missing; scope "model" needs the id of one' : undefined;
  }
  if (model !== undefined) {
    return `model does not go with scope "${scope}"; leave it out, or set scope to "model"`;
  }
  return scope === "org" && keyId !== undefined
    ? 'key_id does not go with scope "org"; leave it out, or set scope to "key"'
    : undefined;
}
