import { createHash } from "node:crypto";

import { beforeAll, describe, expect, test } from "vitest";

import { until } from "../../support/books.ts";
import { at, listAt, textAt } from "../../support/http-call.ts";
import { runSql } from "../../support/sql.ts";
import {
  newcomer,
  newKey,
  withProviderConsole,
  type Person,
  withPerson,
} from "./provider-fixture.ts";

const fixture = withProviderConsole({
  hasCheckout: true,
  settings: {
    issuerName: "Gateway GmbH",
    issuerAddress: "Hauptstr. 1 | 10115 Berlin | DE",
    issuerNote: "HRB 1234",
  },
});
const ISSUER = {
  name: "Gateway GmbH",
  address_lines: ["Hauptstr. 1", "10115 Berlin", "DE"],
  tax_id: null,
  note: "HRB 1234",
};
const COMPANY = {
  legal_name: "Acme Ltd",
  address_lines: ["1 Main St", "Floor 2"],
  city: "London",
  postal_code: "EC1A 1BB",
  country: "GB",
  tax_id: { type: "gb_vat", value: "GB 123 4567 89" },
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
      // The company data was given after the payment, so it is not on this receipt.
      buyer: expect.stringContaining("ann"),
      company: null,
      issuer: { ...ISSUER, url: fixture.url },
    };
    expect(first).toEqual(said);
    const { json: second } = await ann.do(receiptOf(await buy(ann)));
    expect(second).toMatchObject({ number: "TEST-000002", company: COMPANY });
    expect((await ann.do(receiptOf(id))).json).toEqual(said);
    const { json: exported } = await ann.do("GET /api/console/export.json");
    expect(exported).toMatchObject({ company: COMPANY, top_up: { rule: null, card: null } });
  });

  test("the account's export lists all 1,001 purchases and 201 searches", async () => {
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

  test("is accompanied by the payment provider's invoice with the company of its buyer only", async () => {
    const invoiceOf = async (person: Person): Promise<unknown> => {
      const { pay } = await start(person);
      const id = pay.split("/").at(-2) ?? "";
      return fixture.checkout?.book.session(id)?.invoice_fields;
    };
    const eve = await fixture.signIn(newcomer("eve"));
    expect(await invoiceOf(eve)).toEqual({});
    await eve.do("POST /api/console/company", { body: COMPANY });
    expect(await invoiceOf(eve)).toMatchObject({
      Company: "Acme Ltd",
      "Tax ID": "GB 123 4567 89",
    });
    expect(await invoiceOf(await fixture.signIn(newcomer("fay")))).toEqual({});
  });

  test("does not exist before the payment, and links to the payment provider's receipt if there is one", async () => {
    const { id: unpaid } = await start(ann);
    const early = await ann.ask(receiptOf(unpaid));
    expect([early.status, textAt(early.json, "error.message")]).toEqual([
      409,
      expect.stringContaining("was not paid"),
    ]);
    const id = await buy(ann);
    const url = "https://pay.example.com/receipt";
    const sql =
      "update purchase set is_test_money = false, receipt_url = $2 where purchase_id = $1";
    await runSql(fixture.gateway, sql, [id, url]);
    expect(at((await ann.do(receiptOf(id))).json, "provider_url")).toBe(url);
  });

  test("is found behind 1,000 later purchases, and purchases beyond 30 an hour are refused with 429", async () => {
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
    expect(textAt(refused.json, "error.message")).toContain("in the last hour; try again later");
  });
});

const STATEMENTS = "/api/console/statements";
const MONTH = new Date().toISOString().slice(0, 7);
const cleo = withPerson(fixture, "cleo");
const dora = withPerson(fixture, "dora");

beforeAll(async () => {
  await fixture.grant(cleo, "10");
  await fixture.chat((await newKey(cleo, { name: "ci" })).secret);
});

