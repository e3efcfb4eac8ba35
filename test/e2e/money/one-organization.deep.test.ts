import { describe, expect, test } from "vitest";
import { ask, get, type Wire } from "../../support/ask.ts";
import { nothingHeld } from "../../support/books.ts";
import { type TestAccount, withAccount, withGateway } from "../../support/gateway.ts";
import { OrganizationGuard } from "../../support/organization-guard.ts";
import { withResource } from "../../support/with-resource.ts";

/**
 * Checks that no call needs the rows of two organizations together, except for a batch that has
 * calls of both. Because of that, the books could be split by organization one day.
 */
const gateway = withGateway();
const MANY = { requestsPerMinute: 10_000 };
const mine = withAccount(gateway, "5.00", { ...MANY, keyCapUsd: "4.00", orgCapUsd: "4.50" });
const other = withAccount(gateway, "5.00", { ...MANY, keyCapUsd: "4.00" });
const strange = withAccount(gateway, "5.00", { orgCapUsd: "4.00" });
const poor = withAccount(gateway, "0.00001");

const guard = withResource(async () => {
  // Adds rows of each organization to every table that a call uses.
  for (const account of [mine, other, strange, poor]) await callsOf(account);
  return await OrganizationGuard.install(gateway.config.databaseUrl);
});

async function call(account: TestAccount, wire: Wire, more: object = {}): Promise<number> {
  const model = wire === "wire_a" ? "test/both" : "test/ba";
  const { status } = await ask(gateway.url, {
    key: account.key,
    wire,
    model,
    text: "hello",
    ...more,
  });
  return status;
}

/** Makes every kind of call that a customer's key can make; returns the statuses. */
async function callsOf(account: TestAccount): Promise<readonly number[]> {
  const { key } = account;
  const statuses = [
    await call(account, "wire_a"),
    await call(account, "wire_b"),
    await call(account, "wire_a", { stream: true }),
    await call(account, "wire_b", { stream: true }),
    await call(account, "wire_a", { maxTokens: 150_000_000 }),
    await call(account, "wire_a", { more: { model: "test/none" } }),
  ];
  await nothingHeld(gateway, account);
  for (const path of ["/v1/models", "/v1/limits", "/v1/credits", "/v1/usage"]) {
    statuses.push((await get(gateway.url, { key, path })).status);
  }
  return statuses;
}

test("the guard covers every table with rows of an organization, the books included", async () => {
  expect(await guard.tables()).toEqual(
    expect.arrayContaining(["account", "api_key", "attempt", "hold", "org", "spend", "transfer"]),
  );
});

describe("calls of one organization", () => {
  test("touch no row of another organization, however they end", async () => {
    await guard.allow();
    const free = [await callsOf(mine), await callsOf(poor)];
    await guard.allow(mine.orgId);
    expect(await callsOf(mine)).toEqual(free[0]);
    await guard.allow(poor.orgId);
    expect(await callsOf(poor)).toEqual(free[1]);
    expect(free[0]?.slice(0, 4)).toEqual([200, 200, 200, 200]);
    expect(free[1]?.slice(0, 4)).toEqual([429, 429, 429, 429]);
  });

  test("touch only rows of organizations in the same batch", async () => {
    await guard.allow(mine.orgId, other.orgId);
    // The holds of all calls together stay below the caps of their keys.
    const calls = Array.from({ length: 6 }, (_, at) =>
      call(at % 2 === 0 ? mine : other, "wire_a", { maxTokens: 8 }),
    );
    expect(new Set(await Promise.all(calls))).toEqual(new Set([200]));
    await nothingHeld(gateway, mine);
    await nothingHeld(gateway, other);
  });
});

describe("the guard", () => {
  test("notices a call of an organization that is not allowed", async () => {
    await guard.allow(other.orgId);
    expect(await call(strange, "wire_a")).toBeGreaterThanOrEqual(500);
  });

  test.each([
    "select max(debit) from attempt",
    "select sum(settled) from spend where scope = 'key'",
    "update org set name = name",
  ])("notices a statement over all organizations: %s", async (sql) => {
    await guard.allow(mine.orgId);
    await expect(guard.query(sql)).rejects.toThrow(/a row of org_\w+ was touched/);
    await guard.allow();
    await guard.query(sql);
  });
});
