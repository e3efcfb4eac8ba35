import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { runs } from "../../../test/support/depth.ts";
import type { KeyId, OrgId } from "../../kernel/core/ids.ts";
import {
  endpointSelfScopes,
  limitRows,
  limitScopes,
  orgScopes,
  findRequestsPerMinuteCeiling,
  SPECIFIED_LIMITS,
  type AskedRequest,
  type LimitedKey,
} from "./effective-limits.ts";
import { LIMIT_FIELDS, type LimitValues, type StoredLimit } from "./limit-ceilings.ts";
import { type ClaimOutcome, orgSlot, type ScopeClaim, tokenCount } from "./limit-store.ts";
import { MemoryLimitStore } from "./memory/memory-limit-store.ts";

const keyId = "key_1" as KeyId;
const otherKey = "key_2" as KeyId;

const consoleKey: LimitedKey = {
  orgId: "org_1" as OrgId,
  keyId,
  keyOrigin: "console",
  requestsPerMinuteCeiling: 300,
  funded: true,
  rules: { limits: [] },
};

const scopesOf = limitScopes();
const unfunded = { ...consoleKey, funded: false };

const playgroundKey = {
  ...unfunded,
  keyOrigin: "playground",
  requestsPerMinuteCeiling: 60,
} as const;
const defaultLimits = { requestsPerMinute: 300, tokensPerMinute: 1_000_000, concurrent: 8 };
const KEY_SCOPE = { scope: "key", id: "key:key_1", limits: defaultLimits };
const ORG_SCOPE = { scope: "org", id: "org:org_1", limits: defaultLimits };

function withLimits(...limits: readonly StoredLimit[]): LimitedKey {
  return { ...consoleKey, rules: { limits } };
}

/** Returns the lowest value of each limit among all claims in scopes of this kind. */
function least(scopes: readonly ScopeClaim[], scope: ScopeClaim["scope"]): LimitValues {
  const found = scopes.filter((each) => each.scope === scope).map(({ limits }) => limits);
  return Object.fromEntries(
    LIMIT_FIELDS.map((field) => [field, Math.min(...found.map((each) => each[field] ?? Infinity))]),
  );
}

const rpmOf = (key: LimitedKey, scope: "key" | "org" = "key", asked?: AskedRequest): number =>
  least(scopesOf(key, asked), scope).requestsPerMinute ?? 0;

describe("defaults", () => {
  test("a funded console key may use 300 requests and a million tokens a minute, eight requests at once", () => {
    expect(scopesOf(consoleKey)).toEqual([KEY_SCOPE, ORG_SCOPE]);
  });

  test("a key's requests per minute are its ceiling, and a limit set for the key can only lower them", () => {
    expect(rpmOf({ ...consoleKey, requestsPerMinuteCeiling: 60 })).toBe(60);
    expect(rpmOf({ ...consoleKey, requestsPerMinute: 5 })).toBe(5);
    expect(rpmOf({ ...consoleKey, requestsPerMinute: 900 })).toBe(300);
  });

  test.each([
    ["trial", 20],
    ["console", 300],
    ["identity", 300],
    ["playground", 60],
    ["optimize", 60],
  ] as const)("a new %s key may make %i requests a minute", (origin, ceiling) => {
    expect(findRequestsPerMinuteCeiling(origin)).toBe(ceiling);
  });

  test("configured limits replace the specification's defaults, and a key's own lower limit stays", () => {
    const configured = limitScopes({
      orgRequestsPerMinute: 1_000,
      unfundedRequestsPerMinute: 10,
      keyRequestsPerMinute: 500,
      tokensPerMinute: 7,
      concurrentRequests: 2,
    });
    const limits = { tokensPerMinute: 7, concurrent: 2 };
    expect(configured(consoleKey)).toMatchObject([
      { scope: "key", limits: { ...limits, requestsPerMinute: 500 } },
      { scope: "org", limits: { ...limits, requestsPerMinute: 1_000 } },
    ]);
    const [lowered] = configured({ ...consoleKey, requestsPerMinute: 5 });
    expect(lowered?.limits.requestsPerMinute).toBe(5);
  });
});

