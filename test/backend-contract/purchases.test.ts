import { beforeAll, describe, expect, test } from "vitest";
import type { PurchaseClaim } from "../../src/account/billing/purchase-store.ts";
import type { PurchaseStore } from "../../src/account/billing/postgres-purchase-store.ts";
import { createRecordId, type AttemptId, type OrgId } from "../../src/kernel/core/ids.ts";
import { microUsd } from "../../src/kernel/core/money.ts";
import { systemClock } from "../../src/kernel/core/time.ts";
import { addOrg } from "../support/add-key.ts";
import { DamagedBooks } from "../support/damaged-books.ts";
import { closeRow, orgWithKey, reserveRow } from "../support/ledger-rows.ts";
import { withPricedBackend } from "../support/postgres.ts";
import { testOperator, testSeller } from "../support/test-operator.ts";

const USD = 1_000_000n;
const MINUTE_MS = 60_000;

let store: PurchaseStore;

const backend = withPricedBackend();

beforeAll(() => {
  store = backend.purchaseStore;
});

const newOrg = (): Promise<OrgId> => addOrg(backend);

async function begin(orgId: OrgId, dollars: bigint, ageMs = 0): Promise<string> {
  const purchaseId = createRecordId("pur");
  const nowMs = systemClock.nowMs() - ageMs;
  const created = await store.create(
    {
      purchaseId,
      orgId,
      amountMicroUsd: microUsd(dollars * USD),
      isTestMoney: false,
      nowMs,
      expiresAtMs: nowMs + MINUTE_MS,
      purchasesMax: 5,
      countedFromMs: nowMs - MINUTE_MS,
    },
    testOperator,
  );
  expect(created).toBe("created");
  return purchaseId;
}

function paid(purchaseId: string): Parameters<PurchaseStore["grant"]>[0] {
  return { purchaseId, paymentId: `pi of ${purchaseId}`, receiptUrl: null };
}

function claimOf(purchaseId: string, change: Partial<PurchaseClaim> = {}): PurchaseClaim {
  return {
    claimId: createRecordId("re"),
    purchaseId,
    kind: "refund",
    amountMicroUsd: microUsd(3n * USD),
    isReversed: false,
    isOver: false,
    ...change,
  };
}

async function balance(orgId: OrgId): Promise<bigint> {
  return (await backend.recordStore.balance(orgId)).settledMicroUsd;
}

describe("a grant", () => {
  test("also credits a purchase that expired, failed or was parked, which then stays paid", async () => {
    for (const state of ["expired", "failed", "parked"] as const) {
      const orgId = await newOrg();
      const purchaseId = await begin(orgId, 10n);
      expect(await store.decide(purchaseId, state)).toBe(true);
      expect(await store.grant(paid(purchaseId))).toBe(true);
      expect(await store.decide(purchaseId, state)).toBe(false);
      expect(await store.find(purchaseId)).toMatchObject({ state: "paid" });
    }
  });

  test("stores the first receipt address that arrives later, and keeps that address", async () => {
    const purchaseId = await begin(await newOrg(), 10n);
    await store.grant(paid(purchaseId));
    for (const receiptUrl of ["https://pay.example/1", "https://pay.example/2"]) {
      expect(await store.grant({ ...paid(purchaseId), receiptUrl })).toBe(false);
      expect(await store.find(purchaseId)).toMatchObject({ receiptUrl: "https://pay.example/1" });
    }
  });
});

describe("a grant by hand under the id of a purchase", () => {
  const byHand = (orgId: OrgId, ref: string): Promise<unknown> => {
    const grant = { orgId, amountMicroUsd: microUsd(10n * USD), ref };
    return backend.creditStore.grant(grant, testOperator);
  };

  test("is refused when the purchase was credited", async () => {
    const orgId = await newOrg();
    const purchaseId = await begin(orgId, 10n);
    await store.grant(paid(purchaseId));
    await expect(byHand(orgId, purchaseId)).rejects.toMatchObject({ kind: "ref_taken" });
    expect(await balance(orgId)).toBe(10n * USD);
  });

  test("and the purchase's own grant at the same moment credit it once", async () => {
    for (const _ of [1, 2, 3, 4]) {
      const orgId = await newOrg();
      const purchaseId = await begin(orgId, 10n);
      await Promise.allSettled([store.grant(paid(purchaseId)), byHand(orgId, purchaseId)]);
      expect(await balance(orgId)).toBe(10n * USD);
    }
  });
});

