import { describe, expect, test } from "vitest";

import { until } from "../../support/books.ts";
import { at, listAt, textAt } from "../../support/http-call.ts";
import { newcomer, withProviderConsole, type Person, withPerson } from "./provider-fixture.ts";

const fixture = withProviderConsole({ hasCheckout: true });
const TOP_UP = "/api/console/top-up";
const RULE = { is_on: true, below_usd: "10", amount_usd: "50", month_max_usd: "200" };
const ann = withPerson(fixture, "ann");

/** Chooses one of the test cards on the payment page. */
async function saveCard(person: Person, last4: string): Promise<void> {
  const { json } = await person.do(`POST ${TOP_UP}/card`);
  await fetch(`${textAt(json, "checkout_url")}/pay`, {
    method: "POST",
    body: new URLSearchParams({ card: last4 }),
    redirect: "manual",
  });
}

describe("automatic top-up", () => {
  test("cannot be turned on without a card, and names the invalid field of a rule", async () => {
    const { json } = await ann.do(`GET ${TOP_UP}`);
    expect(json).toMatchObject({ is_available: true, card: null, rule: null, pause: null });
    const without = await ann.ask(`PATCH ${TOP_UP}`, { body: RULE });
    expect([without.status, textAt(without.json, "error.message")]).toEqual([
      409,
      "save a card before you turn on automatic top-up",
    ]);
    for (const [field, usd] of Object.entries({
      below_usd: "0",
      amount_usd: "1",
      month_max_usd: "49.99",
    })) {
      const refused = await ann.ask(`PATCH ${TOP_UP}`, { body: { ...RULE, [field]: usd } });
      expect([refused.status, textAt(refused.json, "error.field")]).toEqual([400, field]);
    }
  });

  test("buys credit once there is a card and a rule, and the history shows it", async () => {
    await saveCard(ann, "4242");
    const saved = await ann.do(`GET ${TOP_UP}`);
    expect(at(saved.json, "card")).toMatchObject({ brand: "visa", last4: "4242" });
    await ann.do(`PATCH ${TOP_UP}`, { body: RULE });
    await until("the program has bought credit by itself", async () => {
      const { json } = await ann.do("GET /api/console/billing");
      return textAt(json, "balance.settled_usd") === "50.000000";
    });
    const { json } = await ann.do("GET /api/console/billing");
    expect(listAt(json, "purchases")).toMatchObject([
      { is_automatic: true, status: "paid", amount_usd: "50.000000" },
    ]);
    const after = await ann.do(`GET ${TOP_UP}`);
    expect(after.json).toMatchObject({ month_spent_usd: "50.000000", has_open_purchase: false });
    const changes = await ann.do("GET /api/console/changes");
    const told = listAt(changes.json, "data").map((each) => [
      textAt(each, "actor"),
      textAt(each, "action"),
    ]);
    expect(told).toContainEqual(["You", "topup.rule"]);
    expect(told).toContainEqual([expect.anything(), "card.save"]);
    expect(told).toContainEqual([expect.anything(), "purchase.start"]);
  });

  test("is paused after a failed charge, shown on every page, and reported once", async () => {
    const bob = await fixture.signIn(newcomer("bob"));
    await saveCard(bob, "0341");
    await until("the card is there", async () => {
      const { json } = await bob.do(`GET ${TOP_UP}`);
      return at(json, "card") !== null;
    });
    await bob.do(`PATCH ${TOP_UP}`, { body: RULE });
    await until("it is paused", async () => {
      const { json } = await bob.do(`GET ${TOP_UP}`);
      return at(json, "pause") !== null;
    });
    const text =
      "Automatic top-up is paused: the card was declined. Update the card, then turn it on again.";
    const { json } = await bob.do(`GET ${TOP_UP}`);
    expect(json).toMatchObject({
      rule: { is_on: false },
      pause: { reason: "card_declined", text },
    });
    const session = await bob.do("GET /api/console/session");
    expect(listAt(session.json, "notices")).toContainEqual(
      expect.objectContaining({ kind: "top_up_paused", text, action: "open_billing" }),
    );
    const queue = fixture.gateway.backend.alertQueue;
    await queue.notice();
    await queue.notice();
    const log = await bob.do("GET /api/console/alerts/deliveries");
    const kinds = listAt(log.json, "data").map((each) => textAt(each, "kind"));
    expect(kinds.filter((kind) => kind === "topup.paused")).toHaveLength(1);
  });
});
