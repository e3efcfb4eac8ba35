import { beforeAll, expect, test } from "vitest";

import type { AttemptId, KeyId, OrgId, ProviderId } from "../../src/kernel/core/ids.ts";
import { picoUsd } from "../../src/kernel/core/money.ts";
import type { CloseRow } from "../../src/ledger/ledger-store.ts";
import {
  closeRow,
  marginPinOf,
  orgWithKey,
  pinMargin,
  reserveRow,
  usageOwing,
  voidRow,
} from "../support/ledger-rows.ts";
import { withBackend } from "../support/postgres.ts";

const backend = withBackend();

let org: { readonly orgId: OrgId; readonly keyId: KeyId };
let made = 0n;

beforeAll(async () => {
  org = await orgWithKey(backend, { creditMicroUsd: 1_000_000n });
});

/** Makes an attempt of a new provider, with 100 micro-dollars held. */
async function held(providerId: ProviderId): Promise<AttemptId> {
  await pinMargin(backend, providerId);
  const member = await backend.ledgerBatchStore.join("one", 600_000);
  const attemptId = ++made as AttemptId;
  const change = { providerId, pricePinId: marginPinOf(providerId) };
  const row = reserveRow({ ...org, attemptId }, 100n, change);
  await backend.ledgerBatchStore.hold(member, row);
  return attemptId;
}

/** The closing of an attempt with its cost and the debt to its provider, both in pico-dollars. */
function ending(attemptId: AttemptId, cost: bigint, owed: bigint): CloseRow {
  return closeRow(attemptId, 0n, {
    costPicoUsd: picoUsd(cost),
    usage: usageOwing(owed),
    owedPicoUsd: picoUsd(owed),
  });
}

async function moneyOf(provider: ProviderId): Promise<object> {
  const [balance] = await backend.settlementStore.balances(provider);
  const { accruedMicroUsd: accrued, marginMicroUsd: margin } = balance ?? {};
  const rows = await backend.query(
    `select debit, overrun, owed_pico, cache_write_1h from attempt where provider_id = $1`,
    [provider],
  );
  return { accrued, margin, ...rows[0] };
}

async function expectWhole(): Promise<void> {
  const broken = (await backend.audit()).filter(({ violations }) => violations > 0);
  expect(broken).toEqual([]);
}

const unknown = (id: AttemptId): CloseRow => voidRow(id, { basis: "unknown_after_crash" });

test.each([
  ["keeps what exceeds the debt to the provider", 90_999_999n, 60_000_001n, [60n, 30n, "90", "0"]],
  ["pays what the customer does not", 10_000_000n, 12_999_999n, [12n, -2n, "10", "0"]],
  [
    "has the margin of a cost above its reserve",
    150_000_000n,
    120_000_000n,
    [120n, 30n, "100", "50"],
  ],
] as const)("the platform %s", async (what, cost, owed, [accrued, margin, debit, overrun]) => {
  const provider = what.replaceAll(" ", "-") as ProviderId;
  const id = await held(provider);
  await backend.ledgerBatchStore.closeBatch([ending(id, cost, owed)]);
  const attempt = { debit, overrun, owed_pico: String(owed), cache_write_1h: "5" };
  expect(await moneyOf(provider)).toEqual({ accrued, margin, ...attempt });
  await expectWhole();
});

test("a charge after a crash owes the provider nothing until its end is observed", async () => {
  const provider = "crashed" as ProviderId;
  const id = await held(provider);
  await backend.ledgerBatchStore.closeBatch([unknown(id)]);
  expect(await moneyOf(provider)).toMatchObject({ accrued: 0n, margin: 0n, debit: "100" });
  await expectWhole();
  const [verdict] = await backend.ledgerBatchStore.closeBatch([
    ending(id, 80_000_000n, 50_000_000n),
  ]);
  expect(verdict?.kind).toBe("corrected");
  expect(await moneyOf(provider)).toEqual({
    accrued: 50n,
    margin: 30n,
    debit: "80",
    overrun: "0",
    owed_pico: "50000000",
    cache_write_1h: "5",
  });
  await expectWhole();
});
