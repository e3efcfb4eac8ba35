import { beforeAll, expect, test } from "vitest";
import type { Month, Statement } from "../../src/account/billing/statements.ts";
import type { OrgId } from "../../src/kernel/core/ids.ts";
import { formatUsd, microUsd } from "../../src/kernel/core/money.ts";
import type { RetireOutcome } from "../../src/ledger/retention/retire-days.ts";
import { brokenBooks } from "../support/books.ts";
import { quickOrDeep } from "../support/depth.ts";
import { closeRow, moveBooksTo, voidRow } from "../support/ledger-rows.ts";
import { dayOf, retirementOf, unknownRow, withOldBooks } from "../support/old-days.ts";
import { tamper } from "../support/postgres.ts";
import { testOperator } from "../support/test-operator.ts";

const FIRST_DAY = dayOf("2026-01-30");
const LAST_DAY = dayOf("2026-01-31");
const NEXT_DAY = dayOf("2026-02-01");
const books = withOldBooks();
const { key, run } = retirementOf(books);
let before: unknown;
let closedBefore: Statement;
let costOfJanuary: bigint;
let outcome: RetireOutcome;

beforeAll(async () => {
  await books.fill(FIRST_DAY);
  await moveBooksTo(books.backend, "2026-01-01");
  await grant("in-january");
  await books.fill(LAST_DAY);
  await randomTraffic(LAST_DAY);
  await moveBooksTo(books.backend, "2026-02-01");
  await books.fill(NEXT_DAY);
  // This attempt ends after the day's last correction, so that the day's checkpoint includes both.
  await books.close(closeRow(await books.hold(NEXT_DAY), 5n));
  await grant("in-february");
  await books.settle();
  await close(NEXT_DAY);
  await tamper(books.backend, "update org set created_at = '2026-01-01'");
  closedBefore = await statementOf(books.org.orgId, "2026-01");
  costOfJanuary = await chargedIn(books.other.orgId);
  before = await figures();
  outcome = await run("days", { drop: true });
});

async function statementOf(orgId: OrgId, month: string): Promise<Statement> {
  const statement = await books.backend.statementStore.read(orgId, month as Month);
  if (typeof statement === "string") throw new Error(statement);
  return statement;
}

/** The cost that an organization's attempts of January had at the end of January. */
async function chargedIn(orgId: OrgId): Promise<bigint> {
  const [row] = await books.backend.query(
    `select sum(case when corrected_at >= '2026-02-01Z' then reserve else debit end)::text as cost
    from attempt where org_id = $1 and closed_at < '2026-02-01Z'`,
    [orgId],
  );
  return BigInt(String(row?.["cost"]));
}

async function grant(ref: string): Promise<void> {
  const of = { orgId: books.org.orgId, amountMicroUsd: microUsd(77n), ref };
  await books.backend.creditStore.grant(of, testOperator);
}

/** Writes attempts with random ends from a fixed seed, so that a failure repeats. */
async function randomTraffic(day: ReturnType<typeof dayOf>): Promise<void> {
  let seed = 20_260_131;
  const random = (below: number): number => {
    seed = (seed * 48_271) % 2_147_483_647;
    return seed % below;
  };
  for (let i = 0; i < quickOrDeep(12, 300); i++) {
    const id = await books.hold(day, random(2) === 0 ? {} : books.other);
    const ends = [
      closeRow(id, BigInt(1 + random(1_600))),
      closeRow(id, BigInt(1 + random(1_600))),
      voidRow(id),
      unknownRow(id),
    ] as const;
    await books.close(ends[random(ends.length)] ?? voidRow(id));
  }
}

async function close(day: string): Promise<void> {
  const done = await books.backend.closeDay(day, { key }, testOperator);
  expect(done.checkpoint?.day).toBe(day);
}

/** Reads all rows that contain amounts: accounts, spend, periods and transfers. */
async function figures(): Promise<unknown> {
  const { backend } = books;
  return {
    accounts: await backend.query("select * from account order by account_id"),
    spend: await backend.query("select * from spend order by scope, id, month"),
    periods: await backend.settlementStore.balances(),
    transfers: await backend.query("select * from transfer order by position, transfer_id"),
  };
}

test("balances and amounts stay the same and both audits pass when a whole month is retired", async () => {
  const { backend } = books;
  expect(outcome.stopped).toBeUndefined();
  expect(await figures()).toEqual(before);
  expect(await brokenBooks(books)).toEqual([]);
  const since = await backend.auditBooks({ trustedKey: key.publicKey });
  expect(since.checks.filter(({ violations }) => violations > 0)).toEqual([]);
  expect(await backend.query("select from attempt")).toEqual([]);
});

test("a grant that repeats a reference of a retired month credits nothing", async () => {
  const { created } = await books.backend.creditStore.grant(
    { orgId: books.org.orgId, amountMicroUsd: microUsd(77n), ref: "in-january" },
    testOperator,
  );
  expect(created).toBe(false);
  expect(await figures()).toEqual(before);
});

test("a statement closed before retirement keeps its lines, and one closed later has only the sums", async () => {
  const { org, other, backend } = books;
  const kept = await statementOf(org.orgId, "2026-01");
  expect(kept).toEqual({ ...closedBefore, hasLeft: true });
  expect([kept.state, kept.differences]).toEqual(["closed", []]);
  expect(kept.document.models).not.toEqual([]);
  const late = await statementOf(other.orgId, "2026-01");
  const cost = formatUsd(microUsd(costOfJanuary));
  expect(late.document).toMatchObject({ usage_usd: cost, unlisted_usage_usd: cost, models: [] });
  expect([late.state, late.differences, late.hasLeft]).toEqual(["closed", [], false]);
  for (const { orgId } of [org, other]) {
    const { document } = await statementOf(orgId, new Date().toISOString().slice(0, 7));
    const { settledMicroUsd } = await backend.recordStore.balance(orgId);
    expect(document.closing_usd).toBe(formatUsd(settledMicroUsd));
  }
});
