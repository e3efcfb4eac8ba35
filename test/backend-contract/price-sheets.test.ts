import { beforeAll, expect, test } from "vitest";

import type { AttemptId, KeyId, OrgId, RequestId } from "../../src/kernel/core/ids.ts";
import { picoUsd } from "../../src/kernel/core/money.ts";
import type { Usage } from "../../src/kernel/core/usage.ts";
import type { Ledger } from "../../src/ledger/ledger-store.ts";
import { closeRow, orgWithKey, pinPrices, reserveRow } from "../support/ledger-rows.ts";
import { withBackend, withLedger } from "../support/postgres.ts";

const backend = withBackend();
const ledger: Ledger = withLedger(backend, "one");

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
async function settled(
  prompt: Pick<Usage, "prompt" | "cachedPrompt" | "cacheWrite">,
  each: bigint,
): Promise<{ readonly attemptId: AttemptId; readonly requestId: RequestId }> {
  const row = reserveRow({ ...org, attemptId: ledger.newAttemptId() }, 10n, {
    pricePinId: "tiered",
  });
  expect(await ledger.reserve(row)).toEqual({ kind: "reserved" });
  const usage = { ...prompt, completion: 1, internalReasoning: 1 };
  const tokens = usage.prompt + usage.cachedPrompt + usage.cacheWrite + 2 + 3;
  const costPicoUsd = picoUsd(BigInt(tokens) * each);
  await ledger.close(closeRow(row.attemptId, 0n, { usage, costPicoUsd }));
  return row;
}

async function wrongCosts(): Promise<readonly string[]> {
  const check = (await backend.audit()).find(({ id }) => id === "I17");
  return (check?.examples ?? []).map(({ row, expected }) => `${row}: ${expected}`);
}

test("an audit finds a cost of the wrong tier, which all prompt tokens select, cached and written ones too", async () => {
  await settled({ prompt: 0, cachedPrompt: 0, cacheWrite: 0 }, 5n);
  await settled({ prompt: 40, cachedPrompt: 30, cacheWrite: 30 }, 5n);
  await settled({ prompt: 40, cachedPrompt: 30, cacheWrite: 31 }, 7n);
  await settled({ prompt: 0, cachedPrompt: 200, cacheWrite: 0 }, 7n);
  await settled({ prompt: 0, cachedPrompt: 0, cacheWrite: 201 }, 11n);
  await settled({ prompt: 90_000, cachedPrompt: 0, cacheWrite: 0 }, 11n);
  expect(await wrongCosts()).toEqual([]);

  const wrong = [
    {
      at: await settled({ prompt: 100, cachedPrompt: 0, cacheWrite: 0 }, 7n),
      due: "525 by sheet tiered",
    },
    {
      at: await settled({ prompt: 101, cachedPrompt: 0, cacheWrite: 0 }, 5n),
      due: "742 by sheet above-100",
    },
    {
      at: await settled({ prompt: 201, cachedPrompt: 0, cacheWrite: 0 }, 7n),
      due: "2266 by sheet above-200",
    },
  ];
  expect(await wrongCosts()).toEqual(wrong.map(({ at, due }) => `attempt ${at.attemptId}: ${due}`));
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
