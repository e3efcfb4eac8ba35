import { expect, test } from "vitest";

import { JournalReplay } from "./replay.ts";

test("a replay reports every row of the books that the journal lacks", () => {
  const replay = new JournalReplay(0n);
  const of = { scope: "key", id: "key", org: "org" } as const;
  replay.compareAccount("wallet:org", { debits: 1n, credits: 2n, reserved: 0n });
  replay.compareSpend(of, 2026 * 12 + 10, { settled: 1n, reserved: 0n });
  replay.compareCap(of, "month", 5n);
  replay.compareCap(of, "day", 6n);
  const broken = replay.finish().filter(({ violations }) => violations > 0);
  expect(Object.fromEntries(broken.map(({ id, examples }) => [id, examples]))).toEqual({
    I8: [
      { row: "cap of key key", found: "5", expected: "none" },
      { row: "cap by the day of key key", found: "6", expected: "none" },
    ],
    "replay-accounts": [
      {
        row: "account wallet:org",
        found: "debits 1, credits 2, reserved 0",
        expected: "debits 0, credits 0, reserved 0",
      },
    ],
    "replay-spend": [
      {
        row: "spend of key key in 2026-11",
        found: "settled 1, reserved 0",
        expected: "settled 0, reserved 0",
      },
    ],
  });
});

test("a replay reports an account and a month that the journal has and the books lack", () => {
  const replay = new JournalReplay(0n);
  const moved = { debitAccount: "grants", creditAccount: "wallet:org" } as const;
  replay.take({ kind: "transfer", ...moved, amount: 7n });
  const of = { scope: "key", id: "key", org: "org" } as const;
  replay.take({ kind: "retired", of, month: 2026 * 12 + 10, settled: 5n });
  const broken = replay.finish().filter(({ violations }) => violations > 0);
  expect(Object.fromEntries(broken.map(({ id, examples }) => [id, examples]))).toEqual({
    "replay-accounts": [
      {
        row: "account grants",
        found: "debits 0, credits 0, reserved 0",
        expected: "debits 7, credits 0, reserved 0",
      },
      {
        row: "account wallet:org",
        found: "debits 0, credits 0, reserved 0",
        expected: "debits 0, credits 7, reserved 0",
      },
    ],
    "replay-spend": [
      {
        row: "spend of key key in 2026-11",
        found: "settled 0, reserved 0",
        expected: "settled 5, reserved 0",
      },
    ],
  });
});
