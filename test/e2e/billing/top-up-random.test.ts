import * as fc from "fast-check";
import { expect, test } from "vitest";

import { monthStartMs, type TopUpRule } from "../../../src/account/billing/top-up-store.ts";
import { assert } from "../../../src/kernel/core/assert.ts";
import { type OrgId, createRecordId } from "../../../src/kernel/core/ids.ts";
import { microUsd } from "../../../src/kernel/core/money.ts";
import type { CheckoutPayment } from "../../../src/dev/test-checkout/checkout-objects.ts";
import type { ChargeFault } from "../../../src/dev/test-checkout/start-test-checkout.ts";
import { MICRO_PER_USD, withBillingFixture } from "../../support/billing-fixture.ts";
import { weighing } from "../../support/billing-model.ts";
import { quickOrDeep } from "../../support/depth.ts";
import { testOperator } from "../../support/test-operator.ts";

const MINUTE_MS = 60_000;
const AMOUNT_USD = 50n;
const usd = (dollars: bigint): ReturnType<typeof microUsd> => microUsd(dollars * MICRO_PER_USD);

/** Events are kept until a step delivers them, which may happen more than once. */
const fixture = withBillingFixture({ delivery: () => [] });

type Step =
  | { readonly kind: "rounds"; readonly faults: readonly ChargeFault[] }
  | { readonly kind: "events" | "reconcile" | "crash" | "refund" | "turn_on" | "turn_off" }
  | { readonly kind: "wait"; readonly minutes: number }
  | { readonly kind: "card"; readonly last4: string }
  | { readonly kind: "ceiling"; readonly dollars: bigint };

const fault = fc.constantFrom<ChargeFault>("lost_before", "lost_after", "busy", "broken", "none");
const anyStep: fc.Arbitrary<Step> = fc.oneof(
  weighing(6, { kind: fc.constant("rounds" as const), faults: fc.array(fault, { maxLength: 4 }) }),
  weighing(6, { kind: fc.constant("wait" as const), minutes: fc.constantFrom(1, 6, 12, 30, 80) }),
  weighing(5, {
    kind: fc.constantFrom(
      ...(["events", "reconcile", "crash", "refund", "turn_on", "turn_on", "turn_off"] as const),
    ),
  }),
  weighing(1, {
    kind: fc.constant("card" as const),
    last4: fc.constantFrom("4242", "4242", "0341", "3184"),
  }),
  weighing(1, {
    kind: fc.constant("ceiling" as const),
    dollars: fc.constantFrom(50n, 100n, 149n, 250n),
  }),
);

