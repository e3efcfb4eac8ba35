import {
  assert,
  CONCURRENT_REQUESTS_MAX,
  CONSOLE_KEY_REQUESTS_PER_MINUTE,
  type KeyId,
  MANAGED_KEY_REQUESTS_PER_MINUTE,
  ORG_REQUESTS_PER_MINUTE,
  type OrgId,
  presentKeyId,
  TOKENS_PER_MINUTE,
  TRIAL_KEY_REQUESTS_PER_MINUTE,
  UNFUNDED_REQUESTS_PER_MINUTE,
  defined,
} from "../../kernel/index.ts";
import {
  type EndpointLimits,
  findValues,
  keyCeilings,
  keyContract,
  type LimitCeilings,
  type LimitDefaults,
  type LimitValues,
  orgCeilings,
  type StoredLimit,
  takeLower,
} from "./limit-ceilings.ts";
import type { ScopeClaim } from "./limit-store.ts";

type Origin = "trial" | "console" | "identity" | "playground" | "optimize";

export interface LimitedOrg {
  readonly orgId: OrgId;
  readonly funded: boolean;
  readonly rules: { readonly limits: readonly StoredLimit[] };
}

export interface LimitedKey extends LimitedOrg {
  readonly keyId: KeyId;
  readonly keyOrigin: Origin;
  readonly requestsPerMinuteCeiling: number;
  /** The customer's own limit; has an effect only below the ceiling. */
  readonly requestsPerMinute?: number;
}

export const SPECIFIED_LIMITS: LimitDefaults = {
  orgRequestsPerMinute: ORG_REQUESTS_PER_MINUTE,
  unfundedRequestsPerMinute: UNFUNDED_REQUESTS_PER_MINUTE,
  keyRequestsPerMinute: 0,
  tokensPerMinute: TOKENS_PER_MINUTE,
  concurrentRequests: CONCURRENT_REQUESTS_MAX,
};

export interface AskedRequest {
  readonly modelId?: string;
  /**
   * True if the organization's own provider keys are used, at least at first: the limits for
   * organizations without credit do not apply yet. Default false.
   */
  readonly ownKeysOnly?: boolean;
  /**
   * True when a request with `ownKeysOnly` falls back to the platform's keys. Only the limits for
   * organizations without credit are claimed, as the others were claimed before. Default false.
   */
  readonly unfundedOnly?: boolean;
}

/**
 * Returns a function that lists the scopes that must admit a request, narrowest first: the key; the
 * model under the key and the model in the organization, each only if a stored limit names it; the
 * organization. The scopes are cached with the immutable key record: the same arguments give the
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
 * Lists the scopes of a request to a dedicated endpoint, except the endpoint's own scope: only
 * limits that the customer set, often none. Cached like those of `limitScopes`.
 */
export function endpointSelfScopes(
  key: LimitedKey,
  modelId: string | undefined,
): readonly ScopeClaim[] {
  return endpointSelfMemo.of(key, modelId);
}

export function endpointScope(endpoint: {
  readonly endpointId: string;
  readonly limits: EndpointLimits;
}): ScopeClaim {
  return { scope: "endpoint", id: `endpoint:${endpoint.endpointId}`, limits: endpoint.limits };
}

export interface LimitRow {
  readonly scope: "key" | "model" | "org";
  readonly id: string;
  /** The id that customers see; often the same as `id`. */
  readonly shownId: string;
  /** Set if the row limits a model under one key; `shownKeyId` is the id that customers see. */
  readonly keyId?: KeyId;
  readonly shownKeyId?: string;
  readonly ceilings: LimitCeilings;
  /** The limits that the operator set; they replace the default. */
  readonly contract: LimitValues;
  /** The limits that the customer set; a value above the ceiling has no effect. */
  readonly self: LimitValues;
  /**
   * The limits in force: the lower of `self` and `ceilings`; for a model, the lower of `self` and
   * `contract`; for an endpoint, `self`.
   */
  readonly limits: LimitValues;
  /**
   * Limit of requests on the platform's provider keys until the organization first holds credit;
   * absent unless it is lower than `limits.requestsPerMinute`.
   */
  readonly unfundedRequestsPerMinute?: number;
}

