import { describe, expect, test } from "vitest";

import { until } from "../../support/books.ts";
import { at, httpCall, type HttpAnswer, listAt, textAt } from "../../support/http-call.ts";
import { startMailServer } from "../../support/mail-server.ts";
import { runSql } from "../../support/sql.ts";
import { withResource } from "../../support/with-resource.ts";
import {
  joinAs,
  newcomer,
  type Person,
  withPerson,
  withProviderConsole,
} from "./provider-fixture.ts";

const mail = withResource(() => startMailServer());
const fixture = withProviderConsole(() => ({ settings: mail.settings }));
const ALERTS = "/api/console/alerts";
const ann = withPerson(fixture, "ann");

describe("the rules of alerts", () => {
  test("keep the fields that a change omits, and the balance threshold decides when the console warns", async () => {
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
    ["a balance threshold that is not an amount", { balance_below_usd: "five" }],
    ["a cap percentage above 100", { cap_percents: [101] }],
  ])("are refused with %s", async (_what, body) => {
    expect((await ann.ask(`PATCH ${ALERTS}`, { body })).status).toBe(400);
  });
});

describe("destinations of alerts", () => {
  test("include the caller's own address only once, and its test alert is delivered and logged", async () => {
    const bob = await fixture.signIn(newcomer("bob"));
    const body = { channel: "email" };
    // The first sign-in added the address. It can be added again after it was removed.
    const { json: alerts } = await bob.do(`GET ${ALERTS}`);
    const [first] = listAt(alerts, "destinations");
    await bob.do(`POST ${ALERTS}/destinations/${textAt(first, "destination_id")}/remove`);
    const added = await bob.do(`POST ${ALERTS}/destinations`, { body });
    expect(added.json).toMatchObject({ address: "bob@example.com", failing_since: null });
    const again = await bob.ask(`POST ${ALERTS}/destinations`, { body });
    expect([again.status, at(again.json, "error.message")]).toEqual([
      409,
      "this address gets alerts already, or has not confirmed them yet; change that destination, or " +
        "remove it and add it again",
    ]);
    const none = await bob.ask(`POST ${ALERTS}/destinations`, {
      body: { ...body, address: "ceo@example.com, cfo@example.com" },
    });
    expect([none.status, at(none.json, "error.field")]).toEqual([400, "address"]);

    const id = textAt(added.json, "destination_id");
    await bob.do(`POST ${ALERTS}/destinations/${id}/test`);
    await until("the test alert is delivered", async () => {
      const { json } = await bob.do(`GET ${ALERTS}/deliveries`);
      return at(listAt(json, "data")[0], "state") === "delivered";
    });
    const mails = mail.received.filter(({ to }) => to.includes("bob@example.com"));
    expect(mails.map(({ to }) => to)).toEqual([["bob@example.com"]]);
    expect(mails[0]?.source).toContain("Subject: =?UTF-8?Q?Test_alert");
    // A reader who is in several organizations must not act in another one.
    const text = mails[0]?.source.replaceAll("=\r\n", "").replaceAll("=3D", "=");
    expect(text).toContain(`Open alert settings: ${fixture.url}/settings/alerts?org=${bob.orgId}`);

    await bob.do(`POST ${ALERTS}/destinations/${id}/remove`);
    const gone = await bob.ask(`POST ${ALERTS}/destinations/${id}/test`);
    expect(gone.status).toBe(404);
  });
});

test("without an encryption key a webhook is refused, and the message names the missing key", async () => {
  expect(at((await ann.do(`GET ${ALERTS}`)).json, "can_webhook")).toBe(false);
  const body = { channel: "webhook", url: "https://example.com/hooks" };
  const refused = await ann.ask(`POST ${ALERTS}/destinations`, { body });
  expect([refused.status, at(refused.json, "error.message")]).toEqual([
    409,
    "webhooks are not available here; ask the operator to configure an encryption key",
  ]);
});

