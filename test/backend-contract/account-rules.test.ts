import { beforeEach, describe, expect, test } from "vitest";
import { PLAIN_RULES, type AccountRules } from "../../src/auth/account-rules.ts";
import type { LimitTarget } from "../../src/auth/rules-store.ts";
import { newVirtualKey } from "../../src/auth/virtual-key.ts";
import type { KeyId, OrgId } from "../../src/core/ids.ts";
import { microUsd } from "../../src/core/money.ts";
import { withBackend } from "../support/postgres.ts";

interface TestKey {
  readonly orgId: OrgId;
  readonly keyId: KeyId;
  readonly digest: Buffer;
}

const NO_ORG = "org_none" as OrgId;
const ORG: LimitTarget = { source: "contract", scope: "org" };
const OWN_ORG: LimitTarget = { source: "self", scope: "org" };

/** A key of an organization with bought credit; `second` is another key of it. */
let key: TestKey;
let second: TestKey;
/** A key of another such organization. */
let foreign: TestKey;

const backend = withBackend();
beforeEach(async () => {
  [key, foreign] = await Promise.all([boughtOrg(), boughtOrg()]);
  second = await addKey(key.orgId);
});

async function boughtOrg(): Promise<TestKey> {
  const orgId = await emptyOrg();
  await grant(orgId, "bought");
  return await addKey(orgId);
}

async function emptyOrg(): Promise<OrgId> {
  return (await backend.accountStore.createOrg({ name: "Acme", email: "a@example.com" })).orgId;
}

async function grant(orgId: OrgId, kind: "bought" | "trial"): Promise<void> {
  await backend.creditStore.grant({
    orgId,
    amountMicroUsd: microUsd(1_000_000n),
    ref: `${kind} ${orgId}`,
    ...(kind === "trial" ? { isTrial: true } : {}),
  });
}

async function addKey(orgId: OrgId): Promise<TestKey> {
  const { digest, label } = newVirtualKey();
  const { keyId } = await backend.accountStore.createKey({
    orgId,
    name: "one",
    origin: "console",
    digest,
    label,
    requestsPerMinuteCeiling: 300,
    capMicroUsd: null,
  });
  return { orgId, keyId, digest };
}

async function rulesOf({ digest }: TestKey): Promise<AccountRules> {
  const record = await backend.keyStore.findByDigest(digest);
  if (record === undefined) throw new Error("the key is found");
  return record.rules;
}

describe("an organization that nothing was said about", () => {
  test("has the plain rules themselves, so that they take no room in the cache", async () => {
    expect(await rulesOf(key)).toBe(PLAIN_RULES);
  });

  test("is on trial until it has bought credit, whatever credit it was given before", async () => {
    const trial = await addKey(await emptyOrg());
    expect(await rulesOf(trial)).toEqual({ ...PLAIN_RULES, isTrial: true });
    await grant(trial.orgId, "trial");
    const record = await backend.keyStore.findByDigest(trial.digest);
    expect(record).toMatchObject({ funded: true, rules: { isTrial: true } });
    await grant(trial.orgId, "bought");
    expect(await rulesOf(trial)).toBe(PLAIN_RULES);
  });

  test("has bought credit for ever: a later gift makes no trial of it", async () => {
    await grant(key.orgId, "trial");
    expect(await rulesOf(key)).toBe(PLAIN_RULES);
  });

  test("is as plain again after everything that was said was taken back", async () => {
    const { rulesStore } = backend;
    await rulesStore.changeLimit(key.orgId, ORG, { concurrent: 3 });
    await rulesStore.setPolicy(key.orgId, { timeoutMs: 5 });
    await rulesStore.setKeysMaySetOrgLimits(key.orgId, true);
    expect(await rulesOf(key)).not.toBe(PLAIN_RULES);
    await rulesStore.changeLimit(key.orgId, ORG, { concurrent: null });
    await rulesStore.setPolicy(key.orgId, {});
    await rulesStore.setKeysMaySetOrgLimits(key.orgId, false);
    expect(await rulesOf(key)).toBe(PLAIN_RULES);
  });
});

