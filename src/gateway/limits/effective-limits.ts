import {
  assert,
  CONCURRENT_REQUESTS_MAX,
  CONSOLE_KEY_REQUESTS_PER_MINUTE,
  type KeyId,
  MANAGED_KEY_REQUESTS_PER_MINUTE,
  ORG_REQUESTS_PER_MINUTE,
  type OrgId,
  shownKeyId,
  TOKENS_PER_MINUTE,
  TRIAL_KEY_REQUESTS_PER_MINUTE,
  UNFUNDED_REQUESTS_PER_MINUTE,
  unreachable,
} from "../../kernel/index.ts";
import {
  keyCeilings,
  keyContract,
  lowerOf,
  orgCeilings,
  valuesOf,
  type LimitCeilings,
} from "./limit-ceilings.ts";
import type { ScopeClaim } from "./limit-store.ts";
import type { EndpointLimits, LimitDefaults, LimitValues, StoredLimit } from "./stored-limit.ts";

type Origin = "trial" | "console" | "identity" | "playground" | "optimize";

/** The facts on which the limits of an organization as a whole depend. */
export interface LimitedOrg {
  readonly orgId: OrgId;
  /** Has the organization ever held bought or granted credit? */
  readonly funded: boolean;
  readonly rules: { readonly limits: readonly StoredLimit[] };
}

/** The facts on which the limits of a request depend; a principal has this shape. */
export interface LimitedKey extends LimitedOrg {
  readonly keyId: KeyId;
  readonly keyOrigin: Origin;
  readonly requestsPerMinuteCeiling: number;
  /** Set by the customer; it can only lower the ceiling. */
  readonly requestsPerMinute?: number;
}

export const SPECIFIED_LIMITS: LimitDefaults = {
  orgRequestsPerMinute: ORG_REQUESTS_PER_MINUTE,
  unfundedRequestsPerMinute: UNFUNDED_REQUESTS_PER_MINUTE,
  keyRequestsPerMinute: 0,
  tokensPerMinute: TOKENS_PER_MINUTE,
  concurrentRequests: CONCURRENT_REQUESTS_MAX,
};

/** The facts of a request on which its limits depend. */
export interface AskedRequest {
  readonly modelId?: string;
  /**
   * The organization's own provider keys serve it: it is exempt from what holds until the
   * organization has credit. Default false.
   */
  readonly ownKeysOnly?: boolean;
  /** Only what it was exempt from: none of its own keys served it after all. Default false. */
  readonly unfundedOnly?: boolean;
}

/**
 * Returns a function that lists the scopes that a request of a key must be admitted by, narrowest
 * first: the key, the model where a stored limit names it, the organization. They depend on the
 * (immutable) record only, and are remembered for as long as it lives: the same question gives the
 * same array.
 */
export function limitScopes(
  defaults: LimitDefaults = SPECIFIED_LIMITS,
): (key: LimitedKey, asked?: AskedRequest) => readonly ScopeClaim[] {
  const memo = new ScopeMemo((key, modelId) => scopeSet(key, modelId, defaults));
  return (key, asked) => {
    const set = memo.of(key, asked?.modelId);
    if (asked?.unfundedOnly === true) return set.unfunded;
    return asked?.ownKeysOnly === true ? set.exempt : set.counted;
  };
}

/**
 * The scopes of a request to a dedicated endpoint besides the endpoint's own: the defaults do not
 * hold for it, what the customer set does. Often none. Remembered like those of `limitScopes`.
 */
export function endpointSelfScopes(
  key: LimitedKey,
  modelId: string | undefined,
): readonly ScopeClaim[] {
  return endpointSelfMemo.of(key, modelId);
}

/** The scope of a dedicated endpoint itself; it replaces the defaults. */
export function endpointScope(endpoint: {
  readonly endpointId: string;
  readonly limits: EndpointLimits;
}): ScopeClaim {
  return { scope: "endpoint", id: `endpoint:${endpoint.endpointId}`, limits: endpoint.limits };
}

/** One scope before it is claimed: where its limits come from. */
export interface LimitRow {
  readonly scope: "key" | "model" | "org";
  /** Identity in the limit store. */
  readonly id: string;
  /** The id that callers see; the same as `id` where one name is enough. */
  readonly shownId: string;
  /** Set for a model under one key; what callers are shown of that key. */
  readonly keyId?: KeyId;
  readonly shownKeyId?: string;
  /** The highest limits that the customer may set. */
  readonly ceilings: LimitCeilings;
  /** The limits that the operator set; they replace the default. */
  readonly contract: LimitValues;
  /** The limits that the customer set; a value above the ceiling has no effect. */
  readonly self: LimitValues;
  /** The scope's limit: the lower of what is set and what applies without it. */
  readonly limits: LimitValues;
  /** Requests per minute of what is not exempt; only until the organization holds credit. */
  readonly unfundedRequestsPerMinute?: number;
}

