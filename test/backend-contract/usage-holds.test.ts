import { describe, expect, test } from "vitest";

import type { UsageFinding } from "../../src/gateway/abuse/postgres-abuse-restriction-store.ts";
import type { OrgId } from "../../src/kernel/core/ids.ts";
import { microUsd } from "../../src/kernel/core/money.ts";
import { addKey, addOrg } from "../support/add-key.ts";
import { findKey } from "../support/find-key.ts";
import { withBackend, withOtherBackend } from "../support/postgres.ts";
import { testOperator } from "../support/test-operator.ts";

const LIMITED_MS = 600_000;
const REPEAT_MS = 24 * 3_600_000;

const backend = withBackend();

/** The same database, opened by another process. */
const other = withOtherBackend(backend);

const trialOrg = (): Promise<OrgId> => addOrg(backend);

function finding(orgId: OrgId, more: Partial<UsageFinding> = {}): UsageFinding {
  return {
    orgId,
    family: "chat",
    reason: "refused_requests 200 in 300 s",
    ageMs: 0,
    limitedMs: LIMITED_MS,
    repeatMs: REPEAT_MS,
    ...more,
  };
}

/** Lets everything that was recorded of the organization have happened so much earlier. */
async function setBack(orgId: OrgId, ms: number): Promise<void> {
  await backend.query(
    `update usage_hold set created_at = created_at - $2 * interval '1 ms',
      until_at = until_at - $2 * interval '1 ms', lifted_at = lifted_at - $2 * interval '1 ms'
    where org_id = $1`,
    [orgId, ms],
  );
}

async function statesOf(orgId: OrgId): Promise<string[]> {
  const holds = await backend.usageHoldStore.list({ orgId, isWithPast: true });
  return holds.map((each) => each.state).reverse();
}