describe("stored limits", () => {
  test("a limit holds for the keys it concerns: all, one, one model, one model of one", async () => {
    const { rulesStore } = backend;
    const { orgId, keyId } = key;
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
    const change = { requestsPerMinute: 7, tokensPerMinute: 8, concurrent: 9 };
    const set = [...ofAll, ...ofOne].map((target) => rulesStore.changeLimit(orgId, target, change));
    expect(await Promise.all(set)).toEqual(
      [...ofAll, ...ofOne].map((target) => ({ ...target, ...change })),
    );
    expect(targetsOf(await rulesOf(key))).toEqual(targets([...ofAll, ...ofOne]));
    expect(targetsOf(await rulesOf(second))).toEqual(targets(ofAll));
    expect(await rulesOf(foreign)).toBe(PLAIN_RULES);
    const listed = await rulesStore.listLimits(orgId);
    expect(targets(listed)).toEqual(targets([...ofAll, ...ofOne]));
    for (const limit of listed) expect(limit).toMatchObject(change);
    expect(await rulesStore.listLimits(foreign.orgId)).toEqual([]);
  });

  function targetsOf({ limits }: AccountRules): readonly string[] {
    for (const limit of limits) {
      expect(limit).toMatchObject({ requestsPerMinute: 7, tokensPerMinute: 8, concurrent: 9 });
    }
    return targets(limits);
  }

  function targets(limits: readonly LimitTarget[]): readonly string[] {
    return limits
      .map((each) => [each.source, each.scope, each.keyId ?? "-", each.modelId ?? "-"].join(" "))
      .toSorted();
  }

  test("a change leaves alone what it does not name, and null removes", async () => {
    const { rulesStore } = backend;
    const change = rulesStore.changeLimit.bind(rulesStore, key.orgId, OWN_ORG);
    expect(await change({ requestsPerMinute: 10 })).toEqual({ ...OWN_ORG, requestsPerMinute: 10 });
    expect(await change({ concurrent: 2 })).toEqual({
      ...OWN_ORG,
      requestsPerMinute: 10,
      concurrent: 2,
    });
    expect(await change({ requestsPerMinute: null, tokensPerMinute: 5 })).toEqual({
      ...OWN_ORG,
      tokensPerMinute: 5,
      concurrent: 2,
    });
    expect(await change({})).toEqual({ ...OWN_ORG, tokensPerMinute: 5, concurrent: 2 });
    expect((await rulesOf(key)).limits).toEqual([
      { ...OWN_ORG, tokensPerMinute: 5, concurrent: 2 },
    ]);
  });

  test("a limit without a value left is gone, and one that never had one is not stored", async () => {
    const { rulesStore } = backend;
    const { orgId } = key;
    await rulesStore.changeLimit(orgId, ORG, { requestsPerMinute: 10, concurrent: 2 });
    await rulesStore.changeLimit(orgId, OWN_ORG, { concurrent: 1 });
    expect(
      await rulesStore.changeLimit(orgId, ORG, { requestsPerMinute: null, concurrent: null }),
    ).toEqual(ORG);
    expect(await rulesStore.changeLimit(orgId, ORG, { tokensPerMinute: null })).toEqual(ORG);
    expect(await rulesStore.changeLimit(orgId, ORG, {})).toEqual(ORG);
    expect(await rulesStore.listLimits(orgId)).toEqual([{ ...OWN_ORG, concurrent: 1 }]);
    const rows = await backend.query("select 1 from limit_override where org_id = $1", [orgId]);
    expect(rows).toHaveLength(1);
  });

  test("what the customer set and what the contract says stand beside each other", async () => {
    const { rulesStore } = backend;
    await rulesStore.changeLimit(key.orgId, ORG, { concurrent: 64 });
    await rulesStore.changeLimit(key.orgId, OWN_ORG, { concurrent: 3 });
    await rulesStore.changeLimit(key.orgId, OWN_ORG, { concurrent: null });
    expect((await rulesOf(key)).limits).toEqual([{ ...ORG, concurrent: 64 }]);
  });

  test("an unknown organization and a key of another one change nothing", async () => {
    const { rulesStore } = backend;
    const change = { requestsPerMinute: 1 };
    expect(await rulesStore.changeLimit(NO_ORG, ORG, change)).toBeUndefined();
    for (const keyId of [foreign.keyId, "key_none" as KeyId]) {
      const target = { source: "self", scope: "key", keyId } as const;
      expect(await rulesStore.changeLimit(key.orgId, target, change)).toBeUndefined();
    }
    for (const orgId of [key.orgId, foreign.orgId, NO_ORG]) {
      expect(await rulesStore.listLimits(orgId)).toEqual([]);
    }
  });

  test("a target that makes no sense is a fault of the program", async () => {
    const wrong: readonly LimitTarget[] = [
      { source: "self", scope: "model" },
      { source: "self", scope: "key", keyId: key.keyId, modelId: "acme/a" },
      { source: "self", scope: "org", keyId: key.keyId },
    ];
    for (const target of wrong) {
      const change = backend.rulesStore.changeLimit(key.orgId, target, { concurrent: 1 });
      await expect(change).rejects.toThrow("a limit of scope");
    }
  });

  test("changes of different values at the same moment all stay", async () => {
    const { rulesStore } = backend;
    const values = { requestsPerMinute: 11, tokensPerMinute: 12, concurrent: 13 };
    for (let round = 0; round < 20; round++) {
      const target = { source: "self", scope: "model", modelId: `acme/${round}` } as const;
      await Promise.all(
        Object.entries(values).map(([name, value]) =>
          rulesStore.changeLimit(key.orgId, target, { [name]: value }),
        ),
      );
    }
    const limits = await rulesStore.listLimits(key.orgId);
    expect(limits).toHaveLength(20);
    for (const limit of limits) expect(limit).toMatchObject(values);
  });

  test("removals at the same moment leave no empty limit, and lose no new value", async () => {
    const { rulesStore } = backend;
    const { orgId } = key;
    for (let round = 0; round < 20; round++) {
      await rulesStore.changeLimit(orgId, ORG, { requestsPerMinute: 1, concurrent: 1 });
      await rulesStore.changeLimit(orgId, OWN_ORG, { requestsPerMinute: 1 });
      await Promise.all([
        rulesStore.changeLimit(orgId, ORG, { requestsPerMinute: null }),
        rulesStore.changeLimit(orgId, ORG, { concurrent: null }),
        rulesStore.changeLimit(orgId, OWN_ORG, { requestsPerMinute: null }),
        rulesStore.changeLimit(orgId, OWN_ORG, { tokensPerMinute: 5 }),
      ]);
      expect(await rulesStore.listLimits(orgId)).toEqual([{ ...OWN_ORG, tokensPerMinute: 5 }]);
    }
  });

  test("a removal that dies half-way leaves the limit as it was", async () => {
    const { rulesStore } = backend;
    await rulesStore.changeLimit(key.orgId, ORG, { concurrent: 4 });
    await backend.query(`
      create function refuse() returns trigger language plpgsql as $$
        begin raise exception 'cut short'; end $$;
      create trigger refuse before delete on limit_override execute function refuse()`);
    try {
      const cut = rulesStore.changeLimit(key.orgId, ORG, { concurrent: null });
      await expect(cut).rejects.toThrow("cut short");
    } finally {
      await backend.query("drop function refuse cascade");
    }
    expect(await rulesStore.listLimits(key.orgId)).toEqual([{ ...ORG, concurrent: 4 }]);
  });

  test("a change that the database refuses leaves no trace, and the store goes on", async () => {
    const { rulesStore } = backend;
    await rulesStore.changeLimit(key.orgId, ORG, { concurrent: 4 });
    const wrong = rulesStore.changeLimit(key.orgId, ORG, { requestsPerMinute: 9, concurrent: 0 });
    await expect(wrong).rejects.toThrow("limit_override_concurrency_check");
    expect(await rulesStore.listLimits(key.orgId)).toEqual([{ ...ORG, concurrent: 4 }]);
  });
});

