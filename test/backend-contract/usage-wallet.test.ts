import { beforeAll, expect, test } from "vitest";
import type { OrgId } from "../../src/kernel/core/ids.ts";
import { microUsd } from "../../src/kernel/core/money.ts";
import { systemClock } from "../../src/kernel/core/time.ts";
import type { WalletLine } from "../../src/gateway/records/wallet-lines.ts";
import { closeRow, orgWithKey, voidRow } from "../support/ledger-rows.ts";
import { dayOf, retirementOf, withOldBooks } from "../support/old-days.ts";
import type { FreshBackend } from "../support/postgres.ts";
import { rollAll } from "../support/usage-journal.ts";

let backend: FreshBackend;

const books = withOldBooks();
beforeAll(() => {
  backend = books.backend;
});

/** Reads all lines in pages of three; checks that each comes once, and the newest first. */
async function everyLine(orgId: OrgId): Promise<readonly WalletLine[]> {
  const lines: WalletLine[] = [];
  for (let cursor: string | null | undefined; cursor !== null;) {
    const page = await backend.usageReports.walletLines(orgId, {
      limit: 3,
      ...(cursor === undefined ? {} : { cursor }),
    });
    lines.push(...page.lines);
    cursor = page.nextCursor;
  }
  const instants = lines.map(({ atMs }) => atMs);
  expect(instants).toEqual(instants.toSorted((a, b) => b - a));
  expect(new Set(lines.map(({ kind, ref }) => `${kind} ${ref}`)).size).toBe(lines.length);
  const whole = await backend.usageReports.walletLines(orgId, { limit: 1_000 });
  expect(whole).toEqual({ lines, nextCursor: null });
  return lines;
}

async function expectSumIsBalance(orgId: OrgId): Promise<readonly WalletLine[]> {
  const lines = await everyLine(orgId);
  const { settledMicroUsd } = await backend.recordStore.balance(orgId);
  expect(lines.reduce((sum, { amountMicroUsd }) => sum + amountMicroUsd, 0n)).toBe(settledMicroUsd);
  return lines;
}

async function purchase(orgId: OrgId, id: string, cents: number): Promise<void> {
  await backend.query(
    `insert into purchase (purchase_id, org_id, micro_usd, cents, is_test_money, created_at,
      expires_at)
    values ($1, $2, $3, $4, true, now(), now())`,
    [id, orgId, cents * 10_000, cents],
  );
  await backend.query("select grant_purchase($1, null, null)", [id]);
}

test("a wallet's lines add up to its balance, before and after days are summed, corrected and retired", async () => {
  const days = ["2025-03-01", "2025-03-02", "2025-03-03", "2025-03-04"].map(dayOf);
  for (const day of days) await books.fill(day);
  const { orgId } = books.org;
  for (const of of [books.org, books.other]) await expectSumIsBalance(of.orgId);
  await rollAll(backend);
  const rolled = await expectSumIsBalance(orgId);
  expect(rolled.filter(({ kind }) => kind === "usage").map(({ ref }) => ref)).toEqual(
    days.toReversed(),
  );
  expect(rolled[0]).toMatchObject({ kind: "grant", ref: `start ${orgId}` });
  // An attempt of a day that is already summed up ends.
  const late = await books.hold(days[1] ?? dayOf("2025-03-02"));
  await expectSumIsBalance(orgId);
  await backend.ledgerBatchStore.closeBatch([closeRow(late, 77n)]);
  const lateLines = await expectSumIsBalance(orgId);
  await rollAll(backend);
  expect(await expectSumIsBalance(orgId)).toEqual(lateLines);

  await books.pretendThen();
  await books.settle();
  const retired = await retirementOf(books).run("days", { drop: true });
  expect(retired.retired.map(({ day }) => day)).toEqual(expect.arrayContaining(days));
  expect(await expectSumIsBalance(orgId)).toEqual(lateLines);
  await rollAll(backend);
  expect(await expectSumIsBalance(orgId)).toEqual(lateLines);
  const left = await backend.query("select count(*)::integer as n from usage_sum");
  expect(left).toEqual([{ n: 0 }]);
  const report = await backend.usageReports.report(
    { orgId, fromMs: Date.UTC(2025, 1, 1), toMs: Date.UTC(2025, 3, 1) },
    "day",
  );
  expect(report.totals.requests).toBe(0);
});

test("a purchase, a refund and a dispute are one line each, whatever the wallet could pay", async () => {
  const { orgId, keyId } = await orgWithKey(backend, { creditMicroUsd: 100n });
  await purchase(orgId, `p1-${orgId}`, 1);
  const today = dayOf(new Date(systemClock.nowMs()).toISOString().slice(0, 10));
  const first = await books.hold(today, { orgId, keyId, reserveMicroUsd: microUsd(10_000n) });
  const claim = "select claim_purchase($1, $2, $3, $4, $5, $6)";
  await backend.query(claim, [`p1-${orgId}`, `re-${orgId}`, "refund", 4_000, false, true]);
  await backend.query(claim, [`p1-${orgId}`, `dp-${orgId}`, "dispute", 6_000, false, false]);
  const owing = await expectSumIsBalance(orgId);
  expect(owing.map(({ kind, amountMicroUsd }) => [kind, amountMicroUsd])).toEqual([
    ["dispute", -6_000n],
    ["refund", -4_000n],
    ["purchase", 10_000n],
    ["grant", 100n],
  ]);
  expect(owing[2]?.ref).toBe(`p1-${orgId}`);
  expect(owing[1]?.ref).toBe(`re-${orgId}`);
  await backend.ledgerBatchStore.closeBatch([voidRow(first)]);
  await expectSumIsBalance(orgId);
  await backend.query(claim, [`p1-${orgId}`, `dp-${orgId}`, "dispute", 6_000, true, true]);
  const won = await expectSumIsBalance(orgId);
  expect(won[0]).toMatchObject({ kind: "dispute_reversal", amountMicroUsd: 6_000n });
});
