import { afterEach, beforeAll, describe, expect, test } from "vitest";
import { microUsd } from "../../src/kernel/core/money.ts";
import type { RetireOutcome } from "../../src/ledger/retention/retire-days.ts";
import { brokenBooks } from "../support/books.ts";
import { DamagedBooks } from "../support/damaged-books.ts";
import { closeRow } from "../support/ledger-rows.ts";
import { dayOf, retirementOf, withOldBooks } from "../support/old-days.ts";
import { tamper } from "../support/postgres.ts";
import { testOperator } from "../support/test-operator.ts";

const RETIRED = dayOf("2026-04-10");
const KEPT = dayOf("2026-04-11");

const books = withOldBooks();
let damaged: DamagedBooks;
let outcome: RetireOutcome;

beforeAll(async () => {
  const { backend, org } = books;
  await books.fill(RETIRED);
  const late = await books.hold(RETIRED);
  await books.hold(KEPT);
  await books.close(closeRow(late, 400n));
  // On the day to be retired the organization spent 320, 1,000 and 400 micro-dollars, and 1,000 are
  // held: the cap leaves exactly enough for the next hold of 1,000.
  await backend.accountStore.setOrgCap(org.orgId, microUsd(3_720n), testOperator);
  await books.hold(KEPT);
  damaged = new DamagedBooks(backend);
  // Moves recent corrections into the past, as a recent one can be neither settled nor retired.
  await damaged.damage(
    "update attempt set corrected_at = closed_at + interval '1 s' where corrected_at is not null",
  );
  await backend.settlementStore.closeDuePeriods({ listed: new Map() }, testOperator);
  outcome = await retirementOf(books).run();
  await damaged.remember();
});
afterEach(() => damaged.repair());

async function broken(): Promise<unknown> {
  const checks = (await books.backend.audit()).filter(({ violations }) => violations > 0);
  return Object.fromEntries(checks.map(({ id, examples }) => [id, examples?.[0]]));
}

test("the audit passes without the attempts of retired days", async () => {
  expect(outcome.retired.map(({ day }) => day)).toContain(RETIRED);
  expect(outcome.stopped).toMatchObject({ day: KEPT });
  expect(await broken()).toEqual({});
});

test("the audit finds a retired day whose sum differs from its transfers", async () => {
  await damaged.damage(`update retired_day set debit = debit + 1 where day = '${RETIRED}'`);
  const row = { row: `retired day ${RETIRED}`, expected: expect.stringMatching(/debit 2727,/) };
  expect(await broken()).toEqual({
    I5: { ...row, found: expect.stringMatching(/debit 2728,/) },
    I11: expect.objectContaining({ row: `settlement of retired day ${RETIRED}` }),
  });
});

test("the audit finds a changed transfer of a retired day", async () => {
  await damaged.damage("update transfer set amount = 401 where amount = 400");
  expect(Object.keys((await broken()) as object)).toEqual([
    "I1",
    "I5",
    "rebuild",
    "replay-accounts",
  ]);
});

test("the audit finds a changed margin of a retired day, by accounts and by period", async () => {
  await damaged.damage("update transfer set amount = amount + 1 where kind = 'margin'");
  expect(await broken()).toMatchObject({
    I1: {},
    I11: { row: `margin of retired day ${RETIRED}` },
    "replay-accounts": {},
  });
});

test("the audit finds changed spend of a retired day, which counts against the cap", async () => {
  await damaged.damage(
    `update retired_spend set settled = settled + 1 where id = '${books.org.orgId}'`,
  );
  const row = expect.stringContaining(`spend of org ${books.org.orgId}`) as string;
  expect(await broken()).toEqual({
    I7: expect.objectContaining({ row }),
    I8: expect.objectContaining({
      found: "reserve 1000",
      expected: "cap of the org 3720, settled 1721, in flight 1000",
    }),
    "replay-spend": expect.objectContaining({ row }),
  });
});

describe("a day that is retired after it was closed", () => {
  const CLOSED = dayOf("2026-04-20");
  const NEXT = "2026-04-21";
  const late = withOldBooks();
  const { key, run } = retirementOf(late);

  async function since(): Promise<unknown> {
    const audited = await late.backend.auditBooks({ trustedKey: key.publicKey });
    const failed = audited.checks.filter(({ violations }) => violations > 0);
    return { sinceDay: audited.sinceDay, reason: audited.reason, broken: failed };
  }

  async function close(day: string): Promise<bigint | undefined> {
    const { checks, checkpoint } = await late.backend.closeDay(day, { key }, testOperator);
    expect(checks.filter(({ violations }) => violations > 0)).toEqual([]);
    return checkpoint?.position;
  }

  async function lastPosition(): Promise<bigint> {
    const [row] = await late.backend.query(
      "select max(position)::text as last from transfer where attempt_id is not null",
    );
    return BigInt(String(row?.["last"]));
  }

  test("and was corrected after its checkpoint makes the next audit start from the beginning", async () => {
    const { backend } = late;
    await late.fill(CLOSED);
    const closed = (await close(CLOSED)) ?? 0n;
    expect(await lastPosition()).toBeGreaterThan(closed);
    expect(await since()).toEqual({ sinceDay: CLOSED, reason: undefined, broken: [] });
    await late.settle();
    // Transfers are dated to the writing of their rows, today. This moves them to the closed day.
    await tamper(backend, `update transfer set at = '${CLOSED}T12:00Z'`);
    expect((await run()).stopped).toBeUndefined();
    expect(await backend.query("select from attempt")).toEqual([]);

    const reason = expect.stringContaining("retired") as unknown;
    expect(await since()).toEqual({ sinceDay: undefined, reason, broken: [] });
    expect(await brokenBooks(late)).toEqual([]);
  });

  test("is covered by the checkpoint of the next closed day, although its attempts are gone", async () => {
    expect(await close(NEXT)).toBe(await lastPosition());
    expect(await since()).toEqual({ sinceDay: NEXT, reason: undefined, broken: [] });
    expect(await brokenBooks(late)).toEqual([]);
    const [spent] = await late.backend.query(
      `select (select sum(settled) from spend) = (select sum(settled) from audit_checkpoint_spend)
        as is_whole`,
    );
    expect(spent).toEqual({ is_whole: true });
  });
});
