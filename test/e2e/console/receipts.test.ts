import { describe, expect, test } from "vitest";

import { until } from "../../support/books.ts";
import { at, listAt, textAt } from "../../support/http-call.ts";
import { runSql } from "../../support/sql.ts";
import { newcomer, withProviderConsole, type Person, withPerson } from "./provider-fixture.ts";

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
const ann = withPerson(fixture, "ann");

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
  test("names the amount, the time, the payment, the seller and the buyer", async () => {
    const id = await buy(ann);
    await ann.do("POST /api/console/company", { body: COMPANY });
    const { json: first } = await ann.do(receiptOf(id));
    const { json: purchase } = await ann.do(`GET /api/console/purchases/${id}`);
    const said = {
      number: "TEST-000001",
      purchase_id: id,
      paid_at: textAt(purchase, "granted_at"),
      description: "Prepaid API credit",
      net_usd: "25.000000",
      tax_usd: "0.000000",
      no_tax_reason: "Tax is not charged when prepaid credit is sold.",
      amount_usd: "25.000000",
      refunded_usd: "0.000000",
      disputed_usd: "0.000000",
      payment_reference: expect.stringMatching(/^pi_/),
      payment_method: "Visa 4242",
      provider_url: null,
      is_test_money: true,
      is_automatic: false,
      // Company data that were given after the payment are not on its receipt.
      buyer: expect.stringContaining("ann"),
      company: null,
      issuer: {
        name: "Gateway GmbH",
        address_lines: ["Hauptstr. 1", "10115 Berlin", "DE"],
        tax_id: null,
        note: null,
        url: fixture.url,
      },
    };
    expect(first).toEqual(said);
    const { json: second } = await ann.do(receiptOf(await buy(ann)));
    expect(second).toMatchObject({ number: "TEST-000002", company: COMPANY });
    expect((await ann.do(receiptOf(id))).json).toEqual(said);
    const { json: exported } = await ann.do("GET /api/console/export.json");
    expect(exported).toMatchObject({ company: COMPANY, top_up: { rule: null, card: null } });
  });

  test("is in the export with every purchase and search, however many there are", async () => {
    const dan = await fixture.signIn(newcomer("dan"));
    await runSql(
      fixture.gateway,
      `insert into purchase (purchase_id, org_id, micro_usd, cents, state, is_test_money, created_at,
         expires_at)
       select 'pur_old' || n, $1, 10000, 1, 'expired', true, now(), now()
       from generate_series(1, 1001) n`,
      [dan.orgId],
    );
    await runSql(
      fixture.gateway,
      `with made as (
         insert into api_key (key_id, org_id, digest, label, name, origin, rpm_ceiling)
         select 'key_old' || n, $1, sha256(n::text::bytea), 'tm_vk_000000', 'old', 'optimize', 60
         from generate_series(1, 201) n returning key_id
       )
       insert into optimize_search (search_id, org_id, key_id, name, objective, model_ids, prompts,
         budget, state, calls_planned, ended_at, lease_until)
       select 'search_' || key_id, $1, key_id, 'old', 'fastest', '{a,b}', 3, 1, 'stopped', 6, now(),
         now() from made`,
      [dan.orgId],
    );
    const { json } = await dan.do("GET /api/console/export.json");
    const counts = ["purchases", "optimize_searches"].map((name) => listAt(json, name).length);
    expect(counts).toEqual([1001, 201]);
  });

  test("is a PDF file, and the month's statement names its number", async () => {
    const pdf = await ann.ask(`${receiptOf(await buy(ann))}.pdf`);
    expect([pdf.status, pdf.text.slice(0, 5)]).toEqual([200, "%PDF-"]);
    const month = new Date().toISOString().slice(0, 7);
    const { json } = await ann.do(`GET /api/console/statements/${month}`);
    const lines = at(json, "lines") as { readonly receipt: string | null }[];
    expect(lines.map(({ receipt }) => receipt)).toContain("TEST-000001");
    const sheet = await ann.ask(`GET /api/console/statements/${month}/statement.pdf`);
    expect([sheet.status, sheet.text.slice(0, 5)]).toEqual([200, "%PDF-"]);
  });

  test("is accompanied by the payment provider's invoice with company, address and tax id", async () => {
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

  test("does not exist before the payment, nor for another organization", async () => {
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

  test("links to the receipt of the payment provider if there is one", async () => {
    const id = await buy(ann);
    const url = "https://pay.example.com/receipt";
    const sql =
      "update purchase set is_test_money = false, receipt_url = $2 where purchase_id = $1";
    await runSql(fixture.gateway, sql, [id, url]);
    expect(at((await ann.do(receiptOf(id))).json, "provider_url")).toBe(url);
  });

  test("is found however many purchases followed, and too many in an hour are refused as such", async () => {
    const gil = await fixture.signIn(newcomer("gil"));
    const id = await buy(gil);
    const sql = `
      insert into purchase (purchase_id, org_id, micro_usd, cents, is_test_money, created_at,
        expires_at, state)
      select 'pur_of_gil_' || n, $1, 5000000, 500, true, now(), now(), 'expired'
      from generate_series(1, 1000) n`;
    await runSql(fixture.gateway, sql, [gil.orgId]);
    expect((await gil.do(receiptOf(id))).json).toMatchObject({ purchase_id: id });
    expect((await gil.ask(`${receiptOf(id)}.pdf`)).status).toBe(200);
    const refused = await gil.ask("POST /api/console/purchases", { body: { amount_usd: "25" } });
    expect([refused.status, at(refused.json, "error.code")]).toEqual([429, "rate_limit"]);
    expect(at(refused.json, "error.message")).toBe(
      "30 purchases were started in the last hour; try again later",
    );
  });
});
