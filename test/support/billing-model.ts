import * as fc from "fast-check";
import { expect } from "vitest";
import { assert, unreachable } from "../../src/kernel/core/assert.ts";
import type {
  CheckoutPayment,
  CheckoutSession,
} from "../../src/dev/test-checkout/checkout-objects.ts";
import type { AttemptId, KeyId, OrgId } from "../../src/kernel/core/ids.ts";
import type { Membership } from "../../src/ledger/ledger-batch-store.ts";
import { closeRow, keyOf, reserveRow } from "./ledger-rows.ts";
import { MICRO_PER_USD, type BillingFixture, type Bought } from "./billing-fixture.ts";

const CENT = MICRO_PER_USD / 100n;
const MINUTE_MS = 60_000;

/** Steps of a scenario. `pick` chooses an existing object, `by` one of two processes. */
export type BillingCommand =
  | { readonly do: "buy"; readonly dollars: number }
  | { readonly do: "pay"; readonly pick: number; readonly isSlow: boolean }
  | { readonly do: "arrive"; readonly pick: number; readonly isPaid: boolean }
  | { readonly do: "expire"; readonly pick: number }
  | { readonly do: "refund"; readonly pick: number; readonly cents: number }
  | { readonly do: "fail refund"; readonly pick: number }
  | { readonly do: "dispute"; readonly pick: number; readonly cents: number }
  | { readonly do: "close dispute"; readonly pick: number; readonly isWon: boolean }
  | { readonly do: "wait" }
  | Update
  | { readonly do: "at once"; readonly update: readonly Update[] };

/** Updates that may come twice, and concurrently. */
export type Update =
  | { readonly do: "deliver"; readonly pick: number }
  | { readonly do: "look"; readonly pick: number; readonly by: 0 | 1 }
  | { readonly do: "round"; readonly by: 0 | 1 }
  | { readonly do: "reserve"; readonly cents: number }
  | { readonly do: "settle"; readonly pick: number; readonly cents: number };

let lastAttempt = 1n;

/** One organization that buys and spends credit and gets refunds, with the expected balance. */
export class BillingModel {
  readonly orgId: OrgId;
  readonly seen: Set<string> = new Set();
  readonly #fixture: BillingFixture;
  readonly #member: Membership;
  readonly #keyId: KeyId;
  readonly #bought: Bought[] = [];
  readonly #open: AttemptId[] = [];
  readonly #eventsBefore: number;
  readonly #lanes = new Map<string, Promise<void>>();
  #spent = 0n;

  private constructor(fixture: BillingFixture, member: Membership, orgId: OrgId, keyId: KeyId) {
    this.#fixture = fixture;
    this.#member = member;
    this.orgId = orgId;
    this.#keyId = keyId;
    this.#eventsBefore = fixture.checkout.webhooks.events.length;
  }

  static async make(fixture: BillingFixture, member: Membership): Promise<BillingModel> {
    const orgId = await fixture.newOrg();
    return new BillingModel(fixture, member, orgId, await keyOf(fixture.backend, orgId));
  }