describe("company data", () => {
  test("are null until they are set, visible to their organization only, and in its change log", async () => {
    const first = await cleo.do("GET /api/console/company");
    expect(at(first.json, "company")).toBeNull();
    const set = await cleo.do("POST /api/console/company", { body: COMPANY });
    expect(at(set.json, "company")).toEqual(COMPANY);
    expect(at(set.json, "issuer")).toEqual({ ...ISSUER, url: fixture.url });
    expect(at((await dora.do("GET /api/console/company")).json, "company")).toBeNull();
    const changes = await cleo.do("GET /api/console/changes?kind=company");
    expect(listAt(changes.json, "data")[0]).toMatchObject({ action: "company.change" });
    const others = await dora.do("GET /api/console/changes?kind=company");
    expect(listAt(others.json, "data")).toEqual([]);
  });

  test.each([
    ["legal_name", { legal_name: "   " }],
    ["tax_id.value", { tax_id: { type: "eu_vat", value: "US1" } }],
  ])("are refused with a wrong %s", async (field, change) => {
    const refused = await cleo.ask("POST /api/console/company", {
      body: { ...COMPANY, ...change },
    });
    expect([refused.status, at(refused.json, "error.field")]).toEqual([400, field]);
  });
});

describe("the statement of a month", () => {
  test("shows the current month's grants and usage of its organization only, to the micro-dollar", async () => {
    const { json } = await cleo.do(`GET ${STATEMENTS}/${MONTH}`);
    expect(json).toMatchObject({
      state: "so_far",
      number: null,
      opening_usd: "0.000000",
      credits: [{ kind: "grant", count: 1, amount_usd: "10.000000" }],
      unlisted_usage_usd: "0.000000",
      differences: [],
      issuer: { name: "Gateway GmbH" },
    });
    const cost = textAt(json, "usage_usd");
    expect(cost).not.toBe("0.000000");
    expect(listAt(json, "models")).toEqual([
      expect.objectContaining({ model: "test/a", requests: 1, cost_usd: cost }),
    ]);
    expect(listAt(json, "keys")).toEqual([
      expect.objectContaining({ name: "ci", requests: 1, cost_usd: cost }),
    ]);
    const billing = await cleo.do("GET /api/console/billing");
    expect(textAt(json, "closing_usd")).toBe(textAt(billing.json, "balance.settled_usd"));
    const others = await dora.do(`GET ${STATEMENTS}/${MONTH}`);
    expect(others.json).toMatchObject({ credits: [], models: [], closing_usd: "0.000000" });
  });

  test("is closed once after the month is over, and its JSON file has the SHA-256 that it states", async () => {
    const { backend } = fixture.gateway;
    const before = `${new Date().getUTCFullYear() - 1}-11`;
    await runSql(fixture.gateway, "update org set created_at = $2 where org_id = $1", [
      dora.orgId,
      `${before}-05T00:00:00Z`,
    ]);
    const list = await dora.do(`GET ${STATEMENTS}`);
    const months = listAt(list.json, "data");
    expect(months[0]).toMatchObject({ month: MONTH, state: "so_far", number: null });
    expect(months.at(-1)).toMatchObject({ month: before, state: "due", number: null });
    const first = await dora.do(`GET ${STATEMENTS}/${before}`);
    const number = textAt(first.json, "number");
    expect(number).toMatch(new RegExp(`^${before}-\\d{6}$`));
    const again = await dora.do(`GET ${STATEMENTS}/${before}`);
    expect(again.json).toEqual(first.json);
    const file = await dora.do(`GET ${STATEMENTS}/${before}/statement.json`);
    const hash = createHash("sha256").update(file.text).digest("hex");
    expect(hash).toBe(textAt(first.json, "sha256"));
    const table = await dora.do(`GET ${STATEMENTS}/${before}/statement.csv`);
    expect(table.text.split("\r\n")[0]).toBe(
      "line,name,count,amount_usd,input_tokens,output_tokens",
    );
    expect(await backend.statementStore.list(dora.orgId)).toHaveLength(months.length);
  });

  test.each(["2019-01", "2026-13"])("does not exist for %s", async (month) => {
    const refused = await cleo.ask(`GET ${STATEMENTS}/${month}`);
    expect([400, 404]).toContain(refused.status);
  });
});

