import { beforeAll, describe, expect, test } from "vitest";

import { until } from "../../support/books.ts";
import { at, listAt, textAt } from "../../support/http-call.ts";
import { startMailServer } from "../../support/mail-server.ts";
import { withResource } from "../../support/with-resource.ts";
import { newcomer, openProviderFixture, type Person } from "./provider-fixture.ts";

const PASSWORD = "smtp-password-0123";
const mail = withResource(
  () => startMailServer(PASSWORD),
  (server) => server.close(),
);
const fixture = withResource(() =>
  openProviderFixture({
    settings: {
      smtpHost: "127.0.0.1",
      smtpPort: mail.port,
      smtpSecurity: "none",
      smtpUser: "alerts",
      smtpPassword: PASSWORD,
      smtpFrom: "Token Market <alerts@example.com>",
    },
  }),
);
const ALERTS = "/api/console/alerts";
let ann: Person;

beforeAll(async () => {
  ann = await fixture.signIn(newcomer("ann"));
});

describe("the rules of alerts", () => {
  test("change field by field, what is left out stays, and the console warns by them", async () => {
    const first = { balance_below_usd: "5", cap_percents: [80, 50] };
    await ann.do(`PATCH ${ALERTS}`, { body: first });
    await ann.do(`PATCH ${ALERTS}`, { body: { purchases: true } });
    const { json } = await ann.do(`GET ${ALERTS}`);
    expect(at(json, "rules")).toEqual({
      balance_below_usd: "5.000000",
      cap_percents: [50, 80],
      purchases: true,
      restrictions: true,
      key_expiry: true,
      provider_trouble: true,
      balance_follows: false,
    });
    await fixture.grant(ann, "4.50");
    const seen = await ann.do("GET /api/console/session");
    expect(listAt(seen.json, "notices")).toContainEqual(
      expect.objectContaining({
        kind: "low_balance",
        text: "Low balance: $4.50 is below your threshold of $5.00.",
      }),
    );
    await ann.do(`PATCH ${ALERTS}`, { body: { balance_below_usd: null } });
    const after = await ann.do(`GET ${ALERTS}`);
    expect(at(after.json, "rules.balance_below_usd")).toBeNull();
  });

  test.each([
    ["a balance that is no money", { balance_below_usd: "five" }],
    ["no percent of a cap", { cap_percents: [0] }],
    ["more than all of a cap", { cap_percents: [101] }],
    ["more thresholds than five", { cap_percents: [10, 20, 30, 40, 50, 60] }],
    ["a field that there is not", { every_request: true }],
  ])("are refused with %s", async (_what, body) => {
    expect((await ann.ask(`PATCH ${ALERTS}`, { body })).status).toBe(400);
  });
});

describe("destinations of alerts", () => {
  test("are the caller's own address, once; a test arrives there and is in the log", async () => {
    const bob = await fixture.signIn(newcomer("bob"));
    const body = { channel: "email" };
    // There from the first sign-in on; one that was removed can be added again.
    const { json: alerts } = await bob.do(`GET ${ALERTS}`);
    const [first] = listAt(alerts, "destinations");
    await bob.do(`POST ${ALERTS}/destinations/${textAt(first, "destination_id")}/remove`);
    const added = await bob.do(`POST ${ALERTS}/destinations`, { body });
    expect(added.json).toMatchObject({ address: "bob@example.com", failing_since: null });
    const again = await bob.ask(`POST ${ALERTS}/destinations`, { body });
    expect([again.status, at(again.json, "error.message")]).toEqual([
      409,
      "alerts already go to this address; change that destination instead",
    ]);
    const other = await bob.ask(`POST ${ALERTS}/destinations`, {
      body: { ...body, address: "ceo@example.com" },
    });
    expect(other.status).toBe(400);

    const id = textAt(added.json, "destination_id");
    await bob.do(`POST ${ALERTS}/destinations/${id}/test`);
    await until("the test alert is delivered", async () => {
      const { json } = await bob.do(`GET ${ALERTS}/deliveries`);
      return at(listAt(json, "data")[0], "state") === "delivered";
    });
    const mails = mail.received.filter(({ to }) => to.includes("bob@example.com"));
    expect(mails.map(({ to }) => to)).toEqual([["bob@example.com"]]);
    expect(mails[0]?.source).toContain("Subject: =?UTF-8?Q?Test_alert");

    await bob.do(`POST ${ALERTS}/destinations/${id}/remove`);
    const gone = await bob.ask(`POST ${ALERTS}/destinations/${id}/test`);
    expect(gone.status).toBe(404);
  });

  test("are not those of an address that was never verified", async () => {
    const eve = await fixture.signIn({ ...newcomer("eve"), emailVerified: false });
    const refused = await eve.ask(`POST ${ALERTS}/destinations`, { body: { channel: "email" } });
    expect(refused.status).toBe(403);
  });
});
