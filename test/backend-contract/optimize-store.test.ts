import { describe, expect, test } from "vitest";

import { createVirtualKey } from "../../src/gateway/accounts/authenticate.ts";
import { createRecordId, type KeyId, type OrgId } from "../../src/kernel/core/ids.ts";
import { microUsd } from "../../src/kernel/core/money.ts";
import type {
  NewSearch,
  OptimizeResult,
  OptimizeSearch,
} from "../../src/account/optimize/postgres-optimize-store.ts";
import { addOrg } from "../support/add-key.ts";
import { withBackend } from "../support/postgres.ts";
import { testOperator } from "../support/test-operator.ts";

const RUNNING_MAX = 2;

const backend = withBackend();

const newOrg = (): Promise<OrgId> => addOrg(backend);

function begin(
  orgId: OrgId,
  change: Partial<NewSearch> = {},
): ReturnType<typeof backend.optimizeStore.begin> {
  return backend.optimizeStore.begin(newSearch(orgId, change), RUNNING_MAX, testOperator);
}

function newSearch(orgId: OrgId, change: Partial<NewSearch> = {}): NewSearch {
  const { digest, label } = createVirtualKey();
  return {
    searchId: createRecordId("search"),
    orgId,
    name: "cheaper support answers",
    objective: "lowest_cost",
    judgeModelId: null,
    modelIds: ["test/a", "test/b"],
    prompts: 3,
    callsPlanned: 6,
    budgetMicroUsd: microUsd(500_000n),
    key: { keyId: createRecordId("key") as KeyId, digest, label, requestsPerMinute: 60 },
    leaseMs: 60_000,
    ...change,
  };
}

async function begun(orgId: OrgId, change: Partial<NewSearch> = {}): Promise<OptimizeSearch> {
  const search = await begin(orgId, change);
  if (search === "too_many") throw new Error("not begun");
  return search;
}

const result: OptimizeResult = {
  modelId: "test/a",
  calls: 3,
  failed: 1,
  costMicroUsd: microUsd(9_007_199_254_740_993n),
  costPerCallMicroUsd: microUsd(4_503_599_627_370_496n),
  firstByteP50Ms: 120,
  winRate: 0.5,
  rank: 1,
};

async function isDisabled(orgId: OrgId, keyId: KeyId): Promise<boolean> {
  const keys = await backend.accountStore.listKeys(orgId);
  return keys.find((key) => key.keyId === keyId)?.disabledAtMs !== null;
}

describe("a search that begins", () => {
  test("has a managed key with its name, its budget as the cap, and 60 requests a minute", async () => {
    const orgId = await newOrg();
    const search = await begun(orgId);
    expect(search).toMatchObject({
      state: "running",
      spentMicroUsd: 0n,
      results: [],
      message: null,
    });
    const keys = await backend.accountStore.listKeys(orgId);
    expect(keys.find((key) => key.keyId === search.keyId)).toMatchObject({
      origin: "optimize",
      name: "cheaper support answers",
      caps: { month: 500_000n },
      requestsPerMinuteCeiling: 60,
      disabledAtMs: null,
    });
  });

  test("is refused while two others run, even when all begin at once", async () => {
    const orgId = await newOrg();
    const outcomes = await Promise.all(Array.from({ length: 6 }, () => begin(orgId)));
    expect(outcomes.filter((each) => each === "too_many")).toHaveLength(4);
    const [one, ...others] = await backend.optimizeStore.list(orgId);
    expect(others).toHaveLength(1);
    const keys = await backend.accountStore.listKeys(orgId);
    expect(keys.filter((key) => key.origin === "optimize")).toHaveLength(2);
    // A search that has ended, or whose process has died, makes room for another one.
    await backend.optimizeStore.stop(orgId, one?.searchId ?? "", testOperator);
    await begun(orgId, { leaseMs: 0 });
    await begun(orgId);
    expect(await begin(orgId)).toBe("too_many");
  });
});

test("a search that runs stores its results, and shows as spent what its key was debited over all months", async () => {
  const orgId = await newOrg();
  const { keyId, searchId } = await begun(orgId);
  const progress = { callsDone: 4, results: [result] };
  expect(await backend.optimizeStore.keep(searchId, progress, 60_000)).toBe(true);
  await backend.query(
    "insert into spend values ('key', $1, '2026-10-01', 123, 0), ('key', $1, '2026-11-01', 45, 0)",
    [keyId],
  );
  const found = await backend.optimizeStore.find(orgId, searchId);
  expect(found).toMatchObject({ ...progress, spentMicroUsd: 168n });
});

describe("a search that ends", () => {
  test("ends once, and its key is disabled with it", async () => {
    const orgId = await newOrg();
    const { searchId, keyId } = await begun(orgId);
    const shown = { state: "over_budget", message: "used up", callsDone: 5 } as const;
    const end = { ...shown, results: [result] };
    expect(await backend.optimizeStore.end(searchId, end, testOperator)).toBe(true);
    expect(await isDisabled(orgId, keyId)).toBe(true);
    const ended = await backend.optimizeStore.find(orgId, searchId);
    expect(ended).toMatchObject(shown);

    const again = { ...end, state: "finished", message: null } as const;
    expect(await backend.optimizeStore.end(searchId, again, testOperator)).toBe(false);
    expect(await backend.optimizeStore.keep(searchId, end, 60_000)).toBe(false);
    expect(await backend.optimizeStore.stop(orgId, searchId, testOperator)).toEqual(ended);
  });

  test("because its process died is interrupted with its key disabled, while other searches continue", async () => {
    const orgId = await newOrg();
    const dead = await begun(orgId, { leaseMs: 0 });
    const living = await begun(orgId);
    expect(await backend.optimizeStore.interruptDead("the process ended")).toBeGreaterThan(0);
    expect(await backend.optimizeStore.find(orgId, dead.searchId)).toMatchObject({
      state: "interrupted",
      message: "the process ended",
    });
    expect(await isDisabled(orgId, dead.keyId)).toBe(true);
    expect((await backend.optimizeStore.find(orgId, living.searchId))?.state).toBe("running");
    expect(await isDisabled(orgId, living.keyId)).toBe(false);
  });
});
