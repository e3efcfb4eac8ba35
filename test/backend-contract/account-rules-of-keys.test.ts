import { beforeEach, describe, expect, test } from "vitest";
import { PLAIN_RULES } from "../../src/gateway/accounts/account-rules.ts";
import type { OrgId } from "../../src/kernel/core/ids.ts";
import { findKey } from "../support/find-key.ts";
import { withBackend } from "../support/postgres.ts";
import type { TestKey } from "../support/add-key.ts";
import { makeRuleKeys, rulesReader } from "../support/rule-keys.ts";
import { testOperator } from "../support/test-operator.ts";
import type { LimitTarget } from "../../src/gateway/limits/limit-ceilings.ts";

const NO_ORG = "org_none" as OrgId;
const ORG: LimitTarget = { source: "contract", scope: "org" };

let key: TestKey;
let second: TestKey;
let foreign: TestKey;

const backend = withBackend();
beforeEach(async () => {
  ({ key, second, foreign } = await makeRuleKeys(backend));
});
const rulesOf = rulesReader(backend);

describe("dedicated endpoints", () => {
  let made = 0;
  const limits = {
    requestsPerSecond: 5,
    paced: { perSecond: 2.5, waitMsMax: 0 },
    requestsPerMinute: 60,
    tokensPerMinute: 9_000,
    concurrent: 4,
  };

  test("an endpoint belongs to its organization with all its limits, for every key", async () => {
    const { rulesStore } = backend;
    const providerId = `private-${++made}`;
    const endpoint = await rulesStore.createEndpoint(
      { orgId: key.orgId, providerId, limits },
      testOperator,
    );
    const shared = {
      endpointId: expect.stringMatching(/^endpoint_[0-9a-f]{24}$/),
      providerId,
      limits,
    };
    const createdAtMs = expect.any(Number) as number;
    expect(endpoint).toEqual({ ...shared, orgId: key.orgId, createdAtMs });
    expect((await rulesOf(key)).endpoints).toEqual([shared]);
    expect((await rulesOf(second)).endpoints).toEqual([shared]);
    expect(await rulesOf(foreign)).toBe(PLAIN_RULES);
    expect(await rulesStore.listEndpoints(key.orgId)).toEqual([endpoint]);
    expect(await rulesStore.listEndpoints(foreign.orgId)).toEqual([]);
    expect(await rulesStore.listEndpoints()).toContainEqual(endpoint);
    // The oldest comes first; one without limits has none.
    const later = { orgId: key.orgId, providerId: `private-${++made}`, limits: {} };
    await rulesStore.createEndpoint(later, testOperator);
    const { endpoints } = await rulesOf(key);
    expect(endpoints.map((each) => [each.providerId, each.limits])).toEqual([
      [providerId, limits],
      [later.providerId, {}],
    ]);
  });

  test("a private manifest belongs to one endpoint, and is free after that was removed", async () => {
    const { rulesStore } = backend;
    const providerId = `private-${++made}`;
    const asked = [key.orgId, key.orgId, foreign.orgId].map((orgId) =>
      rulesStore.createEndpoint({ orgId, providerId, limits: {} }, testOperator),
    );
    const outcomes = await Promise.all(asked);
    const winners = outcomes.filter((each) => each !== "taken");
    expect(winners).toHaveLength(1);
    const endpointId = winners[0]?.endpointId ?? "";
    expect(await rulesStore.removeEndpoint(endpointId, testOperator)).toBe(true);
    expect(await rulesStore.removeEndpoint(endpointId, testOperator)).toBe(false);
    expect(await rulesStore.removeEndpoint("endpoint_none", testOperator)).toBe(false);
    expect(await rulesOf(key)).toBe(PLAIN_RULES);
    expect(await rulesStore.listEndpoints(key.orgId)).toEqual([]);
    const again = await rulesStore.createEndpoint(
      { orgId: foreign.orgId, providerId, limits: {} },
      testOperator,
    );
    expect((await rulesOf(foreign)).endpoints).toMatchObject([{ providerId }]);
    expect(again).not.toMatchObject({ endpointId });
  });
});