describe("dedicated endpoints", () => {
  let made = 0;
  const limits = {
    requestsPerSecond: 5,
    paced: { perSecond: 2.5, waitMsMax: 0 },
    requestsPerMinute: 60,
    tokensPerMinute: 9_000,
    concurrent: 4,
  };

  test("an endpoint is its organization's with all its limits, for every key", async () => {
    const { rulesStore } = backend;
    const providerId = `private-${++made}`;
    const endpoint = await rulesStore.createEndpoint({ orgId: key.orgId, providerId, limits });
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
  });

  test("an endpoint without limits has none, and several stand in the order they came", async () => {
    const { rulesStore } = backend;
    const providerIds = [`private-${++made}`, `private-${++made}`];
    for (const providerId of providerIds) {
      await rulesStore.createEndpoint({ orgId: key.orgId, providerId, limits: {} });
    }
    const { endpoints } = await rulesOf(key);
    expect(endpoints.map((each) => each.providerId)).toEqual(providerIds);
    expect(endpoints.map((each) => each.limits)).toEqual([{}, {}]);
  });

  test("a private manifest belongs to one endpoint, and is free again when that is gone", async () => {
    const { rulesStore } = backend;
    const providerId = `private-${++made}`;
    const asked = [key.orgId, key.orgId, foreign.orgId].map((orgId) =>
      rulesStore.createEndpoint({ orgId, providerId, limits: {} }),
    );
    const outcomes = await Promise.all(asked);
    const winners = outcomes.filter((each) => each !== "taken");
    expect(winners).toHaveLength(1);
    const endpointId = winners[0]?.endpointId ?? "";
    expect(await rulesStore.removeEndpoint(endpointId)).toBe(true);
    expect(await rulesStore.removeEndpoint(endpointId)).toBe(false);
    expect(await rulesStore.removeEndpoint("endpoint_none")).toBe(false);
    expect(await rulesOf(key)).toBe(PLAIN_RULES);
    expect(await rulesStore.listEndpoints(key.orgId)).toEqual([]);
    const again = await rulesStore.createEndpoint({ orgId: foreign.orgId, providerId, limits: {} });
    expect((await rulesOf(foreign)).endpoints).toMatchObject([{ providerId }]);
    expect(again).not.toMatchObject({ endpointId });
  });

  test("an unknown organization gets none, also when the manifest is taken", async () => {
    const { rulesStore } = backend;
    const endpoint = { orgId: NO_ORG, providerId: `private-${++made}`, limits: {} };
    expect(await rulesStore.createEndpoint(endpoint)).toBeUndefined();
    await rulesStore.createEndpoint({ ...endpoint, orgId: key.orgId });
    expect(await rulesStore.createEndpoint(endpoint)).toBeUndefined();
  });
});

