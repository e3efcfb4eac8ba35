import { expect, test } from "vitest";
import { FOLD_HOUR_SQL } from "../../src/gateway/records/listing-sums-sql.ts";

import type { AttemptId, ProviderId } from "../../src/kernel/core/ids.ts";
import { picoUsd } from "../../src/kernel/core/money.ts";
import {
  closeRow,
  marginPinOf,
  orgWithKey,
  pinMargin,
  reserveRow,
  usageOwing,
} from "../support/ledger-rows.ts";
import { withBackend } from "../support/postgres.ts";

const backend = withBackend();

test("listings that lost money are reported, and those that earned money are not", async () => {
  const [cheap, dear] = ["earning" as ProviderId, "losing" as ProviderId];
  const { ledgerBatchStore: store } = backend;
  const org = await orgWithKey(backend, { creditMicroUsd: 1_000_000n });
  const member = await store.join("one", 600_000);
  let attemptId = 0n as AttemptId;
  for (const [providerId, cost, owed] of [
    [cheap, 90_000_000n, 60_000_000n],
    [dear, 10_000_000n, 12_999_999n],
    [dear, 10_000_000n, 15_000_000n],
  ] as const) {
    await pinMargin(backend, providerId);
    attemptId = (attemptId + 1n) as AttemptId;
    const change = { providerId, pricePinId: marginPinOf(providerId) };
    await store.hold(member, reserveRow({ ...org, attemptId }, 100n, change));
    const owes = { usage: usageOwing(owed), owedPicoUsd: picoUsd(owed) };
    await store.closeBatch([closeRow(attemptId, 0n, { costPicoUsd: picoUsd(cost), ...owes })]);
  }
  expect(await backend.listingLosses(5_000)).toEqual([]);
  // These attempts have ids of 1 January 2025, whose hours are summed up only by this call.
  await backend.query(FOLD_HOUR_SQL, [0, 1n << 50n]);
  const losses = (await backend.listingLosses(5_000)).filter(({ providerId }) =>
    [String(cheap), String(dear)].includes(providerId),
  );
  expect(losses).toEqual([
    { providerId: dear, modelId: expect.any(String) as string, attempts: 2, lostMicroUsd: 7n },
  ]);
  expect(await backend.listingLosses(7)).toEqual([]);
});