  async run(step: BillingCommand): Promise<void> {
    const { book } = this.#fixture.checkout;
    switch (step.do) {
      case "buy":
        this.#bought.push(await this.#fixture.buy(this.orgId, step.dollars));
        return;
      case "pay":
      case "arrive":
      case "expire": {
        const session = picked(this.#bought, step.pick)?.session;
        if (session === undefined) return;
        if (step.do === "arrive") book.finish(session, step.isPaid);
        else if (session.status === "open" && step.do === "pay") book.pay(session, {}, step.isSlow);
        else if (session.status === "open") book.expire(session);
        return;
      }
      case "refund":
      case "dispute":
        this.#claim(step);
        return;
      case "fail refund": {
        const refund = picked(this.#claims(book.refunds), step.pick);
        if (refund !== undefined) book.failRefund(refund);
        return;
      }
      case "close dispute": {
        const dispute = picked(this.#claims(book.disputes), step.pick);
        if (dispute !== undefined) book.closeDispute(dispute, step.isWon ? "won" : "lost");
        return;
      }
      case "wait":
        this.#fixture.clock.moveOn(11 * MINUTE_MS);
        return;
      case "at once":
        await Promise.all(step.update.map((update) => this.#receive(update)));
        return;
      case "deliver":
      case "look":
      case "round":
      case "reserve":
      case "settle":
        return await this.#receive(step);
      default:
        return unreachable(step);
    }
  }

  async #receive(update: Update): Promise<void> {
    const { billings, checkout } = this.#fixture;
    switch (update.do) {
      case "deliver": {
        const event = picked(checkout.webhooks.events.slice(this.#eventsBefore), update.pick);
        if (event !== undefined) agree(await checkout.webhooks.send(event.id), 200);
        return;
      }
      case "look": {
        const bought = picked(this.#bought, update.pick);
        if (bought === undefined) return;
        await billings[update.by].checkPurchase(this.orgId, bought.purchaseId);
        return;
      }
      case "round":
        return await billings[update.by].reconcileAll();
      case "reserve":
        return await this.#inLane("reserve", () => this.#reserve(BigInt(update.cents) * CENT));
      case "settle":
        return await this.#inLane("close", () =>
          this.#settle(update.pick, BigInt(update.cents) * CENT),
        );
      default:
        return unreachable(update);
    }
  }

  /** Runs one reserve and one closing at a time, but the two concurrently, as the ledger does. */
  async #inLane(lane: "reserve" | "close", work: () => Promise<void>): Promise<void> {
    const before = this.#lanes.get(lane);
    const done = (before ?? Promise.resolve()).then(work);
    this.#lanes.set(lane, done);
    await done;
  }

  #claim(step: { readonly do: "refund" | "dispute"; pick: number; cents: number }): void {
    const { book } = this.#fixture.checkout;
    const payment = picked(this.#payments(), step.pick);
    if (payment === undefined) return;
    if (step.do === "refund") book.refund(payment, step.cents);
    else book.dispute(payment, Math.min(step.cents, payment.amount));
  }

  async #reserve(amount: bigint): Promise<void> {
    const of = { orgId: this.orgId, keyId: this.#keyId, attemptId: lastAttempt++ as AttemptId };
    const row = reserveRow(of, amount);
    const store = this.#fixture.backend.ledgerBatchStore;
    const [outcome] = await store.reserveBatch(this.#member, [{ row, close: null }]);
    assert(outcome !== undefined, "a reserve is answered");
    if (outcome.kind === "reserved") this.#open.push(row.attemptId);
    else agree(outcome.kind, "low_balance");
    if (outcome.kind === "low_balance" && outcome.availableMicroUsd < 0n) this.seen.add("owes");
    this.seen.add(outcome.kind);
  }

  async #settle(pick: number, cost: bigint): Promise<void> {
    const attemptId = picked(this.#open, pick);
    if (attemptId === undefined) return;
    const store = this.#fixture.backend.ledgerBatchStore;
    const [verdict] = await store.closeBatch([closeRow(attemptId, cost)]);
    assert(verdict !== undefined, "a closing is answered");
    if (verdict.kind !== "closed") return;
    this.#spent += verdict.debitMicroUsd;
    this.#open.splice(this.#open.indexOf(attemptId), 1);
  }

  #payments(): CheckoutPayment[] {
    const { payments } = this.#fixture.checkout.book;
    return this.#bought
      .flatMap(({ session }) => payments.get(session.payment_intent ?? "") ?? [])
      .filter((payment) => payment.status === "succeeded");
  }

  #claims<T extends { readonly payment_intent: string }>(all: ReadonlyMap<string, T>): T[] {
    const ours = new Set(this.#payments().map(({ id }) => id));
    return [...all.values()].filter(({ payment_intent }) => ours.has(payment_intent));
  }

  /** Delivers each event twice in the given order. Without an order, only polling finds changes. */
  async receiveAll(order: readonly number[]): Promise<void> {
    const { billings, checkout, clock } = this.#fixture;
    if (order.length > 0) {
      const events = checkout.webhooks.events.slice(this.#eventsBefore);
      const shuffled = events
        .flatMap((event) => [event, event])
        .map((event, i) => ({ event, at: (order[i % order.length] ?? 0) + i / 1_000 }))
        .sort((a, b) => a.at - b.at);
      for (const { event } of shuffled) agree(await checkout.webhooks.send(event.id), 200);
    }
    clock.moveOn(11 * MINUTE_MS);
    await Promise.all(billings.map((billing) => billing.reconcileAll()));
  }

  async check(): Promise<void> {
    const { backend } = this.#fixture;
    const { settledMicroUsd, heldMicroUsd } = await backend.recordStore.balance(this.orgId);
    agree(settledMicroUsd, this.#expected());
    const short = heldMicroUsd - settledMicroUsd;
    const owed = await backend.purchaseStore.owed(this.orgId);
    agree(owed, short > 0n ? short : 0n);
    if (owed > 0n) this.seen.add("owed at the end");
    const purchases = await backend.purchaseStore.list(this.orgId);
    for (const { session, purchaseId } of this.#bought) {
      const { state } = purchases.find((each) => each.purchaseId === purchaseId) ?? {};
      agree([purchaseId, state], [purchaseId, this.#stateOf(session)]);
      this.seen.add(String(state));
    }
    agree(await this.#fixture.broken(), []);
  }

  #expected(): bigint {
    const nets = this.#payments().map((payment) => {
      const { refunds, disputes } = this.#standing(payment.id);
      const claimed = refunds + disputes;
      return payment.amount - Math.min(payment.amount, claimed);
    });
    return nets.reduce<bigint>((sum, cents) => sum + BigInt(cents) * CENT, 0n) - this.#spent;
  }

  #standing(paymentId: string): { readonly refunds: number; readonly disputes: number } {
    const { book } = this.#fixture.checkout;
    const sum = (claims: Iterable<{ payment_intent: string; status: string; amount: number }>) =>
      [...claims]
        .filter((claim) => claim.payment_intent === paymentId)
        .filter((claim) => !["failed", "won"].includes(claim.status))
        .reduce((cents, claim) => cents + claim.amount, 0);
    return { refunds: sum(book.refunds.values()), disputes: sum(book.disputes.values()) };
  }

  #stateOf(session: CheckoutSession): string {
    const { payments } = this.#fixture.checkout.book;
    const payment = payments.get(session.payment_intent ?? "");
    if (payment === undefined) return session.status === "expired" ? "expired" : "created";
    if (payment.status === "processing") return "pending";
    if (payment.status === "requires_payment_method") return "failed";
    const { refunds, disputes } = this.#standing(payment.id);
    if (disputes > 0 && refunds < payment.amount) return "disputed";
    if (refunds === 0) return "paid";
    return refunds < payment.amount ? "partly_refunded" : "refunded";
  }

  /** Closes everything that is open, so that later runs see nothing of this one. */
  async end(): Promise<void> {
    const { backend, checkout } = this.#fixture;
    const { sessions, refunds, disputes } = checkout.book;
    for (const kept of [sessions, refunds, disputes]) kept.clear();
    await backend.query("update purchase_claim set is_over = true where not is_over");
    await backend.query("update purchase set state = 'expired' where state <> 'granted'");
    const rows = this.#open.map((attemptId) => closeRow(attemptId, 0n));
    if (rows.length > 0) await backend.ledgerBatchStore.closeBatch(rows);
  }
}

function picked<T>(items: readonly T[], pick: number): T | undefined {
  return items.length === 0 ? undefined : items[pick % items.length];
}

function agree(found: unknown, expected: unknown): void {
  expect(found).toEqual(expected);
}

/** Returns an arbitrary of records with these members, and its weight among the commands. */
export function weighing<T>(
  weight: number,
  members: { [K in keyof T]: fc.Arbitrary<T[K]> },
): { readonly weight: number; readonly arbitrary: fc.Arbitrary<T> } {
  return { weight, arbitrary: fc.record(members) };
}