describe("receipts", () => {
  const numberOf = async (purchaseId: string): Promise<number> => {
    const number = (await store.find(purchaseId))?.receipt?.number ?? "";
    return Number(/^R-(\d{6,})$/.exec(number)?.[1]);
  };
  const sell = (purchaseId: string, name: string): Promise<boolean> =>
    store.grant({ ...paid(purchaseId), method: "Visa 4242", seller: { ...testSeller(), name } });

  test("are numbered without a gap, and simultaneous, repeated and failed payments credit a purchase once", async () => {
    const orgs = await Promise.all(Array.from({ length: 8 }, newOrg));
    const bought = await Promise.all(orgs.map((orgId) => begin(orgId, 10n)));
    const again = [
      ...bought,
      ...bought,
      ...bought,
      ...Array.from({ length: 12 }, () => bought[0] ?? ""),
    ].map((id) => sell(id, "Gapless GmbH"));
    const unknown = sell("pur_nothing", "Gapless GmbH").catch(String);
    const [outcome, ...grants] = await Promise.all([unknown, ...again]);
    expect(outcome).toContain("no purchase pur_nothing");
    expect(grants.filter(Boolean)).toHaveLength(8);
    expect(await Promise.all(orgs.map(balance))).toEqual(orgs.map(() => 10n * USD));
    expect(await store.findByPayment(`pi of ${bought[0]}`)).toMatchObject({ state: "paid" });
    const numbers = await Promise.all(bought.map(numberOf));
    expect(numbers.toSorted((a, b) => a - b)).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
  });

  test("leave no gap when a process dies within a grant", async () => {
    const [one, two] = [await begin(await newOrg(), 10n), await begin(await newOrg(), 10n)];
    const grant = `select grant_purchase('${one}', null, null, null, '{"name": "Killed GmbH"}')`;
    await expect(
      backend.query(`do $$ begin perform (${grant}); raise 'killed'; end $$`),
    ).rejects.toThrow("killed");
    await sell(two, "Killed GmbH");
    await sell(one, "Killed GmbH");
    expect([await numberOf(two), await numberOf(one)]).toEqual([1, 2]);
  });

  test("keep the parties and the payment method of the day of payment", async () => {
    const orgId = await newOrg();
    const purchaseId = await begin(orgId, 10n);
    await sell(purchaseId, "Frozen GmbH");
    const before = await store.find(purchaseId);
    expect(before).toMatchObject({
      paymentMethod: "Visa 4242",
      receipt: { buyer: { name: "Acme", company: null }, seller: { name: "Frozen GmbH" } },
    });
    await backend.accountStore.renameOrg(orgId, "Other", testOperator);
    await sell(purchaseId, "Renamed GmbH");
    expect((await store.find(purchaseId))?.receipt).toEqual(before?.receipt);
  });
});

describe("refund and dispute claims", () => {
  test("that are reported many times at once, with their reversal among them, end reversed", async () => {
    const orgId = await newOrg();
    const purchaseId = await begin(orgId, 10n);
    const refund = claimOf(purchaseId);
    const tellings = Array.from({ length: 12 }, (_, i) =>
      i === 3 ? store.grant(paid(purchaseId)) : store.claim({ ...refund, isReversed: i % 5 === 1 }),
    );
    await Promise.all(tellings);
    expect(await balance(orgId)).toBe(10n * USD);
    await store.claim(refund);
    expect(await balance(orgId)).toBe(10n * USD);
  });

  test("cannot move to another purchase", async () => {
    const orgId = await newOrg();
    const [one, two] = [await begin(orgId, 10n), await begin(orgId, 10n)];
    await store.grant(paid(one));
    await store.grant(paid(two));
    const refund = claimOf(one);
    await store.claim(refund);
    await store.claim({ ...refund, purchaseId: two, isReversed: true });
    expect(await balance(orgId)).toBe(17n * USD);
    const refunded = { state: "partly_refunded", refundedMicroUsd: 3n * USD };
    expect(await store.find(one)).toMatchObject(refunded);
  });
});

test("an organization sees only its own purchases, newest first", async () => {
  const [mine, other] = [await newOrg(), await newOrg()];
  const old = await begin(mine, 5n, 2 * MINUTE_MS);
  const fresh = await begin(mine, 6n);
  await begin(other, 7n);
  expect((await store.list(mine)).map((each) => each.purchaseId)).toEqual([fresh, old]);
  expect(await store.findOwn(other, fresh)).toBeUndefined();
});

