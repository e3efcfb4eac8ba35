import { beforeEach, describe, expect, test } from "vitest";
import {
  type LimitChange,
  PLAIN_RULES,
  type RoutingPolicy,
} from "../../src/gateway/accounts/account-rules.ts";
import type { KeyId, OrgId } from "../../src/kernel/core/ids.ts";
import { addKey, addOrg, type TestKey } from "../support/add-key.ts";
import { findKey } from "../support/find-key.ts";
import { withBackend } from "../support/postgres.ts";
import { grant, makeRuleKeys, rulesReader } from "../support/rule-keys.ts";
import { testOperator } from "../support/test-operator.ts";
import type {
  EndpointLimits,
  LimitTarget,
  StoredLimit,
} from "../../src/gateway/limits/limit-ceilings.ts";

const NO_ORG = "org_none" as OrgId;
const ORG: LimitTarget = { source: "contract", scope: "org" };
const OWN_ORG: LimitTarget = { source: "self", scope: "org" };

let key: TestKey;
let second: TestKey;
let foreign: TestKey;

const backend = withBackend();
beforeEach(async () => {
  ({ key, second, foreign } = await makeRuleKeys(backend));
});
const rulesOf = rulesReader(backend);

const change = (
  target: LimitTarget,
  to: LimitChange,
  orgId = key.orgId,
): Promise<StoredLimit | undefined> =>
  backend.rulesStore.changeLimit(orgId, target, to, testOperator);

const setPolicy = (policy: RoutingPolicy, orgId = key.orgId): Promise<boolean> =>
  backend.rulesStore.setPolicy(orgId, policy, testOperator);

const createEndpoint = (providerId: string, orgId = key.orgId, limits: EndpointLimits = {}) =>
  backend.rulesStore.createEndpoint({ orgId, providerId, limits }, testOperator);

test("an organization is on trial until it buys credit, whatever trial credit it is given", async () => {
  const trial = await addKey(backend, await addOrg(backend));
  expect(await rulesOf(trial)).toEqual({ ...PLAIN_RULES, isTrial: true });
  await grant(backend, trial.orgId, "trial");
  const record = await findKey(backend.keyStore, trial.digest);
  expect(record).toMatchObject({ funded: true, rules: { isTrial: true } });
  for (const credit of ["bought", "trial"] as const) {
    await grant(backend, trial.orgId, credit);
    expect(await rulesOf(trial)).toBe(PLAIN_RULES);
  }
});

