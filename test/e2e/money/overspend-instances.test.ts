import { describe, expect, test } from "vitest";

import { formatUsd, microUsd, type MicroUsd } from "../../../src/kernel/core/money.ts";
import { addKey } from "../../support/add-key.ts";
import { ask, at, bodyOf, costOf, type Ask, type HttpAnswer } from "../../support/ask.ts";
import { brokenBooks, debitsOf, nothingHeld, until } from "../../support/books.ts";
import { capOf, capsOf } from "../../support/cap-refusals.ts";
import { withGatedProvider } from "../../support/gated-provider.ts";
import { openAccount, withSimulator, type TestAccount } from "../../support/gateway.ts";
import { serve, withOperatorFolder, withPrograms } from "../../support/operator.ts";
import { withBackend } from "../../support/postgres.ts";
import type { RunningProgram } from "../../support/program.ts";
import { testOperator } from "../../support/test-operator.ts";
import { storm } from "./storm.ts";

const REQUESTS = 240;
const AFFORDABLE = 12;
const KEYS = 3;
const MAX_TOKENS = 100;

const simulator = withSimulator();
const provider = withGatedProvider(simulator);
const folder = withOperatorFolder(provider);
const backend = withBackend();
const gateways = withPrograms(() => {
  const env = {
    DATABASE_URL: backend.connectionString,
    TM_LIMITS_CONCURRENT_REQUESTS: "10000",
    TM_LIMITS_ORG_REQUESTS_PER_MINUTE: "100000",
    TM_LIMITS_KEY_REQUESTS_PER_MINUTE: "100000",
    TM_LIMITS_TOKENS_PER_MINUTE: "100000000",
  };
  return [serve(folder, env), serve(folder, env)];
});

function asked(key: string): Ask {
  return { key, wire: "wire_a", model: "op/model", text: "hold", maxTokens: MAX_TOKENS };
}

/** Micro-dollars that one request holds: one per byte and ten per output token. */
const WORST = BigInt(Buffer.byteLength(bodyOf(asked("any")))) + BigInt(MAX_TOKENS) * 10n;
const STORM = { requests: REQUESTS, affordable: AFFORDABLE, worst: WORST };

function holdsOf(count: number): MicroUsd {
  return microUsd(WORST * BigInt(count));
}

/** The numbers of requests that the balance, the organization's cap and each key's cap cover. */
interface Bounds {
  readonly balance: number;
  readonly orgCap: number;
  readonly keyCap: number;
}

async function openBound(bounds: Bounds): Promise<{ account: TestAccount; keys: string[] }> {
  const account = await openAccount(backend, formatUsd(holdsOf(bounds.balance)), {
    orgCapUsd: formatUsd(holdsOf(bounds.orgCap)),
    keyCapUsd: formatUsd(holdsOf(bounds.keyCap)),
  });
  const keys = [account.key];
  while (keys.length < KEYS) {
    const caps = { month: holdsOf(bounds.keyCap) };
    keys.push((await addKey(backend, account.orgId, { caps })).key);
  }
  return { account, keys };
}

/** Sends all requests to both gateways at once. Returns the refusals, which both gave. */
async function stormBoth(
  account: TestAccount,
  keys: readonly string[],
): Promise<readonly HttpAnswer[]> {
  const refusedBy = new Set<RunningProgram>();
  const refused = await storm({
    backend,
    provider,
    account,
    ...STORM,
    send: async (n) => {
      const gateway = gateways[n % gateways.length] ?? gateways[0];
      if (gateway === undefined) throw new Error("two gateways run");
      const key = keys[Math.floor(n / gateways.length) % keys.length] ?? "";
      const answer = await askUntilDecided(gateway, key);
      if (answer.status !== 200) refusedBy.add(gateway);
      return answer;
    },
  });
  expect(refusedBy.size).toBe(gateways.length);
  return refused;
}

/** Repeats a request that got a 503, which a busy machine may cause. */
async function askUntilDecided(gateway: RunningProgram, key: string): Promise<HttpAnswer> {
  for (;;) {
    const answer = await ask(String(gateway.ready["gateway_url"]), asked(key));
    if (answer.status !== 503) return answer;
    await new Promise((done) => setTimeout(done, 100));
  }
}