export function limitRows(
  key: LimitedKey,
  modelId: string | undefined,
  defaults: LimitDefaults,
): readonly LimitRow[] {
  const ofKey = [keyRow(key, defaults), ...keyModelRow(key, modelId, defaults)];
  return [...ofKey, ...orgLimitRows(key, modelId, defaults)];
}

export function orgLimitRows(
  org: LimitedOrg,
  modelId: string | undefined,
  defaults: LimitDefaults,
): readonly LimitRow[] {
  const { limits } = org.rules;
  const models =
    modelId === undefined ? [] : modelRow(org, { modelId }, orgCeilings(limits, modelId, defaults));
  return [...models, orgRow(org, defaults)];
}

export function endpointSelfRows(
  key: LimitedKey,
  modelId: string | undefined,
  defaults: LimitDefaults,
): readonly LimitRow[] {
  // `funded` drops the limit for organizations without credit: endpoints have no default limits.
  return selfRows(limitRows({ ...key, funded: true }, modelId, defaults));
}

/** Lists the scopes that all keys of `org` share; for an endpoint only limits the customer set. */
export function orgScopes(
  org: LimitedOrg,
  asked: { readonly modelId: string | undefined; readonly isOfEndpoint: boolean },
  defaults: LimitDefaults,
): readonly ScopeClaim[] {
  const rows = orgLimitRows(org, asked.modelId, defaults);
  return asked.isOfEndpoint ? selfRows(rows).map(toSelfClaim) : rows.flatMap(toClaims);
}

export function findRequestsPerMinuteCeiling(origin: Origin): number {
  return CEILINGS[origin];
}

const CEILINGS: Readonly<Record<Origin, number>> = {
  trial: TRIAL_KEY_REQUESTS_PER_MINUTE,
  console: CONSOLE_KEY_REQUESTS_PER_MINUTE,
  identity: CONSOLE_KEY_REQUESTS_PER_MINUTE,
  playground: MANAGED_KEY_REQUESTS_PER_MINUTE,
  optimize: MANAGED_KEY_REQUESTS_PER_MINUTE,
};

/**
 * Caches, with each key's record, one result per model that a stored limit names and one for all
 * other models, so that invented model ids take no memory.
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
      known = { general: this.#make(key, undefined), byModel: mapNamedModels(key) };
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
  /** Each value is computed on first use; the map is undefined if no limit names a model. */
  readonly byModel: Map<string, T | undefined> | undefined;
}

function mapNamedModels<T>({ keyId, rules }: LimitedKey): Map<string, T | undefined> | undefined {
  const named = rules.limits.flatMap(({ keyId: ofKey, modelId }) =>
    modelId === undefined || (ofKey !== undefined && ofKey !== keyId) ? [] : [modelId],
  );
  return named.length === 0 ? undefined : new Map(named.map((modelId) => [modelId, undefined]));
}

/**
 * The scopes of one key for one model. Most requests claim `counted`. A request on the
 * organization's own provider keys claims `exempt`, without the limit for organizations without
 * credit, and later `unfunded`, only that limit, if it falls back to the platform's keys. `counted`
 * and `exempt` are often the same array.
 */
interface ScopeSet {
  readonly counted: readonly ScopeClaim[];
  readonly exempt: readonly ScopeClaim[];
  readonly unfunded: readonly ScopeClaim[];
}

function scopeSet(key: LimitedKey, modelId: string | undefined, defaults: LimitDefaults): ScopeSet {
  const rows = limitRows(key, modelId, defaults);
  const exempt = rows.map(toClaim);
  const unfunded = rows.flatMap(toUnfundedClaim);
  const isLimitedMore = unfunded.length > 0;
  return { counted: isLimitedMore ? rows.flatMap(toClaims) : exempt, exempt, unfunded };
}

/*
 * A request to a dedicated endpoint is claimed in each ordinary scope for which the customer set a
 * limit, but counts there only towards the set limits: the endpoint's own replace the defaults.
 */
function toSelfClaim(row: LimitRow): ScopeClaim {
  return { ...toClaim(row), countsOnlyLimited: true };
}