describe("stored limits", () => {
  test("a limit applies to all keys of its organization or to one key, for all models or for one", async () => {
    const { keyId } = key;
    const ofAll = [
      { source: "contract", scope: "key" },
      { source: "contract", scope: "model", modelId: "acme/a" },
      { source: "contract", scope: "org" },
      { source: "self", scope: "org" },
    ] as const;
    const ofOne = [
      { source: "contract", scope: "key", keyId },
      { source: "self", scope: "key", keyId },
      { source: "self", scope: "model", keyId, modelId: "acme/a" },
    ] as const;
    const values = { requestsPerMinute: 7, tokensPerMinute: 8, concurrent: 9 };
    const shared = ofAll.map((target) => ({ ...target, ...values }));
    const all = [...shared, ...ofOne.map((target) => ({ ...target, ...values }))];
    const set = [...ofAll, ...ofOne].map((target) => change(target, values));
    expect(await Promise.all(set)).toEqual(all);
    expect(inOrder((await rulesOf(key)).limits)).toEqual(inOrder(all));
    expect(inOrder((await rulesOf(second)).limits)).toEqual(inOrder(shared));
    expect(await rulesOf(foreign)).toBe(PLAIN_RULES);
    expect(inOrder(await backend.rulesStore.listLimits(key.orgId))).toEqual(inOrder(all));
    expect(await backend.rulesStore.listLimits(foreign.orgId)).toEqual([]);
  });

  function inOrder(limits: readonly StoredLimit[]): readonly StoredLimit[] {
    const wordsOf = ({ source, scope, keyId, modelId }: LimitTarget): string =>
      [source, scope, keyId, modelId].join(" ");
    return limits.toSorted((a, b) => wordsOf(a).localeCompare(wordsOf(b)));
  }

  test("a change keeps the values that it does not name, and null removes a value", async () => {
    const left = { tokensPerMinute: 5, concurrent: 2 };
    for (const [to, stored] of [
      [{ requestsPerMinute: 10 }, { requestsPerMinute: 10 }],
      [{ concurrent: 2 }, { requestsPerMinute: 10, concurrent: 2 }],
      [{ requestsPerMinute: null, tokensPerMinute: 5 }, left],
      [{}, left],
    ]) {
      expect(await change(OWN_ORG, to ?? {})).toEqual({ ...OWN_ORG, ...stored });
    }
    expect((await rulesOf(key)).limits).toEqual([{ ...OWN_ORG, ...left }]);
  });

  test("a limit whose last value is removed is deleted, and an empty one is not stored", async () => {
    const { orgId } = key;
    await change(ORG, { requestsPerMinute: 10, concurrent: 2 });
    await change(OWN_ORG, { concurrent: 1 });
    for (const to of [
      { requestsPerMinute: null, concurrent: null },
      { tokensPerMinute: null },
      {},
    ]) {
      expect(await change(ORG, to)).toEqual(ORG);
    }
    expect(await backend.rulesStore.listLimits(orgId)).toEqual([{ ...OWN_ORG, concurrent: 1 }]);
    const rows = await backend.query("select 1 from limit_override where org_id = $1", [orgId]);
    expect(rows).toHaveLength(1);
    await change(OWN_ORG, { concurrent: null });
    expect(await rulesOf(key)).toBe(PLAIN_RULES);
  });

  test("a limit for an unknown organization, or for another organization's key, is not stored", async () => {
    const one = { requestsPerMinute: 1 };
    expect(await change(ORG, one, NO_ORG)).toBeUndefined();
    for (const keyId of [foreign.keyId, "key_none" as KeyId]) {
      expect(await change({ source: "self", scope: "key", keyId }, one)).toBeUndefined();
    }
    for (const orgId of [key.orgId, foreign.orgId, NO_ORG]) {
      expect(await backend.rulesStore.listLimits(orgId)).toEqual([]);
    }
  });

  test("a limit with the scope of an organization throws if it names a key", async () => {
    const wrong: LimitTarget = { source: "self", scope: "org", keyId: key.keyId };
    await expect(change(wrong, { concurrent: 1 })).rejects.toThrow("a limit of scope");
  });

  test("simultaneous changes are all kept, and simultaneous removals leave no empty limit", async () => {
    const { rulesStore } = backend;
    const values = { requestsPerMinute: 11, tokensPerMinute: 12, concurrent: 13 };
    for (let round = 0; round < 5; round++) {
      await Promise.all(
        Object.entries(values).flatMap(([name, value]) =>
          [ORG, OWN_ORG].map((target) => change(target, { [name]: value })),
        ),
      );
      const listed = await rulesStore.listLimits(key.orgId);
      expect(listed).toHaveLength(2);
      for (const limit of listed) expect(limit).toMatchObject(values);
      const removals = Object.keys(values).map((name) => change(ORG, { [name]: null }));
      const others = [
        change(OWN_ORG, { requestsPerMinute: null }),
        change(OWN_ORG, { tokensPerMinute: 5 }),
        change(OWN_ORG, { concurrent: null }),
      ];
      await Promise.all([...removals, ...others]);
      expect(await rulesStore.listLimits(key.orgId)).toEqual([{ ...OWN_ORG, tokensPerMinute: 5 }]);
    }
  });

  test("a removal that fails half-way keeps the limit", async () => {
    await change(ORG, { concurrent: 4 });
    await backend.query(`
      create function refuse() returns trigger language plpgsql as $$
        begin raise exception 'cut short'; end $$;
      create trigger refuse before delete on limit_override execute function refuse()`);
    try {
      await expect(change(ORG, { concurrent: null })).rejects.toThrow("cut short");
    } finally {
      await backend.query("drop function refuse cascade");
    }
    expect(await backend.rulesStore.listLimits(key.orgId)).toEqual([{ ...ORG, concurrent: 4 }]);
  });
});

test("keys may set limits of their organization only while an operator allows it, and of no other", async () => {
  const allow = (may: boolean, orgId = key.orgId): Promise<boolean> =>
    backend.rulesStore.setKeysMaySetOrgLimits(orgId, may, testOperator);
  expect(await allow(true)).toBe(true);
  expect(await rulesOf(key)).toEqual({ ...PLAIN_RULES, keysMaySetOrgLimits: true });
  expect(await rulesOf(foreign)).toBe(PLAIN_RULES);
  expect(await allow(true, NO_ORG)).toBe(false);
  expect(await allow(false)).toBe(true);
  expect(await rulesOf(key)).toBe(PLAIN_RULES);
});