/** The scopes of a request in full, narrowest first, as `limitScopes` claims them. */
export function limitRows(
  key: LimitedKey,
  modelId: string | undefined,
  defaults: LimitDefaults,
): readonly LimitRow[] {
  const models = modelId === undefined ? [] : keyModelRow(key, modelId, defaults);
  return [keyRow(key, defaults), ...models, ...orgLimitRows(key, modelId, defaults)];
}

/** The rows that every key of the organization shares. */
export function orgLimitRows(
  org: LimitedOrg,
  modelId: string | undefined,
  defaults: LimitDefaults,
): readonly LimitRow[] {
  const models = modelId === undefined ? [] : orgModelRow(org, modelId, defaults);
  return [...models, orgRow(org, defaults)];
}

/** The rows of a request to a dedicated endpoint: only what the customer set. */
export function endpointSelfRows(
  key: LimitedKey,
  modelId: string | undefined,
  defaults: LimitDefaults,
): readonly LimitRow[] {
  // The limit without credit is one of the defaults, so it is left out like the others.
  return selfRows(limitRows({ ...key, funded: true }, modelId, defaults));
}

/** The scopes that every key of the organization shares; those of `endpointSelfRows` for one. */
export function orgScopes(
  org: LimitedOrg,
  asked: { readonly modelId: string | undefined; readonly isOfEndpoint: boolean },
  defaults: LimitDefaults,
): readonly ScopeClaim[] {
  const rows = orgLimitRows(org, asked.modelId, defaults);
  return asked.isOfEndpoint ? selfRows(rows).map(selfClaimOf) : rows.flatMap(claimsOf);
}

/** The ceiling in requests per minute of a new key. */
export function requestsPerMinuteCeilingOf(origin: Origin): number {
  switch (origin) {
    case "trial":
      return TRIAL_KEY_REQUESTS_PER_MINUTE;
    case "console":
    case "identity":
      return CONSOLE_KEY_REQUESTS_PER_MINUTE;
    case "playground":
    case "optimize":
      return MANAGED_KEY_REQUESTS_PER_MINUTE;
    default:
      return unreachable(origin);
  }
}

/**
 * The results for a key, remembered while its record lives: once for every model that a stored
 * limit names, and once for all others, so that made-up model ids take no memory.
 */
class ScopeMemo<T> {
  readonly #known: WeakMap<LimitedKey, Remembered<T>> = new WeakMap();
  readonly #make: (key: LimitedKey, modelId: string | undefined) => T;

  constructor(make: (key: LimitedKey, modelId: string | undefined) => T) {
    this.#make = make;
  }