const TOP_UP = "/api/console/top-up";
const RULE = { is_on: true, below_usd: "10", amount_usd: "50", month_max_usd: "200" };
const tia = withPerson(fixture, "tia");

/** Saves the test card with these last digits on the payment page. */
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
    const { json } = await tia.do(`GET ${TOP_UP}`);
    expect(json).toMatchObject({ is_available: true, card: null, rule: null, pause: null });
    const early = await tia.ask(`PATCH ${TOP_UP}`, { body: RULE });
    expect([early.status, textAt(early.json, "error.message")]).toEqual([
      409,
      expect.stringContaining("save a card before"),
    ]);
    const body = { ...RULE, amount_usd: "1" };
    const refused = await tia.ask(`PATCH ${TOP_UP}`, { body });
    expect([refused.status, textAt(refused.json, "error.field")]).toEqual([400, "amount_usd"]);
  });

  test("buys credit once there is a card and a rule, and the change log has rule, card and purchase", async () => {
    await saveCard(tia, "4242");
    const saved = await tia.do(`GET ${TOP_UP}`);
    expect(at(saved.json, "card")).toMatchObject({ brand: "visa", last4: "4242" });
    await tia.do(`PATCH ${TOP_UP}`, { body: RULE });
    await until("the program has bought credit by itself", async () => {
      const { json } = await tia.do("GET /api/console/billing");
      return textAt(json, "balance.settled_usd") === "50.000000";
    });
    const { json } = await tia.do("GET /api/console/billing");
    expect(listAt(json, "purchases")).toMatchObject([
      { is_automatic: true, status: "paid", amount_usd: "50.000000" },
    ]);
    const after = await tia.do(`GET ${TOP_UP}`);
    expect(after.json).toMatchObject({ month_spent_usd: "50.000000", has_open_purchase: false });
    const changes = await tia.do("GET /api/console/changes");
    expect(listAt(changes.json, "data")).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ actor: "You", action: "topup.rule" }),
        expect.objectContaining({ action: "card.save" }),
        expect.objectContaining({ action: "purchase.start" }),
      ]),
    );
  });

  test("is paused after a declined charge, with a notice in the session and a single alert", async () => {
    const tom = await fixture.signIn(newcomer("tom"));
    await saveCard(tom, "0341");
    await until("the card is there", async () => {
      const { json } = await tom.do(`GET ${TOP_UP}`);
      return at(json, "card") !== null;
    });
    await tom.do(`PATCH ${TOP_UP}`, { body: RULE });
    await until("it is paused", async () => {
      const { json } = await tom.do(`GET ${TOP_UP}`);
      return at(json, "pause") !== null;
    });
    const text =
      "Automatic top-up is paused: the card was declined. Update the card, then turn it on again.";
    const { json } = await tom.do(`GET ${TOP_UP}`);
    expect(json).toMatchObject({
      rule: { is_on: false },
      pause: { reason: "card_declined", text },
    });
    const session = await tom.do("GET /api/console/session");
    expect(listAt(session.json, "notices")).toContainEqual(
      expect.objectContaining({ kind: "top_up_paused", text, action: "open_billing" }),
    );
    const queue = fixture.gateway.backend.alertQueue;
    const told = async (): Promise<readonly unknown[]> => {
      await queue.notice();
      const log = await tom.do("GET /api/console/alerts/deliveries");
      return listAt(log.json, "data").filter((each) => textAt(each, "kind") === "topup.paused");
    };
    await until("the pause is noticed", async () => (await told()).length > 0);
    expect(await told()).toHaveLength(1);
  });
});