describe("the routing policy", () => {
  const policy = {
    timeoutMs: 30_000,
    only: ["acme-ai", "other"],
    ignore: ["bad, really"],
    promptLogging: "none",
  } as const;

  test("a policy is one of the organization, for every key of it", async () => {
    const { rulesStore } = backend;
    expect(await rulesStore.findPolicy(key.orgId)).toBeUndefined();
    expect(await rulesStore.setPolicy(key.orgId, policy)).toBe(true);
    expect(await rulesStore.findPolicy(key.orgId)).toEqual(policy);
    expect((await rulesOf(key)).policy).toEqual(policy);
    expect((await rulesOf(second)).policy).toEqual(policy);
    expect(await rulesStore.findPolicy(foreign.orgId)).toBeUndefined();
    expect(await rulesOf(foreign)).toBe(PLAIN_RULES);
  });

  test("a policy is replaced whole; an empty one removes it, as do lists of nothing", async () => {
    const { rulesStore } = backend;
    await rulesStore.setPolicy(key.orgId, policy);
    expect(await rulesStore.setPolicy(key.orgId, { promptLogging: "none" })).toBe(true);
    expect(await rulesStore.findPolicy(key.orgId)).toEqual({ promptLogging: "none" });
    await rulesStore.setPolicy(key.orgId, { timeoutMs: 1, only: [] });
    expect(await rulesStore.findPolicy(key.orgId)).toEqual({ timeoutMs: 1 });
    for (const nothing of [{}, {}, { only: [], ignore: [] }]) {
      expect(await rulesStore.setPolicy(key.orgId, nothing)).toBe(true);
      expect(await rulesStore.findPolicy(key.orgId)).toBeUndefined();
    }
    expect(await rulesOf(key)).toBe(PLAIN_RULES);
  });

  test("an unknown organization has no policy, neither one to set nor one to remove", async () => {
    expect(await backend.rulesStore.setPolicy(NO_ORG, policy)).toBe(false);
    expect(await backend.rulesStore.setPolicy(NO_ORG, {})).toBe(false);
    expect(await backend.rulesStore.findPolicy(NO_ORG)).toBeUndefined();
  });
});

describe("whether keys may set limits of their organization", () => {
  test("is off until somebody turns it on, for one organization", async () => {
    const { rulesStore } = backend;
    expect(await rulesStore.setKeysMaySetOrgLimits(key.orgId, true)).toBe(true);
    expect(await rulesOf(key)).toEqual({ ...PLAIN_RULES, keysMaySetOrgLimits: true });
    expect(await rulesOf(foreign)).toBe(PLAIN_RULES);
    expect(await rulesStore.setKeysMaySetOrgLimits(NO_ORG, true)).toBe(false);
  });
});

