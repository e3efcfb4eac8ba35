import { expect, test } from "vitest";

import { microUsd, periodEndMs, type KeyId } from "../../kernel/index.ts";
import { askAboutCaps } from "./ask-about-cap.ts";

const KEY = { keyId: "key_1" as KeyId, name: "ci" };
const SPENT = microUsd(10_000_000n);
const CAP = microUsd(1_000_000n);

/** Sets all caps of a key to less than it spent on `day`; returns the question that is asked. */
async function question(day: string): Promise<string | undefined> {
  const nowMs = Date.parse(`${day}T12:00:00Z`);
  const resetAtMs = periodEndMs("month", nowMs);
  const deps = {
    clock: { nowMs: () => nowMs },
    records: { monthSpend: () => Promise.resolve({ spentMicroUsd: SPENT, resetAtMs }) },
    reports: { keyDays: () => Promise.resolve([{ day, requests: 1, debitMicroUsd: SPENT }]) },
  } as unknown as Parameters<typeof askAboutCaps>[0];
  const caps = { month: CAP, week: CAP, day: CAP };
  const asked = { caps, confirm: undefined, keys: [KEY] };
  return (await askAboutCaps(deps, { orgId: "org_1" } as never, asked))?.message;
}

test("the question about caps that are spent names the one that resets last", async () => {
  expect(await question("2026-12-09")).toBe(
    "This stops all requests with this key until 1 January (UTC): $10.00 of $1.00 is already spent this month. Confirm to set it anyway",
  );
  expect(await question("2026-12-30")).toBe(
    "This stops all requests with this key until Monday (UTC): $10.00 of $1.00 is already spent this week. Confirm to set it anyway",
  );
});
