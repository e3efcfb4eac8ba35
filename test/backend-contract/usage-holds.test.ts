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
  const durations = { ageMs: 0, limitedMs: LIMITED_MS, repeatMs: REPEAT_MS };
  const reason = "refused_requests 200 in 300 s";
  return { orgId, family: "chat", reason, ...durations, ...more };
}

/** Moves everything that was recorded of the organization into the past. */
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

async function grantTrial(orgId: OrgId, ref: string): Promise<void> {
  const grant = { orgId, amountMicroUsd: microUsd(1_000_000n), ref, isTrial: true };
  await other.creditStore.grant(grant, testOperator);
}

describe("a finding of unusual use", () => {
  test("limits the organization the first time, for the duration that the finding states", async () => {
    const orgId = await trialOrg();
    const before = Date.now();
    const hold = await backend.usageHoldStore.record(finding(orgId));
    expect(hold).toEqual({ family: "chat", state: "limited", untilMs: expect.any(Number) });
    expect(hold?.untilMs).toBeGreaterThan(before + LIMITED_MS - 60_000);
    expect(hold?.untilMs).toBeLessThan(Date.now() + LIMITED_MS + 60_000);
    const { reason } = finding(orgId);
    const made = { createdAtMs: expect.any(Number), liftedAtMs: null, isInEffect: true };
    const listed = await backend.usageHoldStore.list({ orgId, isWithPast: false });
    expect(listed).toEqual([{ ...hold, orgId, reason, ...made }]);
  });

  test("makes one hold when two processes record it at once, beside grants of credit", async () => {
    // Only the second round really runs at once: the first one also opens the connections.
    for (let round = 0; round < 2; round += 1) {
      const orgId = await trialOrg();
      // Each may wait two seconds at most for all before it, so they are few.
      const findings = Array.from({ length: 3 }, () => finding(orgId, { ageMs: 60_000 }));
      const granting = findings.map((_, at) => grantTrial(orgId, `${at} ${orgId}`));
      const holds = await Promise.all([
        ...findings.map((each) => backend.usageHoldStore.record(each)),
        ...findings.map((each) => other.usageHoldStore.record(each)),
      ]);
      await Promise.all(granting);
      expect(new Set(holds.map((hold) => hold?.untilMs)).size).toBe(1);
      expect(holds[0]).toMatchObject({ state: "limited" });
      expect(await statesOf(orgId)).toEqual(["limited"]);
    }
  });

  test("changes nothing during a hold, restricts within a day after the hold, and limits again later", async () => {
    const [repeated, late] = [await trialOrg(), await trialOrg()];
    const first = await backend.usageHoldStore.record(finding(repeated));
    await backend.usageHoldStore.record(finding(late));
    await setBack(repeated, LIMITED_MS - 60_000);
    const again = await other.usageHoldStore.record(finding(repeated));
    expect(again).toEqual({ ...first, untilMs: (first?.untilMs ?? 0) - LIMITED_MS + 60_000 });
    expect(await statesOf(repeated)).toEqual(["limited"]);

    await setBack(repeated, REPEAT_MS);
    const restricted = { family: "chat", state: "restricted" };
    expect(await other.usageHoldStore.record(finding(repeated))).toEqual(restricted);
    await setBack(repeated, 10 * REPEAT_MS);
    expect(await backend.usageHoldStore.record(finding(repeated))).toEqual(restricted);
    expect(await statesOf(repeated)).toEqual(["limited", "restricted"]);

    await setBack(late, LIMITED_MS + REPEAT_MS + 60_000);
    expect(await backend.usageHoldStore.record(finding(late))).toMatchObject({ state: "limited" });
    expect(await statesOf(late)).toEqual(["limited", "limited"]);
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
    for (const fresh of [finding(orgId, { family: "videos" }), finding(neighbour)]) {
      expect(await usageHoldStore.record(fresh)).toMatchObject({ state: "limited" });
    }
  });

  test("is ignored for an organization that bought credit, and for an unknown one", async () => {
    const orgId = await trialOrg();
    const { usageHoldStore, creditStore } = backend;
    await grantTrial(orgId, `gift ${orgId}`);
    expect(await usageHoldStore.record(finding(orgId))).toMatchObject({ state: "limited" });
    const bought = { orgId, amountMicroUsd: microUsd(1_000_000n), ref: `bought ${orgId}` };
    await creditStore.grant(bought, testOperator);
    expect(await usageHoldStore.record(finding(orgId, { family: "images" }))).toBeUndefined();
    expect(await usageHoldStore.record(finding("org_unknown" as OrgId))).toBeUndefined();
    expect(await usageHoldStore.list({ orgId, isWithPast: false })).toEqual([]);
    expect(await usageHoldStore.list({ orgId, isWithPast: true })).toEqual([
      expect.objectContaining({ state: "limited", isInEffect: false }),
    ]);
  });
});

describe("lifting holds", () => {
  test("ends limits and restrictions for one kind of requests or for all kinds, and returns them", async () => {
    const [orgId, neighbor] = [await trialOrg(), await trialOrg()];
    const { usageHoldStore } = backend;
    const inEffect = async (of: OrgId): Promise<readonly string[]> =>
      (await usageHoldStore.list({ orgId: of, isWithPast: false })).map((each) => each.family);
    await usageHoldStore.record(finding(neighbor));
    await usageHoldStore.record(finding(orgId));
    await setBack(orgId, LIMITED_MS + 1_000);
    await usageHoldStore.record(finding(orgId));
    await usageHoldStore.record(finding(orgId, { family: "images" }));
    await usageHoldStore.record(finding(orgId, { family: "decisions" }));
    expect(await usageHoldStore.lift(orgId, "decisions", testOperator)).toHaveLength(1);
    expect(await inEffect(orgId)).toEqual(["images", "chat"]);
    const lifted = await other.usageHoldStore.lift(orgId, undefined, testOperator);
    expect(lifted.map(({ family, state }) => `${family} ${state}`)).toEqual([
      "images limited",
      "chat restricted",
      "chat limited",
    ]);
    for (const each of lifted) expect(each).toMatchObject({ orgId, isInEffect: false });
    expect(lifted.every((each) => each.liftedAtMs !== null)).toBe(true);
    expect(await inEffect(orgId)).toEqual([]);
    expect(await usageHoldStore.lift(orgId, undefined, testOperator)).toEqual([]);
    expect(await inEffect(neighbor)).toEqual(["chat"]);
  });

  test("makes the next finding limit instead of restricting, and drops findings from before the lift", async () => {
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
  // One value is truncated to milliseconds, and the other one is rounded.
  expect(Math.abs((carried?.untilMs ?? 0) - (limited?.untilMs ?? 0))).toBeLessThanOrEqual(1);
  expect(more).toEqual([]);
  await setBack(orgId, LIMITED_MS + 1_000);
  expect((await rules())?.abuseRestrictions).toEqual([]);
  const restricted = await usageHoldStore.record(finding(orgId));
  expect((await rules())?.abuseRestrictions).toEqual([restricted]);
  await usageHoldStore.lift(orgId, undefined, testOperator);
  expect((await rules())?.abuseRestrictions).toEqual([]);
});

test("recording a finding fails while the organization's row is locked, and succeeds afterwards", async () => {
  const orgId = await trialOrg();
  await backend.query("begin");
  await backend.query("select from org where org_id = $1 for update", [orgId]);
  await expect(other.usageHoldStore.record(finding(orgId))).rejects.toThrow();
  await backend.query("rollback");
  expect(await other.usageHoldStore.record(finding(orgId))).toMatchObject({ state: "limited" });
});
