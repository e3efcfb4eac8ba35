import { expect } from "vitest";

import {
  startTestCheckout,
  type TestCheckout,
} from "../../../src/dev/test-checkout/start-test-checkout.ts";
import type { OrgId } from "../../../src/kernel/core/ids.ts";
import type { Role } from "../../../src/kernel/core/roles.ts";
import { systemClock } from "../../../src/kernel/core/time.ts";
import { until } from "../../support/books.ts";
import { chatBody } from "../../support/chat-bodies.ts";
import {
  startTestGateway,
  type TestGateway,
  type TestGatewayOptions,
  grantCredit,
} from "../../support/gateway.ts";
import { freePort } from "../../support/free-port.ts";
import { bearer, httpCall, textAt, type HttpAnswer } from "../../support/http-call.ts";
import { withResource } from "../../support/with-resource.ts";
import { CookieBrowser } from "../../support/oidc-browser.ts";
import {
  startOidcProvider,
  type ScriptedAccount,
  type ScriptedProvider,
} from "../../support/oidc-provider.ts";
import { brokenPromises } from "./closed-schema.ts";

/** A whole program, whose console signs people in with a scripted identity provider. */
export interface ProviderFixture {
  readonly url: string;
  readonly gateway: TestGateway;
  readonly provider: ScriptedProvider;
  /** Signs in with a new browser; a new e-mail address gets a new organization. */
  signIn(account: ScriptedAccount): Promise<Person>;
  /** A browser without a session. */
  stranger(): Person;
  /** The test checkout that sells credit, if the options ask for it. */
  readonly checkout: TestCheckout | undefined;
  /** Puts credit into an organization's wallet. */
  grant(person: Person, usd: string): Promise<void>;
  /** Makes a small chat call at the gateway with this key. */
  chat(key: string, model?: string): Promise<HttpAnswer>;
  close(): Promise<void>;
}

/** A user at a browser, asking the console's API as its pages do. */
export interface Person {
  readonly browser: CookieBrowser;
  readonly orgId: OrgId;
  /** Empty for a stranger. */
  readonly email: string;
  /** Fails if a field of the answer differs from the contract of the route. */
  ask(route: string, call?: Ask): Promise<HttpAnswer>;
  /** Calls a route that has to succeed. */
  do(route: string, call?: Ask): Promise<HttpAnswer>;
}

