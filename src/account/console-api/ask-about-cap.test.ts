import { expect, test } from "vitest";

import { microUsd, periodEndMs, type KeyId } from "../../kernel/index.ts";
import { askAboutCaps } from "./ask-about-cap.ts";
import { ConcurrencyGate } from "./concurrency-gate.ts";
import type { ConsoleRefusal } from "./console-refusal.ts";

const KEY = { keyId: "key_1" as KeyId, name: "ci" };
const SPENT = microUsd(10_000_000n);
const CAP = microUsd(1_000_000n);

const ALL_CAPS = { month: CAP, week: CAP, day: CAP };

/** Sets caps of a key to less than it spent on `day`; returns the question that is asked. */
async function ask(
  day: string,
  { caps = ALL_CAPS, ...turns }: { caps?: object; reads?: ConcurrencyGate } = {},
): Promise<ConsoleRefusal | undefined> {
  const nowMs = Date.parse(`${day}T12:00:00Z`);
  const resetAtMs = periodEndMs("month", nowMs);
  const deps = {
    ...turns,
    clock: { nowMs: () => nowMs },
    records: { monthSpend: () => Promise.resolve({ spentMicroUsd: SPENT, resetAtMs }) },
    reports: { keyDays: () => Promise.resolve([{ day, requests: 1, debitMicroUsd: SPENT }]) },
  } as unknown as Parameters<typeof askAboutCaps>[0];
  const asked = { caps, confirm: undefined, keys: [KEY] };
  return await askAboutCaps(deps, { orgId: "org_1" } as never, asked);
}

test("the question about caps that are spent names the one that resets last", async () => {
  expect((await ask("2026-12-09"))?.message).toBe(
    "This stops all requests with this key until 1 January (UTC): $10.00 of $1.00 is already spent this month. Confirm to set it anyway",
  );
  expect((await ask("2026-12-30"))?.message).toBe(
    "This stops all requests with this key until Monday (UTC): $10.00 of $1.00 is already spent this week. Confirm to set it anyway",
  );
});

test("the question about caps counts as a change of settings, for reports were read for it", async () => {
  expect(await ask("2026-12-09")).toMatchObject({ code: "confirm_needed", isCounted: true });
});

test("the reports for the question about caps are read in a turn of the organization's reads", async () => {
  const reads = new ConcurrencyGate({ running: 1, waiting: 0 });
  await reads.take("org_1");
  expect(await ask("2026-12-09", { reads })).toMatchObject({ code: "rate_limit", status: 429 });
  const month = await ask("2026-12-09", { reads, caps: { month: CAP } });
  expect(month).toMatchObject({ code: "confirm_needed" });
});
