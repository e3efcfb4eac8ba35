import { describe, expect, test } from "vitest";

import { until } from "../../support/books.ts";
import { chatBody } from "../../support/chat-bodies.ts";
import { PROVIDER_KEY } from "../../support/gateway.ts";
import { bearer, httpCall, textAt, type HttpAnswer } from "../../support/http-call.ts";
import { CookieBrowser } from "../../support/oidc-browser.ts";
import {
  newcomer,
  runSearch,
  withProviderConsole,
  type Ask,
  type Person,
} from "./provider-fixture.ts";
import { everyStoredText } from "./every-stored-text.ts";
import { SecretBook } from "./secret-book.ts";

const ENCRYPTION_KEY = Buffer.from("an encryption key of 32 bytes ..").toString("base64");
const OWN_PROVIDER_KEY = "sk-own-provider-key-of-ann-0123456789";
const DESTINATIONS = "/api/console/alerts/destinations";
const UNKNOWN_KEY = `tm_vk_${"0f1e2d3c".repeat(6)}`;

describe("a run through an organization's actions at log level trace", () => {
  const book = new SecretBook();
  const fixture = withProviderConsole({
    hasCheckout: true,
    settings: {
      logLevel: "trace",
      encryptionKey: ENCRYPTION_KEY,
      optimizeCallGapMs: 0,
    },
  });
  let ann: Person;

  async function ask(route: string, call: Ask = {}): Promise<HttpAnswer> {
    const answer = await ann.ask(route, call);
    book.noteAnswer(route, answer);
    return answer;
  }

  async function callGateway(path: string, key: string, body?: unknown): Promise<HttpAnswer> {
    const answer = await httpCall(fixture.gateway.url + path, { headers: bearer(key), body });
    book.noteAnswer(`gateway ${path}`, answer);
    return answer;
  }

  function noteBrowser({ seen }: CookieBrowser): void {
    for (const { place, text } of seen) {
      if (place.startsWith(fixture.url)) book.note(place.replace(fixture.url, ""), text);
    }
  }

  async function noteDatabase(place: string): Promise<void> {
    const stored = await everyStoredText(fixture.gateway.config.databaseUrl);
    expect(stored).toContain("ann@example.com");
    book.note(place, stored);
  }

  test("leaves each secret in the one answer that shows it, and nowhere else", async () => {
    keepInstallation();
    await signIn();
    await breakSignIns();
    const key = await makeKeys();
    await buy();
    await ownKey(key);
    await addWebhook();
    await spend(key);
    await fail(key);
    await readEverything();
    noteBrowser(ann.browser);
    await noteDatabase("database at the end");
    const log = fixture.gateway.log();
    expect(log).toContain('"level":20');
    expect(log.split("\n").length).toBeGreaterThan(30);
    book.note("log", log);
    expect(book.found()).toEqual({
      "provider key": [],
      "encryption key": [],
      "Stripe key": [],
      "webhook secret": [],
      "client secret": [],
      "client credentials": [],
      "session token": ["/auth/callback"],
      "transaction token": ["/auth/start"],
      "callback code": [],
      "trial key": ["POST /api/console/reveal"],
      "created key": ["POST /api/console/keys"],
      "own provider key": [],
      "webhook signing secret": ["POST /api/console/alerts/destinations"],
      "rotated signing secret": [`POST ${DESTINATIONS}/:id/rotate`],
      "unknown key": [],
    });
  });

  function keepInstallation(): void {
    const { clientId, clientSecret } = fixture.provider;
    book.keep("provider key", PROVIDER_KEY);
    book.keep("encryption key", ENCRYPTION_KEY);
    book.keep("Stripe key", String(fixture.checkout?.secretKey));
    book.keep("webhook secret", String(fixture.checkout?.webhookSecret));
    book.keep("client secret", clientSecret);
    const credentials = Buffer.from(`${clientId}:${clientSecret}`).toString("base64");
    book.keep("client credentials", credentials);
  }

  async function signIn(): Promise<void> {
    ann = await fixture.signIn(newcomer("ann"));
    book.keep("session token", ann.browser.cookie("tm_session") ?? "");
    // The database contains the sealed trial key, which was not revealed yet.
    await noteDatabase("database after the sign-in");
  }

  /** Stops a sign-in at its callback, which then fails because the provider is down. */
  async function breakSignIns(): Promise<void> {
    const browser = new CookieBrowser();
    const stopAt = ({ pathname }: URL): boolean => pathname === "/auth/callback";
    const landing = await browser.open(`${fixture.url}/auth/start`, { stopAt });
    book.keep("transaction token", browser.cookie("tm_tx") ?? "");
    book.keep("callback code", landing.url.searchParams.get("code") ?? "");
    await noteDatabase("database amid a sign-in");
    fixture.provider.setDown(true);
    const failed = await browser.open(landing.url.href);
    fixture.provider.setDown(false);
    expect(failed.path).toMatch(/^\/sign-in\?reason=failed/);
    noteBrowser(browser);
  }

  async function makeKeys(): Promise<string> {
    const reveal = await ask("POST /api/console/reveal");
    book.keep("trial key", textAt(reveal.json, "key"));
    expect((await ask("POST /api/console/reveal/saved")).status).toBe(200);
    expect((await ask("POST /api/console/reveal")).status).toBe(410);
    const made = await ask("POST /api/console/keys", { body: { name: "ci" } });
    const secret = textAt(made.json, "secret");
    book.keep("created key", secret);
    await ask(`GET /api/console/keys/${textAt(made.json, "key.key_id")}`);
    return secret;
  }

  async function buy(): Promise<void> {
    const bought = await ask("POST /api/console/purchases", { body: { amount_usd: "10" } });
    const pay = await fetch(`${textAt(bought.json, "checkout_url")}/pay`, {
      method: "POST",
      redirect: "manual",
    });
    expect(pay.status).toBe(303);
    const id = textAt(bought.json, "purchase.purchase_id");
    await until("the purchase is paid", async () => {
      const { json } = await ask(`GET /api/console/purchases/${id}`);
      return textAt(json, "status") === "paid";
    });
    const forged = await httpCall(`${fixture.url}/webhooks/stripe`, {
      headers: { "stripe-signature": "t=1,v1=00" },
      body: { id: "evt_1" },
    });
    expect(forged.status).toBe(400);
    book.noteAnswer("POST /webhooks/stripe", forged);
  }

  async function ownKey(key: string): Promise<void> {
    book.keep("own provider key", OWN_PROVIDER_KEY);
    const body = { provider: "prov-b", name: "own", provider_key: OWN_PROVIDER_KEY };
    const unknown = await ask("POST /api/console/connections", {
      body: { ...body, provider: "nobody" },
    });
    expect(unknown.status).toBeGreaterThanOrEqual(400);
    const misspelt = await ask("POST /api/console/connections", {
      body: { ...body, provider_key: [OWN_PROVIDER_KEY] },
    });
    expect(misspelt.status).toBe(400);
    const made = await ask("POST /api/console/connections", { body });
    expect(made.status, made.text).toBe(200);
    const id = textAt(made.json, "connection_id");
    await ask(`POST /api/console/connections/${id}/test`);
    await callGateway("/v1/chat/completions", key, chatBody("test/b"));
    await noteDatabase("database with a connection");
    expect((await ask(`POST /api/console/connections/${id}/disable`)).status).toBe(200);
  }

  /** Adds a webhook whose failed delivery is logged. */
  async function addWebhook(): Promise<void> {
    const body = { channel: "webhook", url: "http://127.0.0.1:1/hooks" };
    const made = await ask(`POST ${DESTINATIONS}`, { body });
    book.keep("webhook signing secret", textAt(made.json, "secret"));
    const id = textAt(made.json, "destination_id");
    await ask(`POST ${DESTINATIONS}/${id}/test`);
    const rotated = await ann.ask(`POST ${DESTINATIONS}/${id}/rotate`);
    book.noteAnswer(`POST ${DESTINATIONS}/:id/rotate`, rotated);
    book.keep("rotated signing secret", textAt(rotated.json, "secret"));
    await until("a webhook was tried", async () => {
      const { text } = await ask("GET /api/console/alerts/deliveries");
      return text.includes("ECONNREFUSED");
    });
    await noteDatabase("database with a webhook");
  }

  async function spend(key: string): Promise<void> {
    const called = await callGateway("/v1/chat/completions", key, chatBody("test/a"));
    expect(called.status, called.text).toBe(200);
    const played = await ask("POST /playground/v1/chat/completions", { body: chatBody("test/a") });
    expect(played.status, played.text).toBe(200);
    await runSearch({ ask });
  }

  async function fail(key: string): Promise<void> {
    book.keep("unknown key", UNKNOWN_KEY);
    expect((await callGateway("/v1/models", UNKNOWN_KEY)).status).toBe(401);
    expect((await callGateway(`/v1/models?key=${key}`, "")).status).toBe(401);
    for (const status of [401, 429, 500]) {
      const messages = [{ role: "user", content: `[[fault:status:${status}]] Hello` }];
      const answer = await callGateway(
        "/v1/chat/completions",
        key,
        chatBody("test/a", { messages }),
      );
      expect(answer.status).toBeGreaterThanOrEqual(400);
    }
    await callGateway("/v1/chat/completions", key, `{"model": "${key}", `);
    await ask(`GET /api/console/keys/${UNKNOWN_KEY}`);
    await ask("GET /api/console/nothing", { headers: { cookie: `tm_session=${UNKNOWN_KEY}` } });
  }

  async function readEverything(): Promise<void> {
    const routes = [
      "GET /api/console/session",
      "GET /api/console/settings",
      "GET /api/console/export.json",
      "GET /api/console/keys",
      "GET /api/console/billing",
      "GET /api/console/connections",
      "GET /api/console/alerts",
      "GET /api/console/alerts/deliveries",
      "GET /api/console/changes",
      "GET /api/console/changes.csv",
      "GET /api/console/requests.csv",
      "GET /api/console/limits",
      "GET /api/catalog.json",
    ];
    for (const route of routes) expect((await ask(route)).status, route).toBe(200);
  }
});