/** Waits for `count` e-mails to this address; returns the link of the newest. */
async function linkTo(address: string, count = 1): Promise<string> {
  const found = (): readonly string[] =>
    mail.received
      .filter(({ to }) => to.includes(address))
      .map(({ source }) => source.replaceAll("=\r\n", "").replaceAll("=3D", "="))
      .flatMap((text) => /\/alerts\/link\?t=[\w-]{43}/.exec(text)?.[0] ?? []);
  await until(`${address} has a link`, async () => found().length >= count);
  return fixture.url + (found().at(-1) ?? "");
}

async function addressOf(person: Person, address: string): Promise<unknown> {
  const { json } = await person.do(`GET ${ALERTS}`);
  return listAt(json, "destinations").find((each) => at(each, "address") === address);
}

function add(person: Person, address: string): Promise<HttpAnswer> {
  return person.ask(`POST ${ALERTS}/destinations`, { body: { channel: "email", address } });
}

describe("an alert address that is not a member's", () => {
  test("is enabled when its reader confirms it, and stays disabled after its reader unsubscribes", async () => {
    const carl = await fixture.signIn(newcomer("carl"));
    const added = await add(carl, "ops@acme.example");
    expect(added.json).toMatchObject({ disabled_reason: "unconfirmed", secret: null });
    const id = textAt(added.json, "destination_id");
    expect((await add(carl, "OPS@acme.example")).status).toBe(409);
    expect((await carl.ask(`POST ${ALERTS}/destinations/${id}/test`)).status).toBe(404);
    const patch = { body: { is_enabled: true } };
    expect((await carl.ask(`PATCH ${ALERTS}/destinations/${id}`, patch)).status).toBe(409);

    const confirm = await linkTo("ops@acme.example");
    // A mail scanner opens the link, which changes nothing.
    const page = await httpCall(confirm);
    expect([page.status, page.headers["referrer-policy"]]).toEqual([200, "strict-origin"]);
    expect(page.text).toContain("ops@acme.example");
    expect(at(await addressOf(carl, "ops@acme.example"), "disabled_at")).not.toBeNull();
    const done = await httpCall(confirm, { method: "POST" });
    expect([done.status, done.text.includes("go to ops@acme.example from now on")]).toEqual([
      200,
      true,
    ]);
    expect((await httpCall(confirm, { method: "POST" })).status).toBe(410);

    await carl.do(`POST ${ALERTS}/destinations/${id}/test`);
    const stop = await linkTo("ops@acme.example", 2);
    const alert = mail.received.findLast(({ to }) => to.includes("ops@acme.example"));
    expect(alert?.source).toMatch(/^List-Unsubscribe-Post: List-Unsubscribe=One-Click/m);
    expect((await httpCall(stop)).status).toBe(200);
    // A mail program's unsubscribe button posts this body.
    const form = { "content-type": "application/x-www-form-urlencoded" };
    const body = "List-Unsubscribe=One-Click";
    const stopped = await httpCall(stop, { method: "POST", headers: form, body });
    expect(stopped.status).toBe(200);
    expect(await addressOf(carl, "ops@acme.example")).toMatchObject({ disabled_reason: "stopped" });
    expect((await carl.ask(`PATCH ${ALERTS}/destinations/${id}`, patch)).status).toBe(409);
    expect((await httpCall(stop, { method: "POST" })).status).toBe(200);

    const { json } = await carl.do("GET /api/console/changes?kind=alert");
    const told = listAt(json, "data").map((each) => textAt(each, "says"));
    expect(told.slice(0, 3)).toEqual([
      "ended the alerts to o…@acme.example, whose reader stopped them",
      "began the alerts to o…@acme.example, whose reader confirmed it",
      "asked whether alerts may go to o…@acme.example",
    ]);
    expect(told.slice(3).toSorted()).toEqual([
      "sent alerts to c…@example.com",
      "turned the usual alerts on",
    ]);
  });

  test("has the same 410 page for a missing, a wrong and an expired confirmation link", async () => {
    const dora = await fixture.signIn(newcomer("dora"));
    await add(dora, "late@acme.example");
    const late = await linkTo("late@acme.example");
    await runSql(
      fixture.gateway,
      "update alert_destination set confirm_until = now() where address = 'late@acme.example'",
      [],
    );
    const { origin } = new URL(late);
    const links = [late, `${origin}/alerts/link`, `${origin}/alerts/link?t=${"a".repeat(43)}`];
    const pages = await Promise.all(
      links.flatMap((url) => [httpCall(url), httpCall(url, { method: "POST" })]),
    );
    expect(new Set(pages.map(({ status }) => status))).toEqual(new Set([410]));
    expect(new Set(pages.map(({ text }) => text)).size).toBe(1);
  });

  test("is confirmed for each organization separately, and gets at most three confirmation e-mails a day", async () => {
    const emil = await fixture.signIn(newcomer("emil"));
    const fred = await fixture.signIn(newcomer("fred"));
    const gina = await fixture.signIn(newcomer("gina"));
    const hans = await fixture.signIn(newcomer("hans"));
    for (const person of [emil, fred, gina]) {
      expect((await add(person, "cfo@acme.example")).json).toMatchObject({ secret: null });
    }
    const refused = await add(hans, "CFO@acme.example");
    expect([refused.status, refused.headers["retry-after"]]).toEqual([429, "3600"]);
    await httpCall(await linkTo("cfo@acme.example", 3), { method: "POST" });
    const states = await Promise.all(
      [emil, fred, gina].map(async (each) =>
        at(await addressOf(each, "cfo@acme.example"), "disabled_reason"),
      ),
    );
    expect(states).toEqual(["unconfirmed", "unconfirmed", null]);
  });

  test("can be confirmed no longer once the member who added it is removed, unlike that of another member", async () => {
    const jane = await fixture.signIn(newcomer("jane"));
    const karl = await fixture.signIn(newcomer("karl"));
    await joinAs(jane, karl, "billing");
    expect((await add(karl, "karl@home.example")).status).toBe(200);
    expect((await add(jane, "ops@jane.example")).status).toBe(200);
    const links = [await linkTo("karl@home.example"), await linkTo("ops@jane.example")];
    const { json } = await jane.do("GET /api/console/members");
    const member = listAt(json, "members").find((each) => at(each, "email") === karl.email);
    await jane.do(`POST /api/console/members/${textAt(member, "account_id")}/remove`);
    const answers = await Promise.all(links.map((url) => httpCall(url, { method: "POST" })));
    expect(answers.map(({ status }) => status)).toEqual([410, 200]);
    expect(await addressOf(jane, "karl@home.example")).toBeUndefined();
    expect(await addressOf(jane, "ops@jane.example")).toMatchObject({ disabled_reason: null });
  });

  test("is not stored when the mail server refuses the message", async () => {
    const ida = await fixture.signIn(newcomer("ida"));
    mail.refuseWith = 550;
    const refused = await add(ida, "nobody@acme.example");
    mail.refuseWith = undefined;
    expect([refused.status, at(refused.json, "error.field")]).toEqual([409, "address"]);
    expect(await addressOf(ida, "nobody@acme.example")).toBeUndefined();
  });
});

test("a network that requests more than 60 alert links a minute gets a 429 with retry-after", async () => {
  const guess = `${fixture.url}/alerts/link?t=${"b".repeat(43)}`;
  for (const method of ["GET", "POST"] as const) {
    // Twice the limit and one more, because the minute may end meanwhile.
    const sent = Array.from({ length: 121 }, () => httpCall(guess, { method }));
    const refused = (await Promise.all(sent)).find(({ status }) => status === 429);
    expect(refused?.headers["retry-after"]).toBe("60");
  }
});