/** One organization whose balance is always below its threshold, and what happened to it. */
class Story {
  readonly orgId: OrgId;
  #rule: TopUpRule = {
    isOn: true,
    belowMicroUsd: usd(1_000_000n),
    amountMicroUsd: usd(AMOUNT_USD),
    monthMaxMicroUsd: usd(100n),
  };
  /** Events with a lower index belong to other scenarios. */
  readonly #firstEvent = fixture.checkout.webhooks.events.length;
  /** For each month, by its start: the highest ceiling at which purchases were decided in it. */
  readonly #ceilings = new Map<number, bigint>();

  constructor(orgId: OrgId) {
    this.orgId = orgId;
  }

  get #topUps(): NonNullable<(typeof fixture.billings)[0]["topUps"]> {
    const [{ topUps }] = fixture.billings;
    if (topUps === undefined) throw new Error("automatic top-up is off");
    return topUps;
  }

  async run(step: Step): Promise<void> {
    switch (step.kind) {
      case "rounds":
        fixture.checkout.chargeFaults.push(...step.faults);
        await Promise.all(fixture.billings.map((billing) => billing.topUpRound()));
        fixture.checkout.chargeFaults.length = 0;
        return;
      case "events":
        return await this.#deliver();
      case "reconcile":
        await Promise.all([fixture.billings[1].reconcileAll(), fixture.billings[0].topUpRound()]);
        return;
      case "crash":
        await this.#decideOnly();
        return;
      case "refund":
        return this.#refund();
      case "wait":
        fixture.clock.moveOn(step.minutes * MINUTE_MS);
        this.#note();
        return;
      case "card":
        return await this.saveCard(step.last4);
      case "turn_on":
      case "turn_off":
      case "ceiling":
        return await this.#change(step);
    }
  }

  async #change(step: Step): Promise<void> {
    if (step.kind === "ceiling") {
      this.#rule = { ...this.#rule, monthMaxMicroUsd: usd(step.dollars) };
    } else this.#rule = { ...this.#rule, isOn: step.kind === "turn_on" };
    await Promise.all([
      this.#topUps.setRule(this.orgId, this.#rule, testOperator),
      fixture.billings[1].topUpRound(),
    ]);
    this.#note();
  }

  /** Notes the ceiling of the current month: purchases count in the month of their decision. */
  #note(): void {
    const month = monthStartMs(fixture.clock.nowMs());
    const known = this.#ceilings.get(month) ?? 0n;
    const now = this.#rule.monthMaxMicroUsd;
    this.#ceilings.set(month, now > known ? now : known);
  }

  /** Commits a decision whose process dies before it sends the charge. */
  async #decideOnly(): Promise<void> {
    const nowMs = fixture.clock.nowMs();
    const times = { nowMs, monthMs: monthStartMs(nowMs), expiresAtMs: nowMs + 120 * MINUTE_MS };
    const bounds = { minMicroUsd: usd(5n), maxMicroUsd: usd(5_000n) };
    const purchaseId = createRecordId("pur");
    const wanted = { orgId: this.orgId, purchaseId, isTestMoney: true, ...bounds, ...times };
    await fixture.backend.topUpStore.begin(wanted, testOperator);
  }

  async saveCard(last4: string): Promise<void> {
    fixture.clock.moveOn(1_000);
    const { checkoutUrl } = await this.#topUps.openCardCheckout(this.orgId);
    const session = fixture.checkout.book.session(checkoutUrl.split("/").at(-1) ?? "");
    if (session === undefined) throw new Error("no checkout was opened");
    fixture.checkout.book.saveCard(session, last4);
    fixture.clock.moveOn(3_000);
    await this.#topUps.read(this.orgId);
  }

  async start(): Promise<void> {
    await this.saveCard("4242");
    await this.#change({ kind: "turn_on" });
  }

  /** Sends all events at the same time, newest first and every second one twice. */
  async #deliver(): Promise<void> {
    await fixture.backend.query("delete from payment_event");
    const { webhooks } = fixture.checkout;
    const events = webhooks.events.slice(this.#firstEvent).reverse();
    const copies = events.flatMap((event, i) => (i % 2 === 0 ? [event, event] : [event]));
    const statuses = await Promise.all(copies.map((event) => webhooks.send(event.id)));
    assert(
      statuses.every((status) => status === 200),
      "every event is taken",
    );
  }

  #refund(): void {
    const first = this.payments().find(({ status }) => status === "succeeded");
    if (first !== undefined) fixture.checkout.book.refund(first, 1_000);
  }

  payments(): CheckoutPayment[] {
    const { payments } = fixture.checkout.book;
    return [...payments.values()].filter(({ metadata }) => metadata["org_id"] === this.orgId);
  }

  /** Checks the rules that must hold at any time. */
  async check(): Promise<void> {
    const charged = this.payments().filter(({ status }) => status === "succeeded");
    const intents = charged.map(({ metadata }) => metadata["purchase_id"]);
    assert(new Set(intents).size === intents.length, "one charge for one decision");
    const rows = await fixture.backend.query(
      `select p.state, count(*) as n from top_up t join purchase p using (purchase_id)
      where t.org_id = $1 group by p.state`,
      [this.orgId],
    );
    const open = rows.filter((row) => row["state"] === "created" || row["state"] === "pending");
    const count = open.reduce((sum, row) => sum + Number(row["n"]), 0);
    assert(count <= 1, "one purchase is open at most");
    for (const [month, ceiling] of this.#ceilings) {
      const end = new Date(month);
      end.setUTCMonth(end.getUTCMonth() + 1);
      const [sum] = await fixture.backend.query(
        `select coalesce(sum(t.micro_usd), 0)::bigint as sum
        from top_up t join purchase p using (purchase_id)
        where t.org_id = $1 and t.created_at >= $2 and t.created_at < $3
          and p.state in ('created', 'pending', 'granted', 'parked')`,
        [this.orgId, new Date(month), end],
      );
      assert(Number(sum?.["sum"]) <= Number(ceiling), "the ceiling of the month is kept");
    }
  }

  /** Delivers all events, and checks that the balance is what was charged minus refunds. */
  async end(): Promise<void> {
    await this.run({ kind: "turn_off" });
    for (let turn = 0; turn < 3; turn += 1) {
      await this.run({ kind: "wait", minutes: 30 });
      await this.run({ kind: "rounds", faults: [] });
    }
    await this.#deliver();
    await this.check();
    const paid = this.payments().filter(({ status }) => status === "succeeded");
    const cents = paid.reduce((sum, { amount }) => sum + BigInt(amount), 0n);
    const own = new Set(paid.map(({ id }) => id));
    const refunds = [...fixture.checkout.book.refunds.values()].filter((each) =>
      own.has(each.payment_intent),
    );
    const refunded = refunds.reduce((sum, { amount }) => sum + BigInt(amount), 0n);
    const balance = await fixture.balance(this.orgId);
    assert(
      balance === (cents - refunded) * 10_000n,
      `${balance} is what was charged, less refunds`,
    );
    const open = (await fixture.backend.purchaseStore.list(this.orgId)).filter(
      ({ state }) => state === "created" || state === "pending",
    );
    assert(open.length === 0, "nothing is open in the end");
  }
}

test(
  "in any order of events a top-up is charged once, within its ceiling, and credited once",
  { timeout: quickOrDeep(180_000, 1_800_000) },
  async () => {
    let charges = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(anyStep, { minLength: 6, maxLength: 24 }), async (steps) => {
        const story = new Story(await fixture.newOrg());
        await story.start();
        for (const each of steps) {
          await story.run(each);
          await story.check();
        }
        await story.end();
        charges += story.payments().length;
        // Rules that stay on would be charged in the rounds of the next scenario.
        await fixture.backend.query("update top_up_rule set is_on = false where is_on");
      }),
      { numRuns: quickOrDeep(6, 400) },
    );
    expect(charges).toBeGreaterThan(quickOrDeep(0, 100));
    expect(await fixture.broken()).toEqual([]);
  },
);
