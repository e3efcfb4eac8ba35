import { expect, test } from "vitest";
import type { OrgId } from "../../src/kernel/core/ids.ts";
import { microUsd } from "../../src/kernel/core/money.ts";
import { systemClock } from "../../src/kernel/core/time.ts";
import type { WalletLine } from "../../src/gateway/records/wallet-lines.ts";
import { closeRow, orgWithKey, voidRow } from "../support/ledger-rows.ts";
import { dayOf, retirementOf, withOldBooks } from "../support/old-days.ts";
import { rollAll } from "../support/usage-journal.ts";

const books = withOldBooks();

/** Reads all lines in pages of three; checks that each comes once, and the newest first. */
async function everyLine(orgId: OrgId): Promise<readonly WalletLine[]> {
  const lines: WalletLine[] = [];
  for (let cursor: string | null | undefined; cursor !== null;) {
    const from = cursor === undefined ? {} : { cursor };
    const page = await books.backend.usageReports.walletLines(orgId, { limit: 3, ...from });
    lines.push(...page.lines);
    cursor = page.nextCursor;
  }
  const instants = lines.map(({ atMs }) => atMs);
  expect(instants).toEqual(instants.toSorted((a, b) => b - a));
  expect(new Set(lines.map(({ kind, ref }) => `${kind} ${ref}`)).size).toBe(lines.length);
  const whole = await books.backend.usageReports.walletLines(orgId, { limit: 1_000 });
  expect(whole).toEqual({ lines, nextCursor: null });
  return lines;
}

async function expectSumIsBalance(orgId: OrgId): Promise<readonly WalletLine[]> {
  const lines = await everyLine(orgId);
  const { settledMicroUsd } = await books.backend.recordStore.balance(orgId);
  expect(lines.reduce((sum, { amountMicroUsd }) => sum + amountMicroUsd, 0n)).toBe(settledMicroUsd);
  return lines;
}

test("a wallet's lines add up to its balance, before and after days are summed, corrected and retired", async () => {
  const days = ["2025-03-01", "2025-03-02", "2025-03-03", "2025-03-04"].map(dayOf);
  for (const day of days) await books.fill(day);
  const { orgId } = books.org;
  for (const of of [books.org, books.other]) await expectSumIsBalance(of.orgId);
  await rollAll(books.backend);
  const rolled = await expectSumIsBalance(orgId);
  expect(rolled.filter(({ kind }) => kind === "usage").map(({ ref }) => ref)).toEqual(
    days.toReversed(),
  );
  expect(rolled[0]).toMatchObject({ kind: "grant", ref: `start ${orgId}` });
  // An attempt of a day that is already summed up ends.
  const late = await books.hold(days[1] ?? dayOf("2025-03-02"));
  await expectSumIsBalance(orgId);
  await books.backend.ledgerBatchStore.closeBatch([closeRow(late, 77n)]);
  const lateLines = await expectSumIsBalance(orgId);
  await rollAll(books.backend);
  expect(await expectSumIsBalance(orgId)).toEqual(lateLines);

  await books.pretendThen();
  await books.settle();
  const retired = await retirementOf(books).run("days", { drop: true });
  expect(retired.retired.map(({ day }) => day)).toEqual(expect.arrayContaining(days));
  expect(await expectSumIsBalance(orgId)).toEqual(lateLines);
  await rollAll(books.backend);
  expect(await expectSumIsBalance(orgId)).toEqual(lateLines);
  expect(await books.backend.query("select from usage_sum")).toEqual([]);
  const march = { orgId, fromMs: Date.UTC(2025, 1, 1), toMs: Date.UTC(2025, 3, 1) };
  const report = await books.backend.usageReports.report(march, "day");
  expect(report.totals.requests).toBe(0);
});

test("a purchase, a refund and a dispute are one line each, whatever the wallet could pay", async () => {
  const { backend } = books;
  const { orgId, keyId } = await orgWithKey(backend, { creditMicroUsd: 100n });
  const [purchase, refund, dispute] = [`p1-${orgId}`, `re-${orgId}`, `dp-${orgId}`];
  await backend.query(
    `insert into purchase (purchase_id, org_id, micro_usd, cents, is_test_money, created_at,
      expires_at) values ($1, $2, 10000, 1, true, now(), now())`,
    [purchase, orgId],
  );
  await backend.query("select grant_purchase($1, null, null)", [purchase]);
  const today = dayOf(new Date(systemClock.nowMs()).toISOString().slice(0, 10));
  const first = await books.hold(today, { orgId, keyId, reserveMicroUsd: microUsd(10_000n) });
  const claim = "select claim_purchase($1, $2, $3, $4, $5, $6)";
  await backend.query(claim, [purchase, refund, "refund", 4_000, false, true]);
  await backend.query(claim, [purchase, dispute, "dispute", 6_000, false, false]);
  const owing = await expectSumIsBalance(orgId);
  expect(owing).toMatchObject([
    { kind: "dispute", amountMicroUsd: -6_000n },
    { kind: "refund", amountMicroUsd: -4_000n, ref: refund },
    { kind: "purchase", amountMicroUsd: 10_000n, ref: purchase },
    { kind: "grant", amountMicroUsd: 100n },
  ]);
  await backend.ledgerBatchStore.closeBatch([voidRow(first)]);
  await expectSumIsBalance(orgId);
  await backend.query(claim, [purchase, dispute, "dispute", 6_000, true, true]);
  const won = await expectSumIsBalance(orgId);
  expect(won[0]).toMatchObject({ kind: "dispute_reversal", amountMicroUsd: 6_000n });
});
