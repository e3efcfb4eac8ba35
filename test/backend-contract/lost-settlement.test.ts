import { generateKeyPairSync } from "node:crypto";
import { beforeAll, expect, test } from "vitest";
import { microUsd, picoUsd } from "../../src/kernel/core/money.ts";
import type { ClosedPeriodFile } from "../../src/ledger/provider-settlement/lost-costs.ts";
import { readPeriodFile, signPeriod } from "../../src/ledger/provider-settlement/period-file.ts";
import { readProviderClaim } from "../../src/ledger/provider-settlement/settlement-file.ts";
import { reconcile } from "../../src/ledger/provider-settlement/settlement-reconcile.ts";
import { changesOf } from "../support/change-writes.ts";
import { type FreshBackend, tamper } from "../support/postgres.ts";
import { balanceOf, closeUntil, entriesOf } from "../support/settlement-books.ts";
import { type JournaledAttempt, withSettlementBooks } from "../support/settlement-journal.ts";
import { testOperator } from "../support/test-operator.ts";

/** The books that were lost, and those that were restored to 06:00 on 1 January 2026. */
const lost = withSettlementBooks();
const restored = withSettlementBooks();
const RESTORED_TO = Date.parse("2026-01-01T06:00Z");
const key = generateKeyPairSync("ed25519");

const BEFORE: readonly JournaledAttempt[] = [
  { provider: "acme", closed: "2026-01-01T02:00Z", cost: 1_500_000n },
  { provider: "acme", closed: "2026-01-01T05:00Z", cost: 2_750_001n },
];
const AFTER: readonly JournaledAttempt[] = [
  { provider: "acme", closed: "2026-01-01T06:30Z", cost: 4_999_999n },
  { provider: "acme", closed: "2026-01-01T09:00Z", cost: 3_250_002n, model: "lab/other" },
];

function idAt(at: string, n: bigint): bigint {
  return (BigInt(Date.parse(at) - Date.UTC(2025, 0)) << 22n) + n;
}

async function reopen(backend: FreshBackend): Promise<void> {
  await backend.query("update instance_lease set lease_until = now()");
  const lostRest = {
    openAttempts: "void",
    isNothingLost: false,
    restoredToMs: RESTORED_TO,
  } as const;
  await backend.reopenBooks({ ...lostRest, reason: "a test", closings: [] }, testOperator);
}

/** The settlement file of a provider's only period. */
async function fileOf(backend: FreshBackend, providerId: string): Promise<ClosedPeriodFile> {
  const [period] = await backend.settlementStore.periods(providerId);
  const startMs = period?.startMs ?? 0;
  const statement = await backend.settlementStore.statement({ providerId, startMs });
  if (statement === undefined) throw new Error("nothing was closed");
  const text = signPeriod(statement, key);
  expect(signPeriod(statement, key)).toBe(text);
  const forged = readPeriodFile(text.replace("acme", "evil"), key.publicKey);
  expect(forged).toMatchObject({ ok: false, problem: expect.stringMatching(/signature/) });
  const read = readPeriodFile(text, key.publicKey);
  if (!read.ok) throw new Error(read.problem);
  return read.document;
}

/** The provider's statement with these lines. */
function claimOf(lines: readonly object[]) {
  const read = readProviderClaim(JSON.stringify({ lines }));
  if (read.kind === "unreadable") throw new Error(read.problem);
  return read.claim;
}

beforeAll(async () => {
  await lost.journal.write([...BEFORE, ...AFTER]);
  const late = { provider: "late", closed: "2026-01-01T02:00Z", cost: 1_500_000n };
  await restored.journal.write([...BEFORE, late]);
  await reopen(restored.backend);
});

