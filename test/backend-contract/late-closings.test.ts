import { describe, expect, test } from "vitest";
import type { ReserveRow } from "../../src/ledger/ledger-store.ts";
import { until } from "../support/books.ts";
import { closeRow, orgWithKey, reserveRow, voidRow } from "../support/ledger-rows.ts";
import { withPricedBackend, withLedger } from "../support/postgres.ts";

const backend = withPricedBackend();

const ledger = withLedger(backend, "main");

describe("an attempt that was charged its reserve after a crash and is observed later", () => {
  /** An attempt of an organization with 1,000 micro-dollars, which was charged 100 of them. */
  async function chargedAfterCrash(): Promise<ReserveRow> {
    const org = await orgWithKey(backend, { creditMicroUsd: 1_000n });
    const dead = await backend.ledgerBatchStore.join("observer", 0);
    const row = reserveRow({ ...org, attemptId: ledger.newAttemptId() }, 100n);
    await backend.ledgerBatchStore.hold(dead, row);
    await backend.ledgerBatchStore.takeOverDeadInstances();
    // This file's own ledger may recover the attempt at the same time.
    await backend.ledgerBatchStore.recoverOpenAttempts();
    await until("the reserve is charged", async () => {
      return (await backend.recordStore.balance(org.orgId)).settledMicroUsd === 900n;
    });
    await expectSettled(row, 900n);
    return row;
  }

  async function expectSettled({ orgId, keyId }: ReserveRow, settledMicroUsd: bigint) {
    expect(await backend.recordStore.balance(orgId)).toMatchObject({ settledMicroUsd });
    const spent = { spentMicroUsd: 1_000n - settledMicroUsd };
    expect(await backend.recordStore.monthSpend(orgId, keyId)).toMatchObject(spent);
  }

  test("returns the difference once, in the balance and in the month's spend", async () => {
    const charged = await chargedAfterCrash();
    const late = await ledger.close(closeRow(charged.attemptId, 5n));
    expect(late).toEqual({ kind: "closed", debitMicroUsd: 5n, overrun: false });
    await expectSettled(charged, 995n);
    const again = await ledger.close(closeRow(charged.attemptId, 1n));
    expect(again).toEqual({ kind: "already_closed", debitMicroUsd: 5n });
    await expectSettled(charged, 995n);
    const entries = await backend.creditStore.ledgerEntries(charged.orgId);
    expect(entries.map(({ kind, amountMicroUsd }) => [kind, amountMicroUsd])).toEqual([
      ["unknown_after_crash", -5n],
      ["grant", 1_000n],
    ]);
  });

  test.each([
    [
      "returns its whole charge if it was void",
      1_000n,
      (of: ReserveRow) => ledger.close(voidRow(of.attemptId)),
    ],
    [
      "returns its whole charge if it was annulled because nothing was sent",
      1_000n,
      (row: ReserveRow) => backend.ledgerBatchStore.annul([row]),
    ],
    [
      "costs at most its charge, and the platform bears the excess",
      900n,
      async ({ attemptId }: ReserveRow) => {
        const late = await ledger.close(closeRow(attemptId, 130n));
        expect(late).toEqual({ kind: "closed", debitMicroUsd: 100n, overrun: true });
      },
    ],
  ])("%s", async (_what, settledMicroUsd, end) => {
    const charged = await chargedAfterCrash();
    await end(charged);
    await expectSettled(charged, settledMicroUsd);
  });
});

test("no attempt is closed at an instant before the settlement horizon", async () => {
  const org = await orgWithKey(backend, { creditMicroUsd: 1_000n });
  const advance = "select advance_settlement_horizon($1) as through";
  await expect(backend.query(advance, ["2999-01-01T00:00:00Z"])).rejects.toThrow("future");
  const [now] = await backend.query("select clock_timestamp() as now");
  await backend.query(advance, [now?.["now"]]);
  // The horizon is in the future, as after the database's clock was set back.
  await backend.query("update settlement_horizon set through = '2999-01-01T00:00:00Z'");
  // An earlier instant never moves the horizon back.
  expect(await backend.query(advance, ["2026-01-01T00:00:00Z"])).toEqual([
    { through: new Date("2999-01-01T00:00:00Z") },
  ]);
  const row = reserveRow({ ...org, attemptId: ledger.newAttemptId() }, 300n);
  await ledger.reserve(row);
  await ledger.close(closeRow(row.attemptId, 7n));
  const closed = "select closed_at from attempt where attempt_id = $1";
  expect(await backend.query(closed, [row.attemptId])).toEqual([
    { closed_at: new Date("2999-01-01T00:00:00Z") },
  ]);
  await backend.query("update settlement_horizon set through = now()");
});

test("the books balance after all tests", async () => {
  for (const check of await backend.audit()) expect(check).toMatchObject({ violations: 0 });
});