describe("an organization without credit", () => {
  test("has 20 requests a minute despite a contract, or fewer if it has set a lower limit", () => {
    const contract = { source: "contract", scope: "key", requestsPerMinute: 5_000 } as const;
    expect(rpmOf({ ...unfunded, rules: { limits: [contract] } })).toBe(20);
    expect(rpmOf({ ...unfunded, requestsPerMinute: 5 })).toBe(5);
  });

  test("has its 20 requests a minute in a separate window, shown with the id of its scope", () => {
    const limits = { requestsPerMinute: 20 };
    expect(scopesOf(unfunded)).toEqual([
      KEY_SCOPE,
      { scope: "key", id: "key:key_1#unfunded", shownId: "key:key_1", limits },
      ORG_SCOPE,
      { scope: "org", id: "org:org_1#unfunded", shownId: "org:org_1", limits },
    ]);
    expect(rpmOf({ ...unfunded, keyOrigin: "optimize" })).toBe(20);
  });

  test.each([
    ["the managed Playground key", playgroundKey, {}, 60],
    ["a request that uses only its own provider keys", unfunded, { ownKeysOnly: true }, 300],
  ])("%s neither uses up nor is refused by its 20 requests a minute", (_name, key, asked, rpm) => {
    const scopes = scopesOf(key, asked);
    expect(scopes.map(({ id }) => id)).toEqual(["key:key_1", "org:org_1"]);
    expect(least(scopes, "key").requestsPerMinute).toBe(rpm);
    expect(least(scopes, "org")).toEqual(defaultLimits);
  });
});

function own(values: LimitValues): StoredLimit {
  return { source: "self", scope: "key", keyId, ...values };
}

test("a contract of the organization replaces its defaults field by field, but no key's defaults", () => {
  const key = withLimits(
    { source: "contract", scope: "org", requestsPerMinute: 9_000 },
    { source: "self", scope: "org", requestsPerMinute: 9_001, concurrent: 9 },
  );
  expect(least(scopesOf(key), "org")).toEqual({ ...defaultLimits, requestsPerMinute: 9_000 });
  expect(least(scopesOf(key), "key")).toEqual(defaultLimits);
});

const selfSet = { source: "self", scope: "model" } as const;

describe("limits of a model", () => {
  const ofOrg: StoredLimit = { ...selfSet, modelId: "acme/m", tokensPerMinute: 500 };
  const ofKey: StoredLimit = { ...ofOrg, keyId, tokensPerMinute: 100 };
  const asked = { modelId: "acme/m" };

  test("are claimed after the key's limits and before the organization's, the key's own model limit first", () => {
    const shown = { scope: "model", shownId: "model:acme/m" };
    expect(scopesOf(withLimits(ofOrg, ofKey), asked)).toEqual([
      KEY_SCOPE,
      { ...shown, id: "model:acme/m@key_1", limits: { tokensPerMinute: 100 } },
      { ...shown, id: "model:acme/m@org_1", limits: { tokensPerMinute: 500 } },
      ORG_SCOPE,
    ]);
  });

  test("apply only to requests for that model with that key", () => {
    const key = withLimits(ofKey);
    expect(scopesOf(key, { modelId: "acme/other" })).toHaveLength(2);
    expect(scopesOf(key)).toHaveLength(2);
    expect(scopesOf({ ...key, keyId: otherKey }, asked)).toHaveLength(2);
  });

  test("may come from a contract, and a self-set limit can only lower them", () => {
    const contract: StoredLimit = { ...ofOrg, source: "contract", concurrent: 3 };
    const lower = { ...ofOrg, tokensPerMinute: 50 };
    const higher = { ...ofOrg, tokensPerMinute: 600, concurrent: 4 };
    const limitsOf = (...limits: StoredLimit[]): LimitValues =>
      least(scopesOf(withLimits(...limits), asked), "model");
    expect(limitsOf(contract, lower)).toMatchObject({ tokensPerMinute: 50, concurrent: 3 });
    expect(limitsOf(contract, higher)).toMatchObject({ tokensPerMinute: 500, concurrent: 3 });
  });
});

describe("the cache of scopes", () => {
  const key = withLimits({ ...selfSet, modelId: "acme/m", concurrent: 1 });

  test("returns the same array of scopes for all models that no limit names", () => {
    const general = scopesOf(key);
    for (let n = 0; n < 1_000; n += 1) expect(scopesOf(key, { modelId: `m${n}` })).toBe(general);
    expect(scopesOf(key, { modelId: "acme/m" })).not.toBe(general);
    expect(scopesOf(key, { modelId: "acme/m" })).toBe(scopesOf(key, { modelId: "acme/m" }));
    expect(endpointSelfScopes(key, "acme/m")).toBe(endpointSelfScopes(key, "acme/m"));
  });
});