test("a parked purchase refunded or disputed in full is listed after those to decide", async () => {
  const parked = async (ageMs: number, claim?: Partial<PurchaseClaim>): Promise<string> => {
    const purchaseId = await begin(await newOrg(), 10n, ageMs);
    await store.decide(purchaseId, "parked");
    if (claim !== undefined) await store.claim(claimOf(purchaseId, claim));
    return purchaseId;
  };
  const whole = { amountMicroUsd: microUsd(10n * USD) };
  const refunded = await parked(0, whole);
  const disputed = await parked(1 * MINUTE_MS, { ...whole, kind: "dispute" });
  const inPart = await parked(2 * MINUTE_MS, {});
  const open = await parked(3 * MINUTE_MS);
  const failedRefund = await parked(4 * MINUTE_MS, { isReversed: true });
  const ids = new Set([refunded, disputed, inPart, open, failedRefund]);
  const waiting = (await store.listWaiting(100)).filter(({ purchaseId }) => ids.has(purchaseId));
  expect(
    waiting.map((each) => [each.purchaseId, each.refundedMicroUsd, each.disputedMicroUsd]),
  ).toEqual([
    [inPart, 3n * USD, 0n],
    [open, 0n, 0n],
    [failedRefund, 0n, 0n],
    [refunded, 10n * USD, 0n],
    [disputed, 0n, 10n * USD],
  ]);
});

test("a purchase that has ended does not become pending again", async () => {
  const purchaseId = await begin(await newOrg(), 5n);
  expect(await store.decide(purchaseId, "pending")).toBe(true);
  expect(await store.decide(purchaseId, "pending")).toBe(false);
  expect(await store.decide(purchaseId, "failed")).toBe(true);
  expect(await store.decide(purchaseId, "pending")).toBe(false);
  expect(await store.decide(purchaseId, "parked")).toBe(true);
  expect(await store.decide(purchaseId, "expired")).toBe(false);
  expect(await store.find(purchaseId)).toMatchObject({ state: "parked" });
});

test("an unfinished purchase is checked by one process at a time, and again later", async () => {
  await backend.query("update purchase set checked_at = 'infinity'");
  const orgId = await newOrg();
  const nowMs = systemClock.nowMs();
  const due = new Set([await begin(orgId, 5n, 20 * MINUTE_MS), await begin(orgId, 5n, MINUTE_MS)]);
  const receiptless = await begin(orgId, 5n, 20 * MINUTE_MS);
  await store.grant(paid(receiptless));
  due.add(receiptless);
  await begin(orgId, 5n);
  const take = async (atMs: number): Promise<string[]> => {
    const range = { beforeMs: atMs - 30_000, sinceMs: nowMs - 60 * MINUTE_MS, nowMs: atMs };
    return (await store.takeUnfinished({ ...range, limit: 10 })).map((each) => each.purchaseId);
  };
  const takings = await Promise.all([take(nowMs), take(nowMs)]);
  expect(takings.flat().sort()).toEqual([...due].sort());
  expect(await take(nowMs + 1)).toEqual([]);
  expect((await take(nowMs + MINUTE_MS)).length).toBe(4);
});

test("only one process gets the permit for a run, and the next permit is given after the interval", async () => {
  const nowMs = systemClock.nowMs();
  const turns = Array.from({ length: 8 }, () => store.claimRun("test", nowMs, MINUTE_MS));
  expect((await Promise.all(turns)).filter(Boolean)).toHaveLength(1);
  expect(await store.claimRun("test", nowMs + MINUTE_MS - 1, MINUTE_MS)).toBe(false);
  expect(await store.claimRun("test", nowMs + MINUTE_MS, MINUTE_MS)).toBe(true);
});

test("a run, a check or a purchase by a host with a clock far ahead does not hold up the next ones", async () => {
  const nowMs = systemClock.nowMs();
  const aheadMs = nowMs + 365 * 24 * 60 * MINUTE_MS;
  const claim = (atMs: number): Promise<boolean> => store.claimRun("ahead", atMs, MINUTE_MS);
  expect([await claim(aheadMs), await claim(nowMs), await claim(nowMs)]).toEqual([
    true,
    true,
    false,
  ]);
  await backend.query("update purchase set checked_at = 'infinity'");
  const orgId = await newOrg();
  for (const _ of [1, 2, 3, 4, 5]) await begin(orgId, 5n, nowMs - aheadMs);
  const purchaseId = await begin(orgId, 5n, 20 * MINUTE_MS);
  const take = async (atMs: number): Promise<string[]> => {
    const range = { beforeMs: atMs - 30_000, sinceMs: nowMs - 60 * MINUTE_MS, nowMs: atMs };
    return (await store.takeUnfinished({ ...range, limit: 10 })).map((each) => each.purchaseId);
  };
  await take(aheadMs);
  expect(await take(nowMs + MINUTE_MS)).toContain(purchaseId);
});