const endpointSelfMemo = new ScopeMemo<readonly ScopeClaim[]>((key, modelId) =>
  endpointSelfRows(key, modelId, SPECIFIED_LIMITS).map(toSelfClaim),
);

function selfRows(rows: readonly LimitRow[]): readonly LimitRow[] {
  return rows
    .filter(({ self }) => Object.keys(self).length > 0)
    .map((row) => ({ ...row, contract: {}, limits: row.self }));
}

function toClaim({ scope, id, shownId, limits }: LimitRow): ScopeClaim {
  return { scope, id, ...(shownId === id ? {} : { shownId }), limits };
}

/*
 * All requests count in the ordinary scope, and only those on the platform's provider keys also in
 * the scope `…#unfunded`, the limit for organizations without credit.
 */
function toClaims(row: LimitRow): readonly ScopeClaim[] {
  return [toClaim(row), ...toUnfundedClaim(row)];
}

function toUnfundedClaim(row: LimitRow): readonly ScopeClaim[] {
  const { scope, id, shownId, unfundedRequestsPerMinute: requestsPerMinute } = row;
  if (requestsPerMinute === undefined) return [];
  return [{ scope, id: `${id}#unfunded`, shownId, limits: { requestsPerMinute } }];
}

function keyRow(key: LimitedKey, defaults: LimitDefaults): LimitRow {
  const { keyId, requestsPerMinute } = key;
  const { limits } = key.rules;
  const stored = findValues(limits, { source: "self", scope: "key", keyId });
  return boundedRow({
    scope: "key",
    id: `key:${keyId}`,
    shownId: `key:${presentKeyId(key)}`,
    ceilings: keyCeilings(key, undefined, defaults),
    contract: keyContract(limits, keyId),
    self: takeLower(stored, defined({ requestsPerMinute })),
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
    contract: findValues(limits, { source: "contract", scope: "org" }),
    self: findValues(limits, { source: "self", scope: "org" }),
    ...unfundedLimit(org, defaults),
  });
}

function keyModelRow(
  key: LimitedKey,
  modelId: string | undefined,
  defaults: LimitDefaults,
): readonly LimitRow[] {
  if (modelId === undefined) return [];
  const { keyId } = key;
  const ceilings = keyCeilings(key, modelId, defaults);
  const rows = modelRow(key, { keyId, modelId }, ceilings);
  return rows.map((row) => ({ ...row, shownKeyId: presentKeyId(key) }));
}

function modelRow(
  { orgId, rules: { limits } }: LimitedOrg,
  of: { readonly modelId: string; readonly keyId?: KeyId },
  ceilings: LimitCeilings,
): readonly LimitRow[] {
  const contract = findValues(limits, { source: "contract", scope: "model", ...of });
  const self = findValues(limits, { source: "self", scope: "model", ...of });
  const held = takeLower(contract, self);
  if (Object.keys(held).length === 0) return [];
  const shownId = `model:${of.modelId}`;
  const { keyId } = of;
  const id = `${shownId}@${keyId ?? orgId}`;
  const identity = { scope: "model", id, shownId, ...defined({ keyId }) } as const;
  return [{ ...identity, ceilings, contract, self, limits: held }];
}

/** Builds the row of a scope that always has limits: its ceilings, or the customer's lower ones. */
function boundedRow(of: Omit<LimitRow, "limits">): LimitRow {
  const limits = takeLower(of.ceilings, of.self);
  const { requestsPerMinute = 0 } = limits;
  assert(requestsPerMinute > 0, "a scope may make at least one request a minute");
  const { unfundedRequestsPerMinute: unfunded, ...rest } = of;
  const isLess = unfunded !== undefined && unfunded < requestsPerMinute;
  const less = isLess ? { unfundedRequestsPerMinute: unfunded } : {};
  return { ...rest, limits, ...less };
}

/** The limit for organizations without credit; the managed Playground key is exempt. */
function unfundedLimit(
  { funded, keyOrigin }: LimitedOrg & { readonly keyOrigin?: Origin },
  defaults: LimitDefaults,
): Pick<LimitRow, "unfundedRequestsPerMinute"> {
  if (funded || keyOrigin === "playground") return {};
  return { unfundedRequestsPerMinute: defaults.unfundedRequestsPerMinute };
}
