import { beforeAll, describe, expect, test } from "vitest";

import { until } from "../../support/books.ts";
import { at, textAt } from "../../support/http-call.ts";
import { runSql } from "../../support/sql.ts";
import { newcomer, withProviderConsole, type Person } from "./provider-fixture.ts";

const fixture = withProviderConsole({
  hasCheckout: true,
  settings: { issuerName: "Gateway GmbH", issuerAddress: "Hauptstr. 1 | 10115 Berlin | DE" },
});
const COMPANY = {
  legal_name: "Acme Ltd",
  address_lines: ["1 Main St"],
  city: "London",
  postal_code: "EC1A 1BB",
  country: "GB",
  tax_id: null,
  billing_email: "",
  purchase_order: "PO-77",
};
let ann: Person;

beforeAll(async () => {
  ann = await fixture.signIn(newcomer("ann"));
});

async function start(person: Person): Promise<{ readonly id: string; readonly pay: string }> {
  const { json } = await person.do("POST /api/console/purchases", { body: { amount_usd: "25" } });
  const id = textAt(json, "purchase.purchase_id");
  return { id, pay: `${textAt(json, "checkout_url")}/pay` };
}

async function buy(person: Person): Promise<string> {
  const { id, pay } = await start(person);
  expect((await fetch(pay, { method: "POST", redirect: "manual" })).status).toBe(303);
  await until("the purchase is paid", async () => {
    const { json } = await person.do(`GET /api/console/purchases/${id}`);
    return textAt(json, "status") === "paid";
  });
  return id;
}

const receiptOf = (id: string): string => `GET /api/console/purchases/${id}/receipt`;

describe("the receipt of a purchase", () => {
  test("says what was paid, when, by which payment, from whom and to whom", async () => {
    const id = await buy(ann);
    const before = await ann.do(receiptOf(id));
    expect(at(before.json, "company")).toBeNull();
    await ann.do("POST /api/console/company", { body: COMPANY });
    const { json } = await ann.do(receiptOf(id));
    const { json: purchase } = await ann.do(`GET /api/console/purchases/${id}`);
    expect(json).toEqual({
      number: id,
      paid_at: textAt(purchase, "granted_at"),
      amount_usd: "25.000000",
      refunded_usd: "0.000000",
      disputed_usd: "0.000000",
      payment_reference: expect.stringMatching(/^pi_/),
      is_test_money: true,
      is_automatic: false,
      company: COMPANY,
      issuer: {
        name: "Gateway GmbH",
        address_lines: ["Hauptstr. 1", "10115 Berlin", "DE"],
        tax_id: null,
        note: null,
        url: fixture.url,
      },
    });
  });

  test("has an invoice of the payment provider beside it, which names the company, its address and tax id", async () => {
    const invoiceOf = async (person: Person): Promise<unknown> => {
      const { pay } = await start(person);
      const id = pay.split("/").at(-2) ?? "";
      return fixture.checkout?.book.session(id)?.invoice_fields;
    };
    const eve = await fixture.signIn(newcomer("eve"));
    expect(await invoiceOf(eve)).toEqual({});
    const tax = { tax_id: { type: "gb_vat", value: "GB 123 4567 89" } };
    await eve.do("POST /api/console/company", { body: { ...COMPANY, ...tax } });
    expect(await invoiceOf(eve)).toEqual({
      Company: "Acme Ltd",
      Address: "1 Main St, EC1A 1BB London, GB",
      "Tax ID": "GB 123 4567 89",
      "Purchase order": "PO-77",
    });
    expect(await invoiceOf(await fixture.signIn(newcomer("fay")))).toEqual({});
  });

  test("is not there before it is paid, nor for another organization", async () => {
    const { id } = await start(ann);
    const refused = await ann.ask(receiptOf(id));
    expect([refused.status, at(refused.json, "error.message")]).toEqual([
      409,
      "this purchase was not paid, so it has no receipt; see its state on the billing page",
    ]);
    const bob = await fixture.signIn(newcomer("bob"));
    expect((await bob.ask(receiptOf(await buy(ann)))).status).toBe(404);
    expect((await ann.ask(receiptOf("pur_none"))).status).toBe(404);
  });

  test("is the payment provider's where that has issued one, and ours until then", async () => {
    const id = await buy(ann);
    const set = (url: string | null): Promise<unknown> =>
      runSql(
        fixture.gateway,
        "update purchase set is_test_money = false, receipt_url = $2 where purchase_id = $1",
        [id, url],
      );
    await set(null);
    expect(at((await ann.do(receiptOf(id))).json, "is_test_money")).toBe(false);
    await set("https://pay.example.com/receipt");
    const refused = await ann.ask(receiptOf(id));
    expect(refused.status).toBe(409);
    expect(textAt(refused.json, "error.message")).toContain("the payment provider issued");
  });
});