test("a handled payment event is remembered until events of its age are deleted", async () => {
  expect(await store.isEventDone("evt_1")).toBe(false);
  await store.markEventDone({ eventId: "evt_1", kind: "refund.created" });
  await store.markEventDone({ eventId: "evt_1", kind: "refund.created" });
  expect(await store.isEventDone("evt_1")).toBe(true);
  await store.forgetEvents(systemClock.nowMs() - MINUTE_MS);
  expect(await store.isEventDone("evt_1")).toBe(true);
  await store.forgetEvents(systemClock.nowMs() + MINUTE_MS);
  expect(await store.isEventDone("evt_1")).toBe(false);
});

test("purchases with test money are reported once they are paid", async () => {
  const none = { purchases: 0, orgIds: [] };
  expect(await store.testMoney()).toEqual(none);
  const orgId = await newOrg();
  const purchaseId = await begin(orgId, 5n);
  const change = "update purchase set is_test_money = true where purchase_id = $1";
  await backend.query(change, [purchaseId]);
  expect(await store.testMoney()).toEqual(none);
  await store.grant(paid(purchaseId));
  expect(await store.testMoney()).toEqual({ purchases: 1, orgIds: [orgId] });
  const cash = "select debits from account where account_id = 'cash:test'";
  expect(await backend.query(cash)).toEqual([{ debits: String(5n * USD) }]);
});

describe("the audit of purchases", () => {
  let books: DamagedBooks;
  let orgId: OrgId;

  /** In dollars: 10 were bought, 6 were used and 8 were refunded, so 4 are owed. */
  beforeAll(async () => {
    const made = await orgWithKey(backend, { creditMicroUsd: 0n });
    orgId = made.orgId;
    const purchaseId = await begin(orgId, 10n);
    await store.grant(paid(purchaseId));
    const { ledgerBatchStore: ledger } = backend;
    const member = await ledger.join("one", 3_600_000);
    const row = reserveRow({ ...made, attemptId: 1n as AttemptId }, 7n * USD);
    await ledger.hold(member, row);
    await ledger.closeBatch([closeRow(row.attemptId, 6n * USD)]);
    await store.claim(claimOf(purchaseId, { claimId: "re_1", amountMicroUsd: microUsd(8n * USD) }));
    books = new DamagedBooks(backend);
    await books.remember();
  });

  async function found(): Promise<string[]> {
    const checks = await backend.audit();
    return checks
      .filter(({ violations }) => violations > 0)
      .map(({ id, examples: [first] = [] }) => `${id} ${first?.row}: ${first?.expected}`);
  }

  test("finds nothing in clean books", async () => {
    expect(await store.owed(orgId)).toBe(4n * USD);
    expect(await found()).toEqual([]);
  });

  test.each([
    [
      "a debt that was forgotten",
      "update account set owed = 0 where owed > 0",
      [/^I14 account wallet:\w+: owes 4000000, has 0 free$/],
    ],
    [
      "a claim that took too little",
      "update purchase_claim set taken = taken - 1 where claim_id = 're_1'",
      [/^I14 (purchase \w+: taken back 8000000|transfer refund:re_1: 7999999 from receivable:.*)$/],
    ],
    [
      "a claim that was marked as reversed without returning its amount",
      "update purchase_claim set is_reversed = true, is_over = true where claim_id = 're_1'",
      [/^I14 purchase \w+: taken back 0$/],
    ],
    [
      "a receipt number that was skipped",
      "update receipt_series set last = last + 1 where series = 'live:'",
      [/^I14 receipts live:: \d+, the last \d+$/],
    ],
    [
      "a collection from another wallet",
      "update transfer set debit_account = 'wallet:other' where kind = 'collect'",
      [/^I1 /, /^I14 transfer collect:\d+: from a wallet to/, /^rebuild /, /^replay-accounts /],
    ],
  ])("finds %s", async (_, sql, lines) => {
    try {
      await books.damage(sql);
      expect(await found()).toEqual(lines.map((line) => expect.stringMatching(line) as unknown));
    } finally {
      await books.repair();
    }
  });
});

test("new credit pays the debt of a wallet first, even if its row is written directly", async () => {
  const orgId = await newOrg();
  await backend.query("begin");
  const set = async (change: string): Promise<unknown> => {
    const sql = `update account set ${change} where account_id = $1 returning debits, owed`;
    return (await backend.query(sql, [`wallet:${orgId}`]))[0];
  };
  expect(await set("owed = 5")).toEqual({ debits: "0", owed: "5" });
  expect(await set("credits = credits + 3")).toEqual({ debits: "3", owed: "2" });
  await backend.query("rollback");
});