describe("dedicated endpoints", () => {
  const limits = {
    requestsPerSecond: 5,
    paced: { perSecond: 2.5, waitMsMax: 0 },
    requestsPerMinute: 60,
    tokensPerMinute: 9_000,
    concurrent: 4,
  };

  test("every key of an organization gets its dedicated endpoints with all limits, oldest first, and no other key does", async () => {
    const { rulesStore } = backend;
    const endpoint = await createEndpoint("private-old", key.orgId, limits);
    const endpointId = expect.stringMatching(/^endpoint_[0-9a-f]{24}$/) as string;
    const shared = { endpointId, providerId: "private-old", limits };
    const createdAtMs = expect.any(Number) as number;
    expect(endpoint).toEqual({ ...shared, orgId: key.orgId, createdAtMs });
    expect((await rulesOf(key)).endpoints).toEqual([shared]);
    expect((await rulesOf(second)).endpoints).toEqual([shared]);
    expect(await rulesOf(foreign)).toBe(PLAIN_RULES);
    expect(await rulesStore.listEndpoints(key.orgId)).toEqual([endpoint]);
    expect(await rulesStore.listEndpoints(foreign.orgId)).toEqual([]);
    expect(await rulesStore.listEndpoints()).toContainEqual(endpoint);
    await createEndpoint("private-new");
    const unlimited = { endpointId, providerId: "private-new", limits: {} };
    expect((await rulesOf(key)).endpoints).toEqual([shared, unlimited]);
  });

  test("a private manifest belongs to at most one endpoint, until that endpoint is removed", async () => {
    const { rulesStore } = backend;
    const asked = [key.orgId, key.orgId, foreign.orgId].map((orgId) =>
      createEndpoint("private-only", orgId),
    );
    const winners = (await Promise.all(asked)).filter((each) => each !== "taken");
    expect(winners).toHaveLength(1);
    const endpointId = winners[0]?.endpointId ?? "";
    expect(await rulesStore.removeEndpoint(endpointId, testOperator)).toBe(true);
    expect(await rulesStore.removeEndpoint(endpointId, testOperator)).toBe(false);
    expect(await rulesStore.removeEndpoint("endpoint_none", testOperator)).toBe(false);
    expect(await rulesOf(key)).toBe(PLAIN_RULES);
    expect(await rulesStore.listEndpoints(key.orgId)).toEqual([]);
    const again = await createEndpoint("private-only", foreign.orgId);
    expect((await rulesOf(foreign)).endpoints).toMatchObject([{ providerId: "private-only" }]);
    expect(again).not.toMatchObject({ endpointId });
  });

  test("an unknown organization gets no endpoint, even if another one has the manifest", async () => {
    expect(await createEndpoint("private-of-one", NO_ORG)).toBeUndefined();
    await createEndpoint("private-of-one");
    expect(await createEndpoint("private-of-one", NO_ORG)).toBeUndefined();
  });
});

describe("the routing policy", () => {
  const policy = {
    timeoutMs: 30_000,
    only: ["acme-ai", "other"],
    ignore: ["bad, really"],
    promptLogging: "none",
  } as const;

  test("applies to every key of its organization, and to no other organization", async () => {
    const { rulesStore } = backend;
    expect(await rulesStore.findPolicy(key.orgId)).toBeUndefined();
    expect(await setPolicy(policy)).toBe(true);
    expect(await rulesStore.findPolicy(key.orgId)).toEqual(policy);
    expect((await rulesOf(key)).policy).toEqual(policy);
    expect((await rulesOf(second)).policy).toEqual(policy);
    expect(await rulesOf(foreign)).toBe(PLAIN_RULES);
    for (const ofNobody of [{ timeoutMs: 1 }, {}]) {
      expect(await setPolicy(ofNobody, NO_ORG)).toBe(false);
    }
    for (const orgId of [foreign.orgId, NO_ORG]) {
      expect(await rulesStore.findPolicy(orgId)).toBeUndefined();
    }
  });

  test("is replaced whole; an empty policy or one of empty lists removes it", async () => {
    await setPolicy(policy);
    for (const [next, stored] of [
      [{ promptLogging: "none" }, { promptLogging: "none" }],
      [{ timeoutMs: 1, only: [] }, { timeoutMs: 1 }],
      [{}, undefined],
      [{}, undefined],
      [{ only: [], ignore: [] }, undefined],
    ] as const) {
      expect(await setPolicy(next)).toBe(true);
      expect(await backend.rulesStore.findPolicy(key.orgId)).toEqual(stored);
    }
    expect(await rulesOf(key)).toBe(PLAIN_RULES);
  });
});

test("a restriction wins over a limit for the same kind of requests, and the longer of two limits wins", async () => {
  for (const [family, state, seconds] of [
    ["chat", "limited", 60],
    ["chat", "restricted", null],
    ["chat", "limited", 6_000],
    ["images", "limited", 9_000],
    ["images", "limited", 60],
  ]) {
    await backend.query(
      `insert into usage_hold (org_id, family, state, reason, until_at)
      values ($1, $2, $3, 'too many refusals', now() + $4 * interval '1 second')`,
      [key.orgId, family, state, seconds],
    );
  }
  const { abuseRestrictions } = await rulesOf(key);
  expect(abuseRestrictions).toMatchObject([
    { family: "chat", state: "restricted" },
    { family: "images", state: "limited" },
  ]);
  expect(abuseRestrictions[0]).not.toHaveProperty("untilMs");
  const [now] = await backend.query("select (extract(epoch from now()) * 1000)::text as ms");
  expect(abuseRestrictions[1]?.untilMs).toBeGreaterThan(Number(now?.["ms"]) + 5_000_000);
});

test("a key that is looked up by its id is the same as by its digest, disabled keys included", async () => {
  const { rulesStore, keyStore, accountStore } = backend;
  await change({ ...ORG, scope: "key" }, { concurrent: 3 });
  const found = await rulesStore.findKey(key.keyId);
  expect(found?.rules.limits).toHaveLength(1);
  expect(found).toEqual(await findKey(keyStore, key.digest));
  await accountStore.editKeys("anyone", [key.keyId], { disable: true }, testOperator);
  expect(await rulesStore.findKey(key.keyId)).toEqual({ ...found, disabled: true });
  expect((await rulesStore.findKey(foreign.keyId))?.rules).toBe(PLAIN_RULES);
  expect(await rulesStore.findKey("key_none")).toBeUndefined();
});