describe("a finding of unusual use", () => {
  test("limits the first time, for as long as it says", async () => {
    const orgId = await trialOrg();
    const before = Date.now();
    const hold = await backend.usageHoldStore.record(finding(orgId));
    expect(hold).toEqual({ family: "chat", state: "limited", untilMs: expect.any(Number) });
    expect(hold?.untilMs).toBeGreaterThan(before + LIMITED_MS - 60_000);
    expect(hold?.untilMs).toBeLessThan(Date.now() + LIMITED_MS + 60_000);
    expect(await backend.usageHoldStore.list({ orgId, isWithPast: false })).toEqual([
      {
        ...hold,
        orgId,
        reason: "refused_requests 200 in 300 s",
        createdAtMs: expect.any(Number),
        liftedAtMs: null,
        isInEffect: true,
      },
    ]);
  });

  test("makes one hold when two processes record it at once, and is no repetition", async () => {
    // Only the later rounds are at the same moment: the first one still opens its connections.
    for (let round = 0; round < 5; round += 1) {
      const orgId = await trialOrg();
      const found = Array.from({ length: 6 }, () => finding(orgId, { ageMs: 60_000 }));
      const holds = await Promise.all([
        ...found.map((each) => backend.usageHoldStore.record(each)),
        ...found.map((each) => other.usageHoldStore.record(each)),
      ]);
      expect(new Set(holds.map((hold) => hold?.untilMs)).size).toBe(1);
      expect(holds[0]).toMatchObject({ state: "limited" });
      expect(await statesOf(orgId)).toEqual(["limited"]);
    }
  });

  test("changes nothing while its hold is in effect", async () => {
    const orgId = await trialOrg();
    const first = await backend.usageHoldStore.record(finding(orgId));
    await setBack(orgId, LIMITED_MS - 60_000);
    const again = await other.usageHoldStore.record(finding(orgId));
    expect(again).toEqual({ ...first, untilMs: (first?.untilMs ?? 0) - LIMITED_MS + 60_000 });
    expect(await statesOf(orgId)).toEqual(["limited"]);
  });

  test("after a limited hold restricts, whichever process records it, until it is lifted", async () => {
    const orgId = await trialOrg();
    await backend.usageHoldStore.record(finding(orgId));
    await setBack(orgId, LIMITED_MS + REPEAT_MS - 60_000);
    const restricted = { family: "chat", state: "restricted" };
    expect(await other.usageHoldStore.record(finding(orgId))).toEqual(restricted);
    await setBack(orgId, 10 * REPEAT_MS);
    expect(await backend.usageHoldStore.record(finding(orgId))).toEqual(restricted);
    expect(await statesOf(orgId)).toEqual(["limited", "restricted"]);
  });

  test("long after a limited hold limits again", async () => {
    const orgId = await trialOrg();
    await backend.usageHoldStore.record(finding(orgId));
    await setBack(orgId, LIMITED_MS + REPEAT_MS + 60_000);
    expect(await backend.usageHoldStore.record(finding(orgId))).toMatchObject({ state: "limited" });
    expect(await statesOf(orgId)).toEqual(["limited", "limited"]);
  });

  test("that is older than the last hold is ignored", async () => {
    const orgId = await trialOrg();
    await backend.usageHoldStore.record(finding(orgId, { limitedMs: 60_000 }));
    await setBack(orgId, 120_000);
    const old = finding(orgId, { ageMs: 180_000 });
    expect(await other.usageHoldStore.record(old)).toBeUndefined();
    const fresh = finding(orgId, { ageMs: 30_000 });
    expect(await other.usageHoldStore.record(fresh)).toMatchObject({ state: "restricted" });
  });

  test("concerns one kind of requests of one organization only", async () => {
    const [orgId, neighbour] = [await trialOrg(), await trialOrg()];
    const { usageHoldStore } = backend;
    await usageHoldStore.record(finding(orgId));
    await setBack(orgId, LIMITED_MS + 1_000);
    const limited = { state: "limited" };
    expect(await usageHoldStore.record(finding(orgId, { family: "videos" }))).toMatchObject(
      limited,
    );
    expect(await usageHoldStore.record(finding(neighbour))).toMatchObject(limited);
  });

  test("is ignored for an organization that bought credit, and for an unknown one", async () => {
    const orgId = await trialOrg();
    const { usageHoldStore, creditStore } = backend;
    const amountMicroUsd = microUsd(1_000_000n);
    await creditStore.grant(
      { orgId, amountMicroUsd, ref: `gift ${orgId}`, isTrial: true },
      testOperator,
    );
    expect(await usageHoldStore.record(finding(orgId))).toMatchObject({ state: "limited" });
    await creditStore.grant({ orgId, amountMicroUsd, ref: `bought ${orgId}` }, testOperator);
    expect(await usageHoldStore.record(finding(orgId, { family: "images" }))).toBeUndefined();
    expect(await usageHoldStore.record(finding("org_unknown" as OrgId))).toBeUndefined();
    expect(await usageHoldStore.list({ orgId, isWithPast: false })).toEqual([]);
    expect(await usageHoldStore.list({ orgId, isWithPast: true })).toEqual([
      expect.objectContaining({ state: "limited", isInEffect: false }),
    ]);
  });

  test("and a simultaneous grant do not block each other", async () => {
    const orgId = await trialOrg();
    const amountMicroUsd = microUsd(1n);
    const grants = Array.from({ length: 5 }, (_, n) =>
      other.creditStore.grant(
        { orgId, amountMicroUsd, ref: `${n} ${orgId}`, isTrial: true },
        testOperator,
      ),
    );
    const records = Array.from({ length: 5 }, () => backend.usageHoldStore.record(finding(orgId)));
    await Promise.all([...grants, ...records]);
    expect(await statesOf(orgId)).toEqual(["limited"]);
  });
});