export interface Ask {
  readonly body?: unknown;
  /** Sent in addition to the cookie, instead of the headers that pages of the console send. */
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * Opens the fixture for the tests of the calling file and closes it after them. Options that depend
 * on a resource that opens before are given as a function.
 */
export function withProviderConsole(
  options: ProviderFixtureOptions | (() => ProviderFixtureOptions) = {},
): ProviderFixture {
  return withResource(() =>
    openProviderFixture(typeof options === "function" ? options() : options),
  );
}

/** Signs a person in at the fixture's console, for the tests of the calling file. */
export function withPerson(fixture: ProviderFixture, name: string): Person {
  return withResource(() => fixture.signIn(newcomer(name)));
}

interface ProviderFixtureOptions extends TestGatewayOptions {
  /** Default false. */
  readonly hasCheckout?: boolean;
}

export async function openProviderFixture(
  options: ProviderFixtureOptions = {},
): Promise<ProviderFixture> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const checkout = options.hasCheckout === true ? await openCheckout(url) : undefined;
  const provider = await startOidcProvider({ redirectUris: [`${url}/auth/callback`] });
  const gateway = await startTestGateway({
    ...options,
    settings: {
      consolePort: port,
      oidcIssuer: provider.issuer,
      oidcClientId: provider.clientId,
      oidcClientSecret: provider.clientSecret,
      oidcProviderName: "Scripted",
      ...(checkout === undefined ? {} : settingsOf(checkout)),
      ...options.settings,
    },
  });
  const personAt = (browser: CookieBrowser, orgId = "" as OrgId, email = ""): Person => {
    const ask: Person["ask"] = async (route, call = {}) => {
      const [method = "GET", path = "/"] = route.split(" ");
      const isSafe = method === "GET" || method === "HEAD";
      const answer = await httpCall(url + path, {
        method,
        headers: {
          cookie: browser.header(new URL(url)),
          ...(isSafe ? {} : { origin: url, "content-type": "application/json" }),
          ...call.headers,
        },
        ...(isSafe ? {} : { body: call.body ?? {} }),
      });
      const broken = brokenPromises(route, answer.status, answer.json);
      if (broken.length > 0) throw new Error(`not what the contract says: ${broken.join("\n")}`);
      return answer;
    };
    const doIt: Person["do"] = async (route, call) => {
      const answer = await ask(route, call);
      if (answer.status === 200) return answer;
      throw new Error(`${route} was answered with ${answer.status}: ${answer.text}`);
    };
    return { browser, orgId, email, ask, do: doIt };
  };
  return {
    url,
    gateway,
    provider,
    checkout,
    stranger: () => personAt(new CookieBrowser()),
    signIn: async (account) => {
      provider.signInAs(account);
      const browser = new CookieBrowser();
      const landing = await browser.open(`${url}/auth/start`, {
        stopAt: ({ origin, pathname }) => origin === url && !pathname.startsWith("/auth/"),
      });
      const nobody = personAt(browser);
      const session = await nobody.ask("GET /api/console/session");
      const state = textAt(session.json, "state");
      if (state === "signed_out") throw new Error(`not signed in: ${landing.way.join(" ")}`);
      return personAt(browser, textAt(session.json, "org.org_id") as OrgId, account.email ?? "");
    },
    grant: ({ orgId }, usd) => grantCredit(gateway.backend, orgId, usd),
    chat: (key, model = "test/a") =>
      httpCall(`${gateway.url}/v1/chat/completions`, {
        headers: bearer(key),
        body: chatBody(model),
      }),
    close: async () => {
      await gateway.close();
      await provider.close();
      await checkout?.close();
    },
  };
}

/** A verified person with an e-mail of their own. */
export function newcomer(name: string): ScriptedAccount {
  return { subject: name, email: `${name}@example.com`, emailVerified: true, name };
}

/** Makes a key in the person's organization. */
export async function newKey(
  person: Person,
  body: object = {},
): Promise<{ readonly id: string; readonly secret: string }> {
  const { json } = await person.do("POST /api/console/keys", { body: { name: "a key", ...body } });
  return { id: textAt(json, "key.key_id"), secret: textAt(json, "secret") };
}

/** Invites a person to the owner's organization, who accepts. */
export async function joinAs(owner: Person, person: Person, role: Role): Promise<void> {
  const body = { email: person.email, role };
  await owner.do("POST /api/console/invitations", { body });
  const { json } = await person.do("GET /api/console/received-invitations");
  const id = textAt(json, "invitations.0.invitation_id");
  await person.do(`POST /api/console/received-invitations/${id}/accept`);
}

/** An optimize search over two models, which sends six small calls. */
export const SEARCH = {
  name: "which",
  objective: "lowest_cost",
  models: ["test/a", "test/b"],
  prompts: ["one", "two", "three"],
  max_tokens: 8,
  budget_usd: "1",
};

/** Starts an optimize search, and returns it once it has ended. */
export async function runSearch(person: Pick<Person, "ask">, more: object = {}): Promise<unknown> {
  const body = { ...SEARCH, ...more };
  const started = await person.ask("POST /api/console/optimize", { body });
  expect(started.status, started.text).toBe(200);
  const id = textAt(started.json, "search_id");
  return await until("the search has ended", async () => {
    const { json } = await person.ask(`GET /api/console/optimize/${id}`);
    return textAt(json, "state") === "running" ? undefined : json;
  });
}

function openCheckout(consoleUrl: string): Promise<TestCheckout> {
  return startTestCheckout({
    clock: systemClock,
    webhookUrl: () => `${consoleUrl}/webhooks/stripe`,
  });
}

/** The settings by which the program finds the checkout: its keys and its address. */
function settingsOf(checkout: TestCheckout): NonNullable<TestGatewayOptions["settings"]> {
  return {
    stripeSecretKey: checkout.secretKey,
    stripeWebhookSecret: checkout.webhookSecret,
    stripeApiUrl: checkout.url,
  };
}