describe("a dedicated endpoint", () => {
  test("has no default limit, no contract limit and no limit for organizations without credit", () => {
    const contract = { source: "contract", scope: "org", requestsPerMinute: 1 } as const;
    expect(endpointSelfScopes(withLimits(contract), "acme/m")).toEqual([]);
    expect(endpointSelfScopes(unfunded, "acme/m")).toEqual([]);
  });

  test("is limited only by limits that the customer set", () => {
    const model: StoredLimit = { ...selfSet, modelId: "acme/m", concurrent: 2 };
    const key = withLimits(own({ requestsPerMinute: 7 }), model, { ...model, modelId: "acme/x" });
    expect(endpointSelfScopes(key, "acme/m")).toEqual([
      {
        scope: "key",
        id: "key:key_1",
        limits: { requestsPerMinute: 7 },
        countsOnlyLimited: true,
      },
      {
        scope: "model",
        id: "model:acme/m@org_1",
        shownId: "model:acme/m",
        limits: { concurrent: 2 },
        countsOnlyLimited: true,
      },
    ]);
  });

  test("uses up no default tokens and places of a key that limits only its requests", () => {
    const store = new MemoryLimitStore();
    const key = { ...consoleKey, requestsPerMinute: 100 };
    const asked = { orgId: key.orgId, slot: orgSlot(key.orgId), nowMs: 1_000_000 };
    const take = (scopes: readonly ScopeClaim[]): ClaimOutcome =>
      store.claim({ ...asked, scopes, ...tokenCount(400_000, 0) });
    for (let n = 0; n < 8; n += 1) take(endpointSelfScopes(key, "acme/m"));
    const lease = { remainingRequests: 91, remainingTokens: 600_000 };
    expect(take(scopesOf(key))).toMatchObject({ kind: "claimed", lease });
  });
});

test("an organization's scopes are those of its keys, less each key's own scopes", () => {
  const model: StoredLimit = { ...selfSet, modelId: "acme/m", concurrent: 2 };
  const org: StoredLimit = { source: "self", scope: "org", concurrent: 3 };
  const limited = withLimits(model, { ...model, keyId, concurrent: 1 }, org);
  const shared = (scopes: readonly ScopeClaim[]): readonly ScopeClaim[] =>
    scopes.filter(({ scope, id }) => scope !== "key" && !id.endsWith(`@${keyId}`));
  const modelId = "acme/m";
  for (const funded of [true, false]) {
    const key = { ...limited, funded };
    const general = orgScopes(key, { modelId, isOfEndpoint: false }, SPECIFIED_LIMITS);
    expect(general).toEqual(shared(scopesOf(key, { modelId })));
    const ofEndpoint = orgScopes(key, { modelId, isOfEndpoint: true }, SPECIFIED_LIMITS);
    expect(ofEndpoint).toEqual(shared(endpointSelfScopes(key, modelId)));
  }
});

describe("for any stored limits", () => {
  const modelIds = ["acme/a", "acme/b"];
  const values = fc.record(
    {
      requestsPerMinute: fc.integer({ min: 1, max: 1_000 }),
      tokensPerMinute: fc.integer({ min: 1, max: 2_000_000 }),
      concurrent: fc.integer({ min: 1, max: 20 }),
    },
    { requiredKeys: [] },
  );
  const place = fc.oneof(
    fc.constant({ scope: "org" as const }),
    fc.constantFrom({ scope: "key" as const, keyId }, { scope: "key" as const, keyId: otherKey }),
    fc.record(
      {
        scope: fc.constant("model" as const),
        modelId: fc.constantFrom(...modelIds),
        keyId: fc.constantFrom(keyId, otherKey),
      },
      { requiredKeys: ["scope", "modelId"] },
    ),
  );
  const source = "contract" as const;
  const contracts: fc.Arbitrary<readonly StoredLimit[]> = fc
    .uniqueArray(place, { maxLength: 6, selector: (each) => JSON.stringify(each) })
    .chain((places) =>
      fc.tuple(...places.map((each) => values.map((set) => ({ source, ...each, ...set })))),
    );
  const asked = fc.record(
    { modelId: fc.constantFrom(...modelIds, "acme/c"), ownKeysOnly: fc.boolean() },
    { requiredKeys: [] },
  );
  const anyKey = fc.record({
    keyOrigin: fc.constantFrom("trial", "console", "playground" as const),
    requestsPerMinuteCeiling: fc.constantFrom(20, 60, 300),
  });

  test("a self-set limit up to the ceiling holds exactly, and no scope is claimed twice", () => {
    fc.assert(
      fc.property(anyKey, contracts, values, asked, (change, stored, set, question) => {
        const key = { ...consoleKey, ...change, rules: { limits: [...stored, own(set)] } };
        const [row] = limitRows(key, undefined, SPECIFIED_LIMITS);
        const scopes = scopesOf(key, question);
        for (const field of LIMIT_FIELDS) {
          const ceiling = row?.ceilings[field] ?? 0;
          expect(least(scopes, "key")[field]).toBe(Math.min(set[field] ?? ceiling, ceiling));
        }
        const ids = scopes.map(({ id }) => id);
        expect(new Set(ids).size).toBe(ids.length);
      }),
      { numRuns: runs(300) },
    );
  });
});