describe("lifting holds", () => {
  test("ends both states of every kind, and returns what it lifted", async () => {
    const orgId = await trialOrg();
    const { usageHoldStore } = backend;
    await usageHoldStore.record(finding(orgId));
    await setBack(orgId, LIMITED_MS + 1_000);
    await usageHoldStore.record(finding(orgId));
    await usageHoldStore.record(finding(orgId, { family: "images" }));
    const lifted = await other.usageHoldStore.lift(orgId, undefined, testOperator);
    expect(lifted.map(({ family, state }) => `${family} ${state}`)).toEqual([
      "images limited",
      "chat restricted",
      "chat limited",
    ]);
    for (const each of lifted) expect(each).toMatchObject({ orgId, isInEffect: false });
    expect(lifted.every((each) => each.liftedAtMs !== null)).toBe(true);
    expect(await usageHoldStore.list({ orgId, isWithPast: false })).toEqual([]);
    expect(await usageHoldStore.lift(orgId, undefined, testOperator)).toEqual([]);
  });

  test("of one kind keeps the others", async () => {
    const orgId = await trialOrg();
    const { usageHoldStore } = backend;
    await usageHoldStore.record(finding(orgId));
    await usageHoldStore.record(finding(orgId, { family: "decisions" }));
    expect(await usageHoldStore.lift(orgId, "chat", testOperator)).toHaveLength(1);
    const left = await usageHoldStore.list({ orgId, isWithPast: false });
    expect(left.map((each) => each.family)).toEqual(["decisions"]);
  });

  test("makes the next finding limit again, and earlier requests no longer count", async () => {
    const orgId = await trialOrg();
    const { usageHoldStore } = backend;
    await usageHoldStore.record(finding(orgId));
    await setBack(orgId, 120_000);
    await usageHoldStore.lift(orgId, undefined, testOperator);
    await setBack(orgId, 60_000);
    expect(await usageHoldStore.record(finding(orgId, { ageMs: 90_000 }))).toBeUndefined();
    const fresh = finding(orgId, { ageMs: 30_000 });
    expect(await usageHoldStore.record(fresh)).toMatchObject({ state: "limited" });
  });

  test("of one organization leaves the others held", async () => {
    const [orgId, neighbour] = [await trialOrg(), await trialOrg()];
    const { usageHoldStore } = backend;
    await Promise.all([orgId, neighbour].map((each) => usageHoldStore.record(finding(each))));
    await usageHoldStore.lift(orgId, undefined, testOperator);
    const all = await usageHoldStore.list({ isWithPast: false });
    expect(all.map((each) => each.orgId)).toContain(neighbour);
    expect(all.map((each) => each.orgId)).not.toContain(orgId);
  });
});

test("a key carries the holds that apply, and none that ended or was lifted", async () => {
  const orgId = await trialOrg();
  const { usageHoldStore, keyStore } = backend;
  const { digest } = await addKey(backend, orgId);
  const rules = async () => (await findKey(keyStore, digest))?.rules;
  expect(await rules()).toMatchObject({ isTrial: true, abuseRestrictions: [] });
  const limited = await usageHoldStore.record(finding(orgId));
  const [carried, ...more] = (await rules())?.abuseRestrictions ?? [];
  expect(carried).toMatchObject({ family: "chat", state: "limited" });
  // One value is cut to milliseconds, and the other is rounded.
  expect(Math.abs((carried?.untilMs ?? 0) - (limited?.untilMs ?? 0))).toBeLessThanOrEqual(1);
  expect(more).toEqual([]);
  await setBack(orgId, LIMITED_MS + 1_000);
  expect((await rules())?.abuseRestrictions).toEqual([]);
  const restricted = await usageHoldStore.record(finding(orgId));
  expect((await rules())?.abuseRestrictions).toEqual([restricted]);
  await usageHoldStore.lift(orgId, undefined, testOperator);
  expect((await rules())?.abuseRestrictions).toEqual([]);
});

test("a database that does not answer is a fault within seconds, and leaves no lock", async () => {
  const orgId = await trialOrg();
  await backend.query("begin");
  await backend.query("select from org where org_id = $1 for update", [orgId]);
  await expect(other.usageHoldStore.record(finding(orgId))).rejects.toThrow();
  await backend.query("rollback");
  expect(await other.usageHoldStore.record(finding(orgId))).toMatchObject({ state: "limited" });
});