  of(key: LimitedKey, modelId: string | undefined): T {
    let known = this.#known.get(key);
    if (known === undefined) {
      known = { general: this.#make(key, undefined), byModel: namedModels(key) };
      this.#known.set(key, known);
    }
    const { general, byModel } = known;
    if (byModel === undefined || modelId === undefined || !byModel.has(modelId)) return general;
    const ofModel = byModel.get(modelId) ?? this.#make(key, modelId);
    byModel.set(modelId, ofModel);
    return ofModel;
  }
}

interface Remembered<T> {
  readonly general: T;
  /** Every named model, undefined until it is asked for; no map when no limit names a model. */
  readonly byModel: Map<string, T | undefined> | undefined;
}

function namedModels<T>({ keyId, rules }: LimitedKey): Map<string, T | undefined> | undefined {
  const named = rules.limits.flatMap(({ keyId: ofKey, modelId }) =>
    modelId === undefined || (ofKey !== undefined && ofKey !== keyId) ? [] : [modelId],
  );
  return named.length === 0 ? undefined : new Map(named.map((modelId) => [modelId, undefined]));
}

/** The scopes of a request that counts in full, and of an exempt one; often the same array. */
interface ScopeSet {
  readonly counted: readonly ScopeClaim[];
  readonly exempt: readonly ScopeClaim[];
  /** The scopes that an exempt request is spared. */
  readonly unfunded: readonly ScopeClaim[];
}

function scopeSet(key: LimitedKey, modelId: string | undefined, defaults: LimitDefaults): ScopeSet {
  const rows = limitRows(key, modelId, defaults);
  const exempt = rows.map(claimOf);
  const unfunded = rows.flatMap(unfundedClaimOf);
  const isLimitedMore = unfunded.length > 0;
  return { counted: isLimitedMore ? rows.flatMap(claimsOf) : exempt, exempt, unfunded };
}

/* Where the customer limits no requests, those to an endpoint use up none of the default. */
function selfClaimOf(row: LimitRow): ScopeClaim {
  const isCounted = row.limits.requestsPerMinute !== undefined;
  return isCounted ? claimOf(row) : { ...claimOf(row), countsRequests: false };
}

const endpointSelfMemo = new ScopeMemo<readonly ScopeClaim[]>((key, modelId) =>
  endpointSelfRows(key, modelId, SPECIFIED_LIMITS).map(selfClaimOf),
);

function selfRows(rows: readonly LimitRow[]): readonly LimitRow[] {
  return rows
    .filter(({ self }) => Object.keys(self).length > 0)
    .map((row) => ({ ...row, contract: {}, limits: row.self }));
}

function claimOf({ scope, id, shownId, limits }: LimitRow): ScopeClaim {
  return { scope, id, ...(shownId === id ? {} : { shownId }), limits };
}

/*
 * What holds until there is credit is a window of its own. Every request counts in the scope,
 * exempt or not, and in this one only what is not exempt: neither uses up what the other has.
 */
function claimsOf(row: LimitRow): readonly ScopeClaim[] {
  return [claimOf(row), ...unfundedClaimOf(row)];
}

function unfundedClaimOf(row: LimitRow): readonly ScopeClaim[] {
  const { scope, id, shownId, unfundedRequestsPerMinute: requestsPerMinute } = row;
  if (requestsPerMinute === undefined) return [];
  return [{ scope, id: `${id}#unfunded`, shownId, limits: { requestsPerMinute } }];
}

function keyRow(key: LimitedKey, defaults: LimitDefaults): LimitRow {
  const { keyId, requestsPerMinute } = key;
  const { limits } = key.rules;
  const stored = valuesOf(limits, { source: "self", scope: "key", keyId });
  return boundedRow({
    scope: "key",
    id: `key:${keyId}`,
    shownId: `key:${shownKeyId(key)}`,
    ceilings: keyCeilings(key, undefined, defaults),
    contract: keyContract(limits, keyId),
    self: lowerOf(stored, requestsPerMinute === undefined ? {} : { requestsPerMinute }),
    ...unfundedLimit(key, defaults),
  });
}

function orgRow(org: LimitedOrg, defaults: LimitDefaults): LimitRow {
  const { limits } = org.rules;
  return boundedRow({
    scope: "org",
    id: `org:${org.orgId}`,
    shownId: `org:${org.orgId}`,
    ceilings: orgCeilings(limits, undefined, defaults),
    contract: valuesOf(limits, { source: "contract", scope: "org" }),
    self: valuesOf(limits, { source: "self", scope: "org" }),
    ...unfundedLimit(org, defaults),
  });
}

/** The row of the model under this key, as far as a limit is stored. */
function keyModelRow(
  key: LimitedKey,
  modelId: string,
  defaults: LimitDefaults,
): readonly LimitRow[] {
  const { keyId } = key;
  const ceilings = keyCeilings(key, modelId, defaults);
  const rows = modelRow(key.rules.limits, { keyId, modelId }, ceilings, keyId);
  return rows.map((row) => ({ ...row, shownKeyId: shownKeyId(key) }));
}

/** The row of the model in the whole organization, as far as a limit is stored. */
function orgModelRow(
  { orgId, rules: { limits } }: LimitedOrg,
  modelId: string,
  defaults: LimitDefaults,
): readonly LimitRow[] {
  return modelRow(limits, { modelId }, orgCeilings(limits, modelId, defaults), orgId);
}

function modelRow(
  limits: readonly StoredLimit[],
  of: { readonly modelId: string; readonly keyId?: KeyId },
  ceilings: LimitCeilings,
  owner: string,
): readonly LimitRow[] {
  const contract = valuesOf(limits, { source: "contract", scope: "model", ...of });
  const self = valuesOf(limits, { source: "self", scope: "model", ...of });
  const held = lowerOf(contract, self);
  if (Object.keys(held).length === 0) return [];
  const shownId = `model:${of.modelId}`;
  const { keyId } = of;
  return [
    {
      scope: "model",
      id: `${shownId}@${owner}`,
      shownId,
      ...(keyId === undefined ? {} : { keyId }),
      ceilings,
      contract,
      self,
      limits: held,
    },
  ];
}

/** A scope that always has limits: its ceilings, unless the customer set less. */
function boundedRow(of: Omit<LimitRow, "limits">): LimitRow {
  const limits = lowerOf(of.ceilings, of.self);
  const { requestsPerMinute = 0 } = limits;
  assert(requestsPerMinute > 0, "a scope may make at least one request a minute");
  const { unfundedRequestsPerMinute: unfunded, ...rest } = of;
  const isLess = unfunded !== undefined && unfunded < requestsPerMinute;
  const less = isLess ? { unfundedRequestsPerMinute: unfunded } : {};
  return { ...rest, limits, ...less };
}

/** The managed Playground key is exempt from the rule for organizations without credit. */
function unfundedLimit(
  { funded, keyOrigin }: LimitedOrg & { readonly keyOrigin?: Origin },
  defaults: LimitDefaults,
): Pick<LimitRow, "unfundedRequestsPerMinute"> {
  if (funded || keyOrigin === "playground") return {};
  return { unfundedRequestsPerMinute: defaults.unfundedRequestsPerMinute };
}