test("a period that was closed in the lost time is put back once, with the amount it owes", async () => {
  const [closed] = await closeUntil(lost.backend, "2026-01-02T00:00Z", { id: "acme" });
  const file = await fileOf(lost.backend, "acme");
  const { settlementStore } = restored.backend;
  const dayMs = 86_400_000;
  const nextDay = { ...file, startMs: file.startMs + dayMs, endMs: file.endMs + dayMs };
  const notReopened = lost.backend.settlementStore.putBack(nextDay, testOperator);
  await expect(notReopened).rejects.toThrow("the books were not reopened since");
  const others = file.lines.filter(({ modelId }) => modelId !== "acme/small");
  const fewer = file.lines.map((line) => ({ ...line, attempts: 1n }));
  for (const [tampered, problem] of [
    [{ ...file, costPicoUsd: picoUsd(file.costPicoUsd + 1n) }, "earlier periods first"],
    [{ ...file, payableMicroUsd: microUsd(file.payableMicroUsd + 1n) }, "earlier periods first"],
    [{ ...file, carryOutPicoUsd: picoUsd(file.carryOutPicoUsd + 1n) }, "earlier periods first"],
    [{ ...file, lines: fewer }, "it is of other books"],
    [{ ...file, lines: others }, "it is of other books"],
  ] as const) {
    const message: unknown = expect.stringContaining(problem);
    const put = settlementStore.putBack(tampered, testOperator);
    await expect(put).rejects.toMatchObject({ kind: "not_put_back", message });
  }
  expect(await settlementStore.putBack(file, testOperator)).toEqual({
    created: true,
    lostClaims: 2n,
    lostPicoUsd: 8_250_001n,
  });
  expect(await settlementStore.putBack(file, testOperator)).toMatchObject({ created: false });
  const another = { ...file, payableMicroUsd: microUsd(file.payableMicroUsd + 1n) };
  await expect(settlementStore.putBack(another, testOperator)).rejects.toThrow("another period");
  expect(await changesOf(restored.backend, "settlement.put-back")).toMatchObject([
    {
      by: testOperator,
      target: "acme 2026-01-01T00:00:00.000Z",
      before: null,
      after: { lost_attempts: 2, lost_usd: "0.000008250001" },
    },
  ]);
  const [period] = await settlementStore.periods("acme");
  const { sums, payableMicroUsd, carryOutPicoUsd, startMs, endMs } = closed ?? {};
  expect(period).toMatchObject({ payableMicroUsd, carryOutPicoUsd, startMs, endMs });
  // The cost of each lost attempt is rounded down to micro-dollars: 4 and 3.
  const putBack = { costPicoUsd: sums?.costPicoUsd, attempts: 2n, lostMicroUsd: 7n };
  expect(period?.sums).toMatchObject(putBack);
  const owed = { accruedMicroUsd: 0n, payableMicroUsd };
  expect(await balanceOf(restored.backend, "acme")).toMatchObject(owed);
});

test("an attempt is not owed a second time if its period was put back, and a person decides if only a part of its time is in the period", async () => {
  const { backend, journal } = restored;
  const closed = new Date().toISOString();
  const before = { provider: "acme", admitted: "2025-12-31T23:30Z", closed, cost: "void" } as const;
  const [voided] = await journal.write([before]);
  const void_ = "update attempt set outcome = 'lost_in_restore' where attempt_id = $1";
  await tamper(backend, void_, [voided]);
  const ids = ["2026-01-01T06:30Z", "2026-01-01T23:00Z", "2025-12-31T23:30Z"];
  const lines = [voided, ...ids.map((at) => idAt(at, 1n))].map(
    (id) => ({ of: "attempt", id: String(id), costPicoUsd: picoUsd(4_999_999n) }) as const,
  );
  const claim = { lines, longestMs: 3_600_000 };
  const judged = await backend.settlementStore.bearLost("acme", claim, testOperator);
  const verdicts = judged.map(({ verdict }) => verdict);
  expect(verdicts).toEqual(["unsure", "put_back", "unsure", "outside"]);
  // An attempt that may last for more than the period can begin before it and end after it.
  const longer = { lines: lines.slice(0, 1), longestMs: 30 * 3_600_000 };
  const spanning = await backend.settlementStore.bearLost("acme", longer, testOperator);
  expect(spanning.map(({ verdict }) => verdict)).toEqual(["unsure"]);
});

