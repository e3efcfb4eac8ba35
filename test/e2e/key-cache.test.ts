import { expect, test } from "vitest";

import { SETTINGS } from "../../src/kernel/config/settings.ts";
import type { KeyId } from "../../src/kernel/core/ids.ts";
import { microUsd } from "../../src/kernel/core/money.ts";
import { addConnection, ENCRYPTION_KEY } from "../support/add-connection.ts";
import { chatBody } from "../support/chat-bodies.ts";
import { at, bearer, httpCall } from "../support/http-call.ts";
import { until } from "../support/books.ts";
import {
  withGateway,
  type TestAccount,
  type TestGateway,
  type TestGatewayOptions,
} from "../support/gateway.ts";
import { StoppedClock } from "../support/clocks.ts";
import { asAdmin, withDatabase } from "../support/postgres.ts";
import { testOperator } from "../support/test-operator.ts";
import { inSession } from "../support/sql.ts";

/** Only a test moves this clock, so cached values do not expire by themselves. */
const clock = new StoppedClock();
const database = withDatabase();

function options(): TestGatewayOptions {
  return {
    clock,
    settings: {
      databaseUrl: database.connectionString,
      encryptionKey: ENCRYPTION_KEY,
      keyCacheMs: SETTINGS.keyCacheMs.fallback,
    },
  };
}
const here = withGateway(options);
const elsewhere = withGateway(options);

const OWN = { provider: { connections: "only" } };

/** The outcomes of requests with the key at both gateways, `here` first. */
async function outcomes(account: TestAccount, more: object = {}): Promise<readonly Outcome[]> {
  return [await outcomeOf(here, account, more), await outcomeOf(elsewhere, account, more)];
}

const CHANGES = [
  {
    what: "a disabled key",
    change: ({ keyId }: TestAccount) =>
      here.backend.accountStore.editKeys("anyone", [keyId], { disable: true }, testOperator),
    outcome: 401,
  },
  {
    what: "a lowered limit",
    change: ({ orgId, keyId }: TestAccount) =>
      here.backend.rulesStore.changeLimit(
        orgId,
        { source: "self", scope: "key", keyId: keyId as KeyId },
        { requestsPerMinute: 1 },
        testOperator,
      ),
    outcome: 429,
  },
  {
    what: "a routing policy",
    change: ({ orgId }: TestAccount) =>
      here.backend.rulesStore.setPolicy(orgId, { only: ["no-such-provider"] }, testOperator),
    outcome: "refused",
  },
  {
    what: "a cap of an organization",
    change: ({ orgId }: TestAccount) =>
      here.backend.accountStore.setOrgCap(orgId, microUsd(1n), testOperator),
    outcome: "refused",
  },
] as const;

test.each(CHANGES)(
  "$what takes effect at once in this process, and by a notice in another",
  async ({ change, outcome }) => {
    const account = await here.account("1.00");
    expect(await outcomes(account)).toEqual(["admitted", "admitted"]);
    await change(account);
    expect(await outcomeOf(here, account)).toBe(outcome);
    await knownElsewhere(async () => (await outcomeOf(elsewhere, account)) === outcome);
  },
);

test("a limit for unusual use and its lifting take effect by notices in every process", async () => {
  const account = await here.account("0");
  const trial = { orgId: account.orgId, amountMicroUsd: microUsd(1n), ref: "a trial" };
  await here.backend.creditStore.grant({ ...trial, isTrial: true }, testOperator);
  expect([await heldOf(here, account), await heldOf(elsewhere, account)]).toEqual([FREE, FREE]);
  const { usageHoldStore } = here.backend;
  const finding = { family: "chat", reason: "test", ageMs: 0, limitedMs: 600_000 } as const;
  await usageHoldStore.record({ ...finding, orgId: account.orgId, repeatMs: 1 });
  await knownElsewhere(async () => (await heldOf(here, account)) === HELD);
  await knownElsewhere(async () => (await heldOf(elsewhere, account)) === HELD);
  await usageHoldStore.lift(account.orgId, undefined, testOperator);
  expect(await heldOf(here, account)).toBe(FREE);
  await knownElsewhere(async () => (await heldOf(elsewhere, account)) === FREE);
});

const [FREE, HELD] = ["invalid_request", "usage_limited"];

/** The error code for an empty body, which differs while chat requests are limited. */
async function heldOf({ url }: TestGateway, { key }: TestAccount): Promise<string> {
  const call = { headers: bearer(key), body: {} };
  const { headers } = await httpCall(`${url}/v1/chat/completions`, call);
  return String(headers["x-tm-error-code"]);
}

/** Waits for the notice: without one nothing would change, because the clock stands still. */
async function knownElsewhere(isKnown: () => Promise<boolean>): Promise<void> {
  await until("it is known elsewhere", isKnown);
}

test("a made or disabled provider connection takes effect at once here, and by a notice elsewhere", async () => {
  const owner = await here.account("0");
  expect(await outcomes(owner, OWN)).toEqual(["refused", "refused"]);
  const connectionId = await addConnection(here.backend, {
    orgId: owner.orgId,
    provider: "prov-a",
  });
  expect(await outcomeOf(here, owner, OWN)).toBe("admitted");
  const isElsewhere = async (outcome: Outcome): Promise<boolean> =>
    (await outcomeOf(elsewhere, owner, OWN)) === outcome;
  await knownElsewhere(() => isElsewhere("admitted"));
  await here.backend.connectionStore.disable(connectionId, owner.orgId, testOperator);
  expect(await outcomeOf(here, owner, OWN)).toBe("refused");
  await knownElsewhere(() => isElsewhere("refused"));
});

test("a disabled key is refused in both processes after their notice connections were lost", async () => {
  const account = await here.account("1.00");
  expect(await outcomes(account)).toEqual(["admitted", "admitted"]);
  const sql = `select pid from pg_stat_activity
    where application_name = 'tokenmarket notices' and datname = current_database()`;
  await inSession(await asAdmin(database), async (client) => {
    const before = (await client.query<{ pid: number }>(sql)).rows.map(({ pid }) => pid);
    expect(before).toHaveLength(2);
    await client.query("select pg_terminate_backend(pid) from unnest($1::int[]) as t(pid)", [
      before,
    ]);
    await until("both listen again", async () => {
      const { rows } = await client.query<{ pid: number }>(sql);
      return rows.length === 2 && rows.every(({ pid }) => !before.includes(pid));
    });
  });
  expect(await outcomes(account)).toEqual(["admitted", "admitted"]);
  await here.backend.accountStore.editKeys(
    "anyone",
    [account.keyId],
    { disable: true },
    testOperator,
  );
  await until("it is known in both", async () =>
    (await outcomes(account)).every((each) => each === 401),
  );
});

/** Uses a dry run, because two instances with one name cannot both write the journal. */
async function outcomeOf(
  { url }: TestGateway,
  { key }: TestAccount,
  more: object = {},
): Promise<Outcome> {
  const call = { headers: bearer(key), body: { ...chatBody("test/a"), ...more } };
  const answer = await httpCall(`${url}/v1/route?for=chat`, call);
  if (answer.status !== 200) return answer.status;
  return at(answer.json, "would_admit") === true ? "admitted" : "refused";
}

type Outcome = "admitted" | "refused" | number;