describe("connections", () => {
  const sealed = Buffer.from(Array.from({ length: 256 }, (_, at) => at));
  let made = 0;

  async function connect(
    of: { readonly orgId: OrgId; readonly keyId?: KeyId },
    providerId: string,
    bytes: Buffer = sealed,
  ): Promise<string> {
    const id = `conn_${++made}`;
    await backend.query(
      `insert into connection (connection_id, org_id, key_id, provider_id, name, label, sealed_key)
      values ($1, $2, $3, $4, 'mine', 'sk-…', $5)`,
      [id, of.orgId, of.keyId ?? null, providerId, bytes],
    );
    return id;
  }

  test("a key has those of its organization, byte for byte, and no others", async () => {
    const { orgId } = key;
    const shared = await connect({ orgId }, "acme-ai");
    await connect({ orgId: foreign.orgId }, "acme-ai");
    const expected = { connectionId: shared, providerId: "acme-ai", sealedKey: sealed };
    expect((await rulesOf(key)).connections).toEqual([expected]);
    expect((await rulesOf(second)).connections).toEqual([expected]);
    expect((await rulesOf(foreign)).connections).toHaveLength(1);
  });

  test("a key's own stands in place of the organization's, for that key and provider", async () => {
    const { orgId } = key;
    const shared = await connect({ orgId }, "acme-ai");
    const other = await connect({ orgId }, "other-ai");
    const own = await connect(key, "acme-ai", Buffer.from("own"));
    await connect(second, "third-ai");
    expect(idsOf(await rulesOf(key))).toEqual([own, other]);
    expect((await rulesOf(key)).connections[0]).toEqual({
      connectionId: own,
      providerId: "acme-ai",
      keyId: key.keyId,
      sealedKey: Buffer.from("own"),
    });
    expect(idsOf(await rulesOf(second))).toEqual([shared, other, `conn_${made}`]);
  });

  test("a disabled one is gone, and the organization's takes its place", async () => {
    const { orgId } = key;
    const shared = await connect({ orgId }, "acme-ai");
    const own = await connect(key, "acme-ai");
    const disable = "update connection set disabled_at = now() where connection_id = $1";
    await backend.query(disable, [own]);
    expect(idsOf(await rulesOf(key))).toEqual([shared]);
    await backend.query(disable, [shared]);
    expect(await rulesOf(key)).toBe(PLAIN_RULES);
  });

  function idsOf({ connections }: AccountRules): readonly string[] {
    return connections.map((each) => each.connectionId);
  }
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

  test("a limited kind of request has its end; one that ran out is gone", async () => {
    await hold("images", "limited", -1);
    expect(await rulesOf(key)).toBe(PLAIN_RULES);
    await hold("chat", "limited", 600);
    const [row] = await backend.query(
      "select floor(extract(epoch from until_at) * 1000)::text as ms from usage_hold " +
        "where org_id = $1 and family = 'chat'",
      [key.orgId],
    );
    const { usageHolds } = await rulesOf(second);
    expect(usageHolds).toEqual([
      { family: "chat", state: "limited", untilMs: expect.any(Number) as number },
    ]);
    expect(Math.abs((usageHolds[0]?.untilMs ?? 0) - Number(row?.["ms"]))).toBeLessThanOrEqual(1);
    expect(await rulesOf(foreign)).toBe(PLAIN_RULES);
  });

  test("a restriction wins over a limit of its kind, and of two limits the longer one", async () => {
    await hold("chat", "limited", 60);
    await hold("chat", "restricted", null);
    await hold("chat", "limited", 6_000);
    await hold("images", "limited", 9_000);
    await hold("images", "limited", 60);
    const { usageHolds } = await rulesOf(key);
    expect(usageHolds).toMatchObject([
      { family: "chat", state: "restricted" },
      { family: "images", state: "limited" },
    ]);
    expect(usageHolds[0]).not.toHaveProperty("untilMs");
    const [now] = await backend.query("select (extract(epoch from now()) * 1000)::text as ms");
    expect(usageHolds[1]?.untilMs).toBeGreaterThan(Number(now?.["ms"]) + 5_000_000);
  });

  test("a lifted hold is gone, and a limit under it stands again", async () => {
    await hold("chat", "limited", 600);
    await hold("chat", "restricted", null);
    const lift = "update usage_hold set lifted_at = now() where org_id = $1 and state = $2";
    await backend.query(lift, [key.orgId, "restricted"]);
    expect((await rulesOf(key)).usageHolds).toMatchObject([{ family: "chat", state: "limited" }]);
    await backend.query(lift, [key.orgId, "limited"]);
    expect(await rulesOf(key)).toBe(PLAIN_RULES);
  });
});

describe("a key by its id", () => {
  test("is what the look-up by digest would find now, disabled ones included", async () => {
    const { rulesStore, keyStore, accountStore } = backend;
    await rulesStore.changeLimit(key.orgId, { ...ORG, scope: "key" }, { concurrent: 3 });
    const found = await rulesStore.findKey(key.keyId);
    expect(found?.rules.limits).toHaveLength(1);
    expect(found).toEqual(await keyStore.findByDigest(key.digest));
    await accountStore.disableKey(key.keyId);
    expect(await rulesStore.findKey(key.keyId)).toEqual({ ...found, disabled: true });
    expect((await rulesStore.findKey(foreign.keyId))?.rules).toBe(PLAIN_RULES);
    expect(await rulesStore.findKey("key_none" as KeyId)).toBeUndefined();
  });
});
