import { beforeAll, expect, test } from "vitest";

import type { AttemptId, KeyId, OrgId } from "../../src/kernel/core/ids.ts";
import { picoUsd } from "../../src/kernel/core/money.ts";
import { type Usage, ZERO_USAGE } from "../../src/kernel/core/usage.ts";
import { closeRow, orgWithKey, pinPrices, reserveRow } from "../support/ledger-rows.ts";
import { withBackend, withLedger } from "../support/postgres.ts";

const backend = withBackend();
const ledger = withLedger(backend, "one");

const rates = (each: bigint) => ({
  prices: {
    prompt: each,
    cachedPrompt: each,
    cacheWrite: each,
    completion: each * 2n,
    internalReasoning: each * 3n,
  },
});

let org: { readonly orgId: OrgId; readonly keyId: KeyId };

beforeAll(async () => {
  org = await orgWithKey(backend, { creditMicroUsd: 1_000_000n });
  await pinPrices(backend, { pinId: "above-100", ...rates(7n) });
  await pinPrices(backend, { pinId: "above-200", ...rates(11n) });
  await pinPrices(backend, {
    pinId: "tiered",
    ...rates(5n),
    sheets: [
      { abovePromptTokens: 0, pinId: "tiered" },
      { abovePromptTokens: 100, pinId: "above-100" },
      { abovePromptTokens: 200, pinId: "above-200" },
    ],
  });
});

/** Settles an attempt with these prompt tokens and one token of each kind of output. */
async function settled(prompt: Partial<Usage>, each: bigint): Promise<AttemptId> {
  const attemptId = ledger.newAttemptId();
  const row = reserveRow({ ...org, attemptId }, 10n, { pricePinId: "tiered" });
  expect(await ledger.reserve(row)).toEqual({ kind: "reserved" });
  const usage = { ...ZERO_USAGE, ...prompt, completion: 1, internalReasoning: 1 };
  const tokens = usage.prompt + usage.cachedPrompt + usage.cacheWrite + 2 + 3;
  const costPicoUsd = picoUsd(BigInt(tokens) * each);
  await ledger.close(closeRow(attemptId, 0n, { usage, costPicoUsd }));
  return attemptId;
}

async function wrongCosts(): Promise<readonly string[]> {
  const check = (await backend.audit()).find(({ id }) => id === "I17");
  return (check?.examples ?? []).map(({ row, expected }) => `${row}: ${expected}`);
}

test("an audit finds a cost of the wrong tier, which all prompt tokens select, cached and written ones too", async () => {
  await settled({}, 5n);
  await settled({ prompt: 40, cachedPrompt: 30, cacheWrite: 30 }, 5n);
  await settled({ prompt: 40, cachedPrompt: 30, cacheWrite: 31 }, 7n);
  await settled({ cachedPrompt: 200 }, 7n);
  await settled({ cacheWrite: 201 }, 11n);
  await settled({ prompt: 90_000 }, 11n);
  expect(await wrongCosts()).toEqual([]);

  const wrong = [
    `attempt ${await settled({ prompt: 100 }, 7n)}: 525 by sheet tiered`,
    `attempt ${await settled({ prompt: 101 }, 5n)}: 742 by sheet above-100`,
    `attempt ${await settled({ prompt: 201 }, 7n)}: 2266 by sheet above-200`,
  ];
  expect(await wrongCosts()).toEqual(wrong);
});

test("a recorded price sheet never changes", async () => {
  await pinPrices(backend, {
    pinId: "tiered",
    sheets: [{ abovePromptTokens: 100, pinId: "above-200" }],
  });
  const rows = await backend.query(
    "select sheet_pin_id from price_sheet where pin_id = 'tiered' order by above_prompt_tokens",
  );
  expect(rows).toEqual(["tiered", "above-100", "above-200"].map((pin) => ({ sheet_pin_id: pin })));
  for (const sql of [
    "update price_sheet set above_prompt_tokens = 7",
    "delete from price_sheet",
    "truncate price_sheet",
  ]) {
    await expect(backend.query(sql), sql).rejects.toThrow(/price_sheet/);
  }
});
