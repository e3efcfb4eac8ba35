import { Client } from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import type { AttemptId } from "../../src/kernel/core/ids.ts";
import { microUsd } from "../../src/kernel/core/money.ts";
import type { Membership } from "../../src/ledger/ledger-batch-store.ts";
import type { ReserveOutcome } from "../../src/ledger/ledger-store.ts";
import { LaneConnection, runBatch } from "../../src/ledger/ledger-batches.ts";
import { until } from "../support/books.ts";
import { orgWithKey, pinPrices, reserveRow } from "../support/ledger-rows.ts";
import { freshBackend, type FreshBackend } from "../support/postgres.ts";
import { silentLog } from "../support/silent-log.ts";
import { testOperator } from "../support/test-operator.ts";

const NAMES = ["lock one", "lock two"] as const;
const LEASE_MS = 3_600_000;
/** The program's own connections give up sooner; here nothing depends on how busy the machine is. */
const PATIENCE_MS = 60_000;

let backend: FreshBackend;
let instances: readonly { readonly member: Membership; readonly lane: LaneConnection }[];
let gate: Client;
let attempts = 1n;

beforeAll(async () => {
  backend = await freshBackend();
  await pinPrices(backend);
  const { connectionString } = backend;
  instances = await Promise.all(
    NAMES.map(async (name) => ({
      member: await backend.ledgerBatchStore.join(name, LEASE_MS),
      lane: new LaneConnection({
        connectionString,
        name,
        log: silentLog,
        statementTimeoutMs: PATIENCE_MS,
        lockTimeoutMs: PATIENCE_MS,
      }),
    })),
  );
  gate = new Client({ connectionString });
  await gate.connect();
});

afterAll(async () => {
  await gate.end();
  for (const { lane } of instances) await lane.close();
  await backend.close();
});

/** How many of the two instances wait for a lock of another transaction. */
async function waiting(): Promise<number> {
  const [row] = await backend.query(
    `select count(*)::integer as waiting from pg_stat_activity
     where wait_event_type = 'Lock' and application_name = any ($1)`,
    [NAMES.map((name) => `tokenmarket ${name}`)],
  );
  return Number((row as { waiting: number } | undefined)?.waiting);
}

/**
 * Reserves on two connections so that the second one begins while the first has changed the wallet
 * and has not committed: the moment in which reading without the wallet's lock sees too much.
 */
async function reserveAtOnce(
  org: Awaited<ReturnType<typeof orgWithKey>>,
  amount: bigint,
): Promise<ReserveOutcome["kind"][]> {
  await gate.query("begin");
  // Reading continues; the first to write behind the wallet's row waits here, before its commit.
  await gate.query("lock table spend in share row exclusive mode");
  const running: Promise<readonly ReserveOutcome[]>[] = [];
  for (const { member, lane } of instances) {
    attempts += 1n;
    const row = reserveRow({ ...org, attemptId: attempts as AttemptId }, amount);
    running.push(
      runBatch(lane, { member, closings: [], holds: [row] }).then((answer) => answer.outcomes),
    );
    await until("it waits for a lock", async () => (await waiting()) === running.length);
  }
  await gate.query("commit");
  const outcomes = await Promise.all(running);
  return outcomes.flat().map(({ kind }) => kind);
}

describe("the second of two instances that reserve at once counts the first one's hold", () => {
  test("against the balance", async () => {
    const org = await orgWithKey(backend, { creditMicroUsd: 1_000n });
    expect(await reserveAtOnce(org, 600n)).toEqual(["reserved", "low_balance"]);
    expect(await backend.recordStore.balance(org.orgId)).toMatchObject({ heldMicroUsd: 600n });
  });

  test("against the organization's cap", async () => {
    const org = await orgWithKey(backend, { creditMicroUsd: 10_000n });
    await backend.accountStore.setOrgCap(org.orgId, microUsd(1_000n), testOperator);
    expect(await reserveAtOnce(org, 600n)).toEqual(["reserved", "cap"]);
  });

  test("against a key's cap", async () => {
    const caps = { creditMicroUsd: 10_000n, keyCapMicroUsd: 1_000n };
    const org = await orgWithKey(backend, caps);
    expect(await reserveAtOnce(org, 600n)).toEqual(["reserved", "cap"]);
  });

  test("and both are admitted when there is enough for both", async () => {
    const org = await orgWithKey(backend, { creditMicroUsd: 1_200n });
    expect(await reserveAtOnce(org, 600n)).toEqual(["reserved", "reserved"]);
    for (const check of await backend.audit()) expect(check).toMatchObject({ violations: 0 });
  });
});