test("a provider's line for a retired day is reported as retired, and its cost is not owed", async () => {
  const { backend } = restored;
  const id = String(idAt("2026-01-03T08:00Z", 1n));
  const line = { of: "attempt", id, costPicoUsd: picoUsd(9_000_000n) } as const;
  await backend.query(`insert into retired_day (day, from_id, to_id, attempts, debit, overrun,
    cost_pico, file, sha256, signature) values ('2026-01-03', 0, 0, 1, 0, 0, 0, '', '', '')`);
  expect(
    await backend.settlementStore.bearLost("acme", { lines: [line], longestMs: 0 }, testOperator),
  ).toMatchObject([{ verdict: "retired" }]);
  expect(await backend.query("select from lost_cost where attempt_id = $1", [id])).toEqual([]);
  await tamper(backend, "delete from retired_day");
});

test("a provider's lines for lost attempts are owed once, and no customer pays for them", async () => {
  const { backend } = restored;
  const { settlementStore } = backend;
  const ours = await backend.query(
    "select attempt_id::text as id from attempt where provider_id = 'late' order by cost_pico",
  );
  const request = "019b7858-d600-7000-8000-000000000001";
  const at = Number.parseInt(request.slice(0, 8) + request.slice(9, 13), 16);
  expect(at).toBeGreaterThan(RESTORED_TO);
  const billed = [
    { attempt_id: String(ours[0]?.["id"]), cost_usd: "0.000001500000" },
    { attempt_id: String(idAt("2026-01-01T08:00Z", 7n)), cost_usd: "0.000002750001" },
    { attempt_id: String(idAt("2026-01-01T08:00Z", 7n)), cost_usd: "0.000001" },
    { request_id: request, cost_usd: "0.000000999999" },
    { attempt_id: String(idAt("2025-12-31T08:00Z", 7n)), cost_usd: "5" },
    { attempt_id: "9999999999999999999", cost_usd: "5" },
    { attempt_id: String(idAt("2026-01-01T08:00Z", 8n)), cost_usd: "-0.000001" },
    { attempt_id: String(idAt("2026-01-01T08:00Z", 9n)), cost_usd: "900000000000000" },
  ];
  const lines = claimOf(billed).lines ?? [];
  const verdicts = async (): Promise<readonly string[]> =>
    (await settlementStore.bearLost("late", { lines, longestMs: 0 }, testOperator)).map(
      ({ verdict }) => verdict,
    );
  // A line that cannot be owed, such as a credit note, does not keep the others from being owed.
  const strange = ["outside", "impossible", "impossible", "impossible"];
  expect(await verdicts()).toEqual(["ours", "borne", "borne", ...strange]);
  expect(await verdicts()).toEqual(["ours", "borne_before", "borne_before", ...strange]);
  expect(await changesOf(backend, "settlement.bear-lost")).toMatchObject([
    { by: testOperator, target: "late", after: { lines: 2, cost_usd: "0.000004750000" } },
  ]);
  expect(await balanceOf(backend, "late")).toMatchObject({ accruedMicroUsd: 1n + 3n });
  const [period] = await closeUntil(backend, "2026-01-02T00:00Z", { id: "late" });
  expect(period?.sums).toMatchObject({ lostClaims: 2n, lostPicoUsd: 4_750_000n });
  expect(period?.payableMicroUsd).toBe(6n);
  const wallets = "select sum(debits)::integer as debits from account where org_id is not null";
  expect(await backend.query(wallets)).toEqual([{ debits: 1 + 2 + 1 }]);
  // The provider's statement and ours are equal in every line.
  const entries = await entriesOf(backend, period);
  const all = (async function* () {
    yield entries;
  })();
  const cost = period?.sums.costPicoUsd ?? picoUsd(0n);
  const found = await reconcile(claimOf(billed.slice(0, 4)), cost, all);
  expect(found).toMatchObject({ isEqual: true, firstDiffering: [] });
});
