import { beforeEach, describe, expect, test } from "vitest";
import { PLAIN_RULES, type AccountRules } from "../../src/gateway/accounts/account-rules.ts";
import type { KeyId, OrgId } from "../../src/kernel/core/ids.ts";
import { addOrg } from "../support/add-key.ts";
import { findKey } from "../support/find-key.ts";
import { withBackend } from "../support/postgres.ts";
import { addKey, type TestKey } from "../support/add-key.ts";
import { grant, makeRuleKeys, rulesReader } from "../support/rule-keys.ts";
import { testOperator } from "../support/test-operator.ts";
import type { LimitTarget } from "../../src/gateway/limits/limit-ceilings.ts";

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

describe("an organization without rules", () => {
  test("is on trial until it buys credit, whatever trial credit it is given before or after", async () => {
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

  test("has the plain rules again after every rule was removed", async () => {
    const { rulesStore } = backend;
    await rulesStore.changeLimit(key.orgId, ORG, { concurrent: 3 }, testOperator);
    await rulesStore.setPolicy(key.orgId, { timeoutMs: 5 }, testOperator);
    await rulesStore.setKeysMaySetOrgLimits(key.orgId, true, testOperator);
    expect(await rulesOf(key)).not.toBe(PLAIN_RULES);
    await rulesStore.changeLimit(key.orgId, ORG, { concurrent: null }, testOperator);
    await rulesStore.setPolicy(key.orgId, {}, testOperator);
    await rulesStore.setKeysMaySetOrgLimits(key.orgId, false, testOperator);
    expect(await rulesOf(key)).toBe(PLAIN_RULES);
  });
});

describe("stored limits", () => {
  test("a limit applies to its keys: all, one, all for one model, one for one model", async () => {
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
    const set = [...ofAll, ...ofOne].map((target) =>
      rulesStore.changeLimit(orgId, target, change, testOperator),
    );
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

  test("a change keeps the values that it does not name, and null removes a value", async () => {
    const { rulesStore } = backend;
    const change = rulesStore.changeLimit.bind(rulesStore, key.orgId, OWN_ORG);
    expect(await change({ requestsPerMinute: 10 }, testOperator)).toEqual({
      ...OWN_ORG,
      requestsPerMinute: 10,
    });
    expect(await change({ concurrent: 2 }, testOperator)).toEqual({
      ...OWN_ORG,
      requestsPerMinute: 10,
      concurrent: 2,
    });
    expect(await change({ requestsPerMinute: null, tokensPerMinute: 5 }, testOperator)).toEqual({
      ...OWN_ORG,
      tokensPerMinute: 5,
      concurrent: 2,
    });
    expect(await change({}, testOperator)).toEqual({
      ...OWN_ORG,
      tokensPerMinute: 5,
      concurrent: 2,
    });
    expect((await rulesOf(key)).limits).toEqual([
      { ...OWN_ORG, tokensPerMinute: 5, concurrent: 2 },
    ]);
  });

  test("a limit whose last value is removed is deleted, and an empty one is not stored", async () => {
    const { rulesStore } = backend;
    const { orgId } = key;
    await rulesStore.changeLimit(
      orgId,
      ORG,
      { requestsPerMinute: 10, concurrent: 2 },
      testOperator,
    );
    await rulesStore.changeLimit(orgId, OWN_ORG, { concurrent: 1 }, testOperator);
    expect(
      await rulesStore.changeLimit(
        orgId,
        ORG,
        { requestsPerMinute: null, concurrent: null },
        testOperator,
      ),
    ).toEqual(ORG);
    expect(
      await rulesStore.changeLimit(orgId, ORG, { tokensPerMinute: null }, testOperator),
    ).toEqual(ORG);
    expect(await rulesStore.changeLimit(orgId, ORG, {}, testOperator)).toEqual(ORG);
    expect(await rulesStore.listLimits(orgId)).toEqual([{ ...OWN_ORG, concurrent: 1 }]);
    const rows = await backend.query("select 1 from limit_override where org_id = $1", [orgId]);
    expect(rows).toHaveLength(1);
  });

  test("an unknown organization or a key of another one changes nothing", async () => {
    const { rulesStore } = backend;
    const change = { requestsPerMinute: 1 };
    expect(await rulesStore.changeLimit(NO_ORG, ORG, change, testOperator)).toBeUndefined();
    for (const keyId of [foreign.keyId, "key_none" as KeyId]) {
      const target = { source: "self", scope: "key", keyId } as const;
      expect(await rulesStore.changeLimit(key.orgId, target, change, testOperator)).toBeUndefined();
    }
    for (const orgId of [key.orgId, foreign.orgId, NO_ORG]) {
      expect(await rulesStore.listLimits(orgId)).toEqual([]);
    }
  });

  test("a target that contradicts itself is a fault of the program", async () => {
    const wrong: LimitTarget = { source: "self", scope: "org", keyId: key.keyId };
    const change = backend.rulesStore.changeLimit(
      key.orgId,
      wrong,
      { concurrent: 1 },
      testOperator,
    );
    await expect(change).rejects.toThrow("a limit of scope");
  });

  test("simultaneous changes are all kept, and simultaneous removals leave no empty limit", async () => {
    const { rulesStore } = backend;
    const values = { requestsPerMinute: 11, tokensPerMinute: 12, concurrent: 13 };
    const change = (target: LimitTarget, to: Parameters<typeof rulesStore.changeLimit>[2]) =>
      rulesStore.changeLimit(key.orgId, target, to, testOperator);
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
    const { rulesStore } = backend;
    await rulesStore.changeLimit(key.orgId, ORG, { concurrent: 4 }, testOperator);
    await backend.query(`
      create function refuse() returns trigger language plpgsql as $$
        begin raise exception 'cut short'; end $$;
      create trigger refuse before delete on limit_override execute function refuse()`);
    try {
      const cut = rulesStore.changeLimit(key.orgId, ORG, { concurrent: null }, testOperator);
      await expect(cut).rejects.toThrow("cut short");
    } finally {
      await backend.query("drop function refuse cascade");
    }
    expect(await rulesStore.listLimits(key.orgId)).toEqual([{ ...ORG, concurrent: 4 }]);
  });
});

describe("the right of keys to set limits of their organization", () => {
  test("is off until an operator turns it on, for one organization", async () => {
    const { rulesStore } = backend;
    expect(await rulesStore.setKeysMaySetOrgLimits(key.orgId, true, testOperator)).toBe(true);
    expect(await rulesOf(key)).toEqual({ ...PLAIN_RULES, keysMaySetOrgLimits: true });
    expect(await rulesOf(foreign)).toBe(PLAIN_RULES);
    expect(await rulesStore.setKeysMaySetOrgLimits(NO_ORG, true, testOperator)).toBe(false);
  });
});