describe("the routing policy", () => {
  const policy = {
    timeoutMs: 30_000,
    only: ["acme-ai", "other"],
    ignore: ["bad, really"],
    promptLogging: "none",
  } as const;

  test("a policy applies to every key of its organization, and to no other organization", async () => {
    const { rulesStore } = backend;
    expect(await rulesStore.findPolicy(key.orgId)).toBeUndefined();
    expect(await rulesStore.setPolicy(key.orgId, policy, testOperator)).toBe(true);
    expect(await rulesStore.findPolicy(key.orgId)).toEqual(policy);
    expect((await rulesOf(key)).policy).toEqual(policy);
    expect((await rulesOf(second)).policy).toEqual(policy);
    expect(await rulesStore.findPolicy(foreign.orgId)).toBeUndefined();
    expect(await rulesOf(foreign)).toBe(PLAIN_RULES);
  });

  test("a policy is replaced whole; an empty policy or one of empty lists removes it", async () => {
    const { rulesStore } = backend;
    await rulesStore.setPolicy(key.orgId, policy, testOperator);
    expect(await rulesStore.setPolicy(key.orgId, { promptLogging: "none" }, testOperator)).toBe(
      true,
    );
    expect(await rulesStore.findPolicy(key.orgId)).toEqual({ promptLogging: "none" });
    await rulesStore.setPolicy(key.orgId, { timeoutMs: 1, only: [] }, testOperator);
    expect(await rulesStore.findPolicy(key.orgId)).toEqual({ timeoutMs: 1 });
    for (const nothing of [{}, {}, { only: [], ignore: [] }]) {
      expect(await rulesStore.setPolicy(key.orgId, nothing, testOperator)).toBe(true);
      expect(await rulesStore.findPolicy(key.orgId)).toBeUndefined();
    }
    expect(await rulesOf(key)).toBe(PLAIN_RULES);
  });
});

describe("usage holds", () => {
  async function hold(
    family: string,
    state: "limited" | "restricted",
    seconds: number | null,
  ): Promise<void> {
    await backend.query(
      `insert into usage_hold (org_id, family, state, reason, until_at)
      values ($1, $2, $3, 'too many refusals', now() + $4 * interval '1 second')`,
      [key.orgId, family, state, seconds],
    );
  }

  test("a restriction wins over a limit of its kind, and the longer of two limits wins", async () => {
    await hold("chat", "limited", 60);
    await hold("chat", "restricted", null);
    await hold("chat", "limited", 6_000);
    await hold("images", "limited", 9_000);
    await hold("images", "limited", 60);
    const { abuseRestrictions } = await rulesOf(key);
    expect(abuseRestrictions).toMatchObject([
      { family: "chat", state: "restricted" },
      { family: "images", state: "limited" },
    ]);
    expect(abuseRestrictions[0]).not.toHaveProperty("untilMs");
    const [now] = await backend.query("select (extract(epoch from now()) * 1000)::text as ms");
    expect(abuseRestrictions[1]?.untilMs).toBeGreaterThan(Number(now?.["ms"]) + 5_000_000);
  });
});

test("an unknown organization gets no endpoint and no policy", async () => {
  const { rulesStore } = backend;
  const endpoint = { orgId: NO_ORG, providerId: "private-of-one", limits: {} };
  expect(await rulesStore.createEndpoint(endpoint, testOperator)).toBeUndefined();
  await rulesStore.createEndpoint({ ...endpoint, orgId: key.orgId }, testOperator);
  // Even when the manifest is taken.
  expect(await rulesStore.createEndpoint(endpoint, testOperator)).toBeUndefined();
  for (const policy of [{ timeoutMs: 1 }, {}]) {
    expect(await rulesStore.setPolicy(NO_ORG, policy, testOperator)).toBe(false);
  }
  expect(await rulesStore.findPolicy(NO_ORG)).toBeUndefined();
});

describe("a key that is looked up by its id", () => {
  test("is the same as by its digest, disabled keys included", async () => {
    const { rulesStore, keyStore, accountStore } = backend;
    await rulesStore.changeLimit(
      key.orgId,
      { ...ORG, scope: "key" },
      { concurrent: 3 },
      testOperator,
    );
    const found = await rulesStore.findKey(key.keyId);
    expect(found?.rules.limits).toHaveLength(1);
    expect(found).toEqual(await findKey(keyStore, key.digest));
    await accountStore.editKeys("anyone", [key.keyId], { disable: true }, testOperator);
    expect(await rulesStore.findKey(key.keyId)).toEqual({ ...found, disabled: true });
    expect((await rulesStore.findKey(foreign.keyId))?.rules).toBe(PLAIN_RULES);
    expect(await rulesStore.findKey("key_none")).toBeUndefined();
  });
});
