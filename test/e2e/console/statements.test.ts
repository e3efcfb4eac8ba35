import { createHash } from "node:crypto";

import { beforeAll, describe, expect, test } from "vitest";

import { chatBody } from "../../support/chat-bodies.ts";
import { at, bearer, httpCall, listAt, textAt } from "../../support/http-call.ts";
import { runSql } from "../../support/sql.ts";
import { withProviderConsole, withPerson } from "./provider-fixture.ts";

const fixture = withProviderConsole({
  settings: {
    issuerName: "Gateway GmbH",
    issuerAddress: "Hauptstr. 1 | 10115 Berlin | DE",
    issuerNote: "HRB 1234",
  },
});
const STATEMENTS = "/api/console/statements";
const MONTH = new Date().toISOString().slice(0, 7);
const COMPANY = {
  legal_name: "Acme Ltd",
  address_lines: ["1 Main St", "Floor 2"],
  city: "London",
  postal_code: "EC1A 1BB",
  country: "GB",
  tax_id: { type: "gb_vat", value: "GB 123 4567 89" },
  billing_email: "books@example.com",
  purchase_order: "PO-77",
};
const ann = withPerson(fixture, "ann");
const bob = withPerson(fixture, "bob");

beforeAll(async () => {
  await fixture.grant(ann, "10");
  const key = await ann.do("POST /api/console/keys", { body: { name: "ci" } });
  await httpCall(`${fixture.gateway.url}/v1/chat/completions`, {
    headers: bearer(textAt(key.json, "secret")),
    body: chatBody("test/a"),
  });
});

describe("company data", () => {
  test("are null at first, belong to one organization, and are in its change log", async () => {
    const first = await ann.do("GET /api/console/company");
    expect(at(first.json, "company")).toBeNull();
    const set = await ann.do("POST /api/console/company", { body: COMPANY });
    expect(at(set.json, "company")).toEqual(COMPANY);
    expect(at(set.json, "issuer")).toEqual({
      name: "Gateway GmbH",
      address_lines: ["Hauptstr. 1", "10115 Berlin", "DE"],
      tax_id: null,
      note: "HRB 1234",
      url: fixture.url,
    });
    expect(at((await bob.do("GET /api/console/company")).json, "company")).toBeNull();
    const changes = await ann.do("GET /api/console/changes?kind=company");
    expect(listAt(changes.json, "data")[0]).toMatchObject({ action: "company.change" });
    const others = await bob.do("GET /api/console/changes?kind=company");
    expect(listAt(others.json, "data")).toEqual([]);
  });

  test.each([
    ["legal_name", { legal_name: "   " }],
    ["tax_id.value", { tax_id: { type: "eu_vat", value: "US1" } }],
  ])("are refused with a wrong %s", async (field, change) => {
    const refused = await ann.ask("POST /api/console/company", { body: { ...COMPANY, ...change } });
    expect([refused.status, at(refused.json, "error.field")]).toEqual([400, field]);
  });
});

test("automatic top-up is not available without a payment provider", async () => {
  const { json } = await ann.do("GET /api/console/top-up");
  expect(json).toMatchObject({ is_available: false, card: null, rule: null });
  const rule = { is_on: true, below_usd: "10", amount_usd: "50", month_max_usd: "200" };
  expect((await ann.ask("PATCH /api/console/top-up", { body: rule })).status).toBe(409);
  for (const path of ["card", "card/remove"]) {
    expect((await ann.ask(`POST /api/console/top-up/${path}`)).status).toBe(409);
  }
});

describe("the statement of a month", () => {
  test("shows so far what was granted and used, to the micro-dollar, of its organization only", async () => {
    const { json } = await ann.do(`GET ${STATEMENTS}/${MONTH}`);
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
    const billing = await ann.do("GET /api/console/billing");
    expect(textAt(json, "closing_usd")).toBe(textAt(billing.json, "balance.settled_usd"));
    const others = await bob.do(`GET ${STATEMENTS}/${MONTH}`);
    expect(others.json).toMatchObject({ credits: [], models: [], closing_usd: "0.000000" });
  });

  test("is closed once when the month is over, and its file is the text that was hashed", async () => {
    const { backend } = fixture.gateway;
    const before = `${new Date().getUTCFullYear() - 1}-11`;
    await runSql(fixture.gateway, "update org set created_at = $2 where org_id = $1", [
      bob.orgId,
      `${before}-05T00:00:00Z`,
    ]);
    const list = await bob.do(`GET ${STATEMENTS}`);
    const months = listAt(list.json, "data");
    expect(months[0]).toMatchObject({ month: MONTH, state: "so_far", number: null });
    expect(months.at(-1)).toMatchObject({ month: before, state: "due", number: null });
    const first = await bob.do(`GET ${STATEMENTS}/${before}`);
    const number = textAt(first.json, "number");
    expect(number).toMatch(new RegExp(`^${before}-\\d{6}$`));
    const again = await bob.do(`GET ${STATEMENTS}/${before}`);
    expect(again.json).toEqual(first.json);
    const file = await bob.do(`GET ${STATEMENTS}/${before}/statement.json`);
    const hash = createHash("sha256").update(file.text).digest("hex");
    expect(hash).toBe(textAt(first.json, "sha256"));
    const table = await bob.do(`GET ${STATEMENTS}/${before}/statement.csv`);
    expect(table.text.split("\r\n")[0]).toBe(
      "line,name,count,amount_usd,input_tokens,output_tokens",
    );
    expect(await backend.statementStore.list(bob.orgId)).toHaveLength(months.length);
  });

  test.each(["2019-01", "2026-13"])("does not exist for %s", async (month) => {
    const refused = await ann.ask(`GET ${STATEMENTS}/${month}`);
    expect([400, 404]).toContain(refused.status);
  });
});