describe("two gateways that get 240 parallel requests with money for exactly twelve", () => {
  test("run as two instances of one ledger", async () => {
    const rows = await backend.query("select count(*)::integer as instances from instance");
    expect(rows).toEqual([{ instances: gateways.length }]);
  });

  test("serve twelve and refuse the rest for the balance as retryable, if the balance binds", async () => {
    const { account, keys } = await openBound({ balance: 12, orgCap: 14, keyCap: 13 });
    const refused = await stormBoth(account, keys);
    for (const { headers, json } of refused) {
      expect(headers).toMatchObject({
        "x-tm-error-code": "insufficient_quota",
        "x-tm-error-origin": "gateway_admission",
        "x-tm-limit-scope": "org",
        "x-tm-limit-kind": "spend",
        "x-should-retry": "false",
      });
      expect(headers).not.toHaveProperty("x-tm-cap-reset");
      expect(headers).not.toHaveProperty("x-tm-limit-id");
      expect(at(json, "error", "metadata", "retryable")).toBe(true);
    }
  });

  test("serve twelve and name the cap and its reset to the rest, if the organization's cap binds", async () => {
    const { account, keys } = await openBound({ balance: 14, orgCap: 12, keyCap: 13 });
    const refused = await stormBoth(account, keys);
    expect(capsOf(refused)).toEqual([capOf("org")]);
  });

  test("serve four of each key and name the key's cap to the rest, if the keys' caps bind", async () => {
    const { account, keys } = await openBound({ balance: 14, orgCap: 13, keyCap: 4 });
    const refused = await stormBoth(account, keys);
    expect(capsOf(refused)).toEqual([capOf("key")]);
    const spent = await backend.query(
      "select count(*)::integer as attempts from journal where org_id = $1 group by key_id",
      [account.orgId],
    );
    expect(spent).toEqual(keys.map(() => ({ attempts: 4 })));
  });

  test("serve twelve and name the end of the day to the rest, if a key's daily cap binds", async () => {
    const account = await openDayCapped();
    const refused = await stormBoth(account, [account.key]);
    expect(capsOf(refused)).toEqual([capOf("key", "day")]);
    expect(await spentToday(account)).toBe(await debitsOf({ backend }, account));
  });

  test("charge the open holds of a killed gateway once, and fill the rest of the daily cap exactly", async () => {
    const account = await openDayCapped();
    const [dying, living] = gateways;
    if (dying === undefined || living === undefined) throw new Error("two gateways run");
    const before = provider.calls.length;
    const lost = Array.from({ length: 7 }, () => askUntilDecided(dying, account.key));
    const served = Array.from({ length: 5 }, () => askUntilDecided(living, account.key));
    const cut = Promise.allSettled(lost);
    await until("twelve are out", () => provider.calls.length - before === AFFORDABLE);
    const oneMore = await askUntilDecided(living, account.key);
    expect(capsOf([oneMore])).toEqual([capOf("key", "day")]);

    await dying.end("SIGKILL");
    expect((await cut).map(({ status }) => status)).toEqual(lost.map(() => "rejected"));
    // Ends the lease of the instance with seven holds, instead of waiting ten seconds.
    await backend.query(
      `update instance_lease set lease_until = now() where instance_id = (
        select instance_id from hold where org_id = $1 group by 1 having count(*) = 7)`,
      [account.orgId],
    );
    for (const call of provider.calls.slice(before)) call.release();
    const costs = (await Promise.all(served)).map((answer) => costOf(answer) ?? -1n);
    await nothingHeld({ backend }, account);
    const charged = costs.reduce((sum, cost) => sum + cost, 7n * WORST);
    expect(await debitsOf({ backend }, account)).toBe(charged);
    expect(await spentToday(account)).toBe(charged);

    // Exactly as many requests as the cap still covers are served.
    const left = Number((BigInt(AFFORDABLE) * WORST - charged) / WORST);
    expect(left).toBeGreaterThan(0);
    const again = provider.calls.length;
    const refused: HttpAnswer[] = [];
    const more = Array.from({ length: left + 20 }, async () => {
      const answer = await askUntilDecided(living, account.key);
      if (answer.status !== 200) refused.push(answer);
    });
    await until("all others are refused", () => refused.length === 20);
    await until("the rest are out", () => provider.calls.length - again === left);
    for (const call of provider.calls.slice(again)) call.release();
    await Promise.all(more);
    expect(capsOf(refused)).toEqual([capOf("key", "day")]);
    await nothingHeld({ backend }, account);
    expect(await spentToday(account)).toBe(await debitsOf({ backend }, account));
    expect(await brokenBooks({ backend })).toEqual([]);
  });
});

/** An account with ample credit and a key whose daily cap covers twelve requests. */
async function openDayCapped(): Promise<TestAccount> {
  const account = await openAccount(backend, formatUsd(holdsOf(200)));
  const edit = { caps: { day: holdsOf(AFFORDABLE) } };
  await backend.accountStore.editKeys("anyone", [account.keyId], edit, testOperator);
  return account;
}

/** The key's settled spend of all days; only this test uses the key. */
async function spentToday({ keyId }: TestAccount): Promise<bigint> {
  const sql = "select coalesce(sum(settled), 0)::text as settled from spend_day where key_id = $1";
  const [row] = await backend.query(sql, [keyId]);
  return BigInt(String(row?.["settled"]));
}
