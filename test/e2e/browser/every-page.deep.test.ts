import { readFileSync } from "node:fs";
import { resolve } from "node:path";

import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";

import { until } from "../../support/books.ts";
import {
  ALL_RULES,
  COLOUR_RULES,
  endlessAnimations,
  expectAccessible,
  expectFits,
  hasChromium,
  newVisitor,
  showIn,
  takePicture,
  violationsOf,
  withBrowser,
  type AxeRules,
  type Theme,
  type Visitor,
} from "../../support/browser.ts";
import { chatBody } from "../../support/chat-bodies.ts";
import { ask, callGateway, newcomer, pageShown, signIn } from "../../support/console-steps.ts";
import { withConsole } from "../../support/console-fixture.ts";
import { textAt } from "../../support/http-call.ts";
import { runSql } from "../../support/sql.ts";
import { SEARCH } from "../console/provider-fixture.ts";

const ROUTER = resolve(import.meta.dirname, "../../../console/src/app/router.tsx");
const THEMES: readonly Theme[] = ["light", "dark"];
/** All widths in all themes, in an order in which each view changes only one of the two. */
const ALL_VIEWS: readonly View[] = [
  { width: 1280, theme: "light" },
  { width: 1280, theme: "dark" },
  { width: 1920, theme: "dark" },
  { width: 1920, theme: "light" },
  { width: 390, theme: "light" },
  { width: 390, theme: "dark" },
  { width: 360, theme: "dark" },
  { width: 360, theme: "light" },
];
/** Views for pages with little content, which can lack space only on a phone. */
const LITTLE_VIEWS: readonly View[] = [
  { width: 1280, theme: "light" },
  { width: 360, theme: "dark" },
];
/** Milliseconds; far more than a tour takes on a busy machine. */
const TOUR_TIMEOUT_MS = 600_000;

/** Every page of the router with its title; ids come from the account. */
const PAGES: Readonly<Record<string, string>> = {
  "/docs": "Docs",
  "/docs/reference": "API reference",
  "/docs/reference/$operation": "POST /v1/chat/completions",
  "/docs/$page": "Quick start",
  "/models": "Models",
  "/models/$": "test/a",
  "/models/compare": "Compare models",
  "/for-providers": "For providers",
  "/providers": "Providers",
  "/providers/$providerId": "prov-a",
  "/": "Overview",
  "/welcome": "Welcome",
  "/settings": "You",
  "/settings/organization": "Organization",
  "/settings/changes": "Changes",
  "/settings/alerts": "Alerts",
  "/settings/members": "Members",
  "/keys": "Keys",
  "/keys/$keyId": "ci",
  "/billing": "Billing",
  "/billing/return/$purchaseId": "Your purchase",
  "/billing/purchases/$purchaseId/receipt": "Receipt TEST-000001",
  "/billing/company": "Company data",
  "/billing/statements": "Statements",
  "/billing/statements/$month": `Statement of ${new Date().toLocaleDateString("en-US", {
    month: "long",
    year: "numeric",
    timeZone: "UTC",
  })}`,
  "/limits": "Limits",
  "/connections": "Connections",
  "/usage": "Usage",
  "/requests/$requestId": "Request failed",
  "/playground": "Playground",
  "/optimize": "Optimize",
  "/optimize/$searchId": "which",
  "/operator": "Operator",
  "/operator/organizations": "Organizations",
  "/operator/organizations/$orgId": "ann",
  "/operator/organizations/$orgId/requests/$requestId": "Request failed",
  "/operator/review": "Needs review",
  "/operator/listings": "Listings",
  "/operator/settlement": "Settlement",
  "/operator/changes": "Changes",
  "/operator/health": "Health",
};
/** The pages of customers; a person who is no operator sees no others. */
const CUSTOMER_PAGES = Object.keys(PAGES).filter((path) => !path.startsWith("/operator"));
/** Pages for people who still have to verify their address or choose an organization. */
const BARE = ["/verify", "/join"];

/** The query strings with which a page shows more content. */
const SEARCHES: Readonly<Record<string, string>> = {
  "/models/compare": "?models=test/a,test/b,test/both,no/such",
};

type Ids = Readonly<Record<string, string>>;

interface View {
  readonly width: number;
  readonly theme: Theme;
}

interface Tour {
  readonly name: string;
  readonly ids: Ids;
  readonly paths: readonly string[];
  readonly views: readonly View[];
}

const UNKNOWN_IDS: Ids = {
  $: "nothing",
  $page: "nothing",
  $providerId: "nothing",
  $keyId: "nothing",
  $purchaseId: "nothing",
  $month: "2001-01",
  $requestId: "01900000-0000-7000-8000-000000000000",
  $searchId: "nothing",
};
const CATALOG_IDS: Ids = {
  $month: new Date().toISOString().slice(0, 7),
  $: "test/a",
  $page: "quick-start",
  $operation: "post_v1_chat_completions",
  $providerId: "prov-a",
};

const encryptionKey = Buffer.alloc(32, 7).toString("base64");
const fixture = withConsole({
  settings: { encryptionKey, operators: "ann@example.com", listingsPublicFigures: true },
});
const browser = withBrowser();

test("the list of pages to check has every page of the router", () => {
  const listed = [...readFileSync(ROUTER, "utf8").matchAll(/\bpage\(\s*(\w+),\s*"([^"]+)"/g)];
  const paths = listed.map(([, parent, path]) => {
    if (parent !== "modelPages") return String(path);
    return path === "/" ? "/models" : `/models/${path}`;
  });
  expect(paths.length).toBeGreaterThan(15);
  expect(paths.sort()).toEqual([...Object.keys(PAGES), ...BARE].sort());
});

describe.skipIf(!hasChromium)("the checks of contrast, width and script errors", () => {
  test(
    "find no fault on the pages of an account that has used everything, in all widths and themes",
    async () => {
      const ann = await newVisitor(browser);
      await signIn(fixture, ann, "ann@example.com");
      const ids = { ...CATALOG_IDS, ...(await useEverything(ann)) };
      const tour = { name: "full", ids, paths: Object.keys(PAGES), views: ALL_VIEWS };
      expect(await faultsOn(ann, tour)).toEqual([]);
    },
    TOUR_TIMEOUT_MS,
  );

  test(
    "find no fault on the pages of a new account",
    async () => {
      const bob = await newcomer(fixture, browser, { name: "bob" });
      const paths = CUSTOMER_PAGES.filter((path) => !/\$[a-z]/.test(path));
      const tour = { name: "empty", ids: CATALOG_IDS, paths, views: LITTLE_VIEWS };
      expect(await faultsOn(bob, tour)).toEqual([]);
    },
    TOUR_TIMEOUT_MS,
  );

  test(
    "find no fault on the public pages and on the page of an unknown address",
    async () => {
      const eve = await newVisitor(browser);
      const paths = [
        "/sign-in",
        "/join",
        "/docs",
        "/docs/$page",
        "/docs/reference/$operation",
        "/models",
        "/models/$",
        "/models/compare",
        "/providers",
        "/no/such/page",
      ];
      const tour = { name: "stranger", ids: CATALOG_IDS, paths, views: LITTLE_VIEWS };
      expect(await faultsOn(eve, tour)).toEqual([]);
    },
    TOUR_TIMEOUT_MS,
  );

  test(
    "find no fault on a page whose id does not exist",
    async () => {
      const cat = await newcomer(fixture, browser, { name: "cat" });
      const paths = CUSTOMER_PAGES.filter((path) => path.includes("$"));
      const tour = { name: "unknown", ids: UNKNOWN_IDS, paths, views: LITTLE_VIEWS };
      expect(await faultsOn(cat, tour)).toEqual([]);
    },
    TOUR_TIMEOUT_MS,
  );

  test("find no fault on the landing page and the test checkout, in both themes", async () => {
    const { page, complaints } = await newcomer(fixture, browser, { name: "fay" });
    const { json } = await ask(fixture, page, "POST /api/console/purchases", { amount_usd: "25" });
    const checkout = textAt(json, "checkout_url");
    await expectReadable(page, { name: "checkout", address: checkout });
    await page.getByRole("button", { name: "Close without paying" }).click();
    await expectReadable(page, { name: "checkout-over", address: checkout });
    const stranger = await newVisitor(browser);
    const denied = "?reason=denied&request_id=01900000-0000-7000-8000-000000000000";
    for (const [name, path] of Object.entries({ landing: "/", denied: `/sign-in${denied}` })) {
      await expectReadable(stranger.page, { name, address: fixture.consoleUrl + path });
    }
    expect([...complaints, ...stranger.complaints]).toEqual([]);
  });

  test("find no fault on the pages of a sign-in link, in both themes", async () => {
    const { page, complaints } = await newVisitor(browser, { width: 360 });
    const link = await fixture.claimLink("dan@example.com");
    const anyone = await fixture.gateway.running.makeClaimLink();
    const pages: Readonly<Record<string, string>> = {
      claim: link,
      "claim-any": anyone ?? "",
      "claim-spent": `${fixture.consoleUrl}/auth/link?t=${"A".repeat(43)}`,
      unclaimed: `${fixture.consoleUrl}/auth/start`,
    };
    for (const [name, address] of Object.entries(pages)) {
      await expectReadable(page, { name: `link-${name}`, address });
    }
    await page.goto(anyone ?? "");
    await page.evaluate("document.querySelector('form').noValidate = true");
    await page.getByLabel("Email of the owner").fill("no address");
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByText("This is not a valid email address.").waitFor();
    for (const theme of THEMES) {
      await showIn(page, theme);
      await expectAccessible(page, `claim refused ${theme}`);
    }
    expect(complaints).toEqual([]);
  });
});

/** Checks a page that needs no script, at the widths of a phone and of a desktop. */
async function expectReadable(
  page: Page,
  { name, address }: { readonly name: string; readonly address: string },
): Promise<void> {
  for (const width of [360, 1280]) {
    await page.setViewportSize({ width, height: 900 });
    await page.goto(address);
    await page.locator("h1").waitFor();
    for (const theme of THEMES) {
      await showIn(page, theme);
      await expectAccessible(page, `${name} ${theme} ${width}`);
      await expectFits(page);
      await takePicture(page, `every-page-${name}-${theme}-${width}`);
    }
  }
}

/** Writes the sums of 20 days with calls; one day has hours without a successful call. */
async function sumUpDays(orgId: string): Promise<void> {
  const figures =
    "10, 9, 1, 255, case when day = 3 then 15 else 255 end, 9, 900, 9000, '{3}', '{9}'";
  const days = "generate_series(1, 20) as day";
  const date = "(now() at time zone 'utc')::date - day";
  await runSql(
    fixture.gateway,
    `insert into listing_day_sum
      select $1, ${date}, 'prov-a', 'test/a', ${figures} from ${days}`,
    [orgId],
  );
  await runSql(
    fixture.gateway,
    `insert into listing_public_day
      select 'prov-a', 'test/a', ${date}, 299, 1, 255, 255, 0, 0, 0, '{}', '{}' from ${days}`,
    [],
  );
}

/** Makes everything that a person can have in the console; returns ids by router parameter. */
async function useEverything(ann: Visitor): Promise<Ids> {
  const post = async (route: string, body: object = {}): Promise<unknown> => {
    const { status, json } = await ask(fixture, ann.page, `POST ${route}`, body);
    expect({ route, status }).toEqual({ route, status: 200 });
    return json;
  };
  const made = await post("/api/console/keys", { name: "ci", cap_usd: "50" });
  const key = textAt(made, "secret");
  const bought = await post("/api/console/purchases", { amount_usd: "25" });
  const pay = `${textAt(bought, "checkout_url")}/pay`;
  expect((await fetch(pay, { method: "POST", redirect: "manual" })).status).toBe(303);
  const purchaseId = textAt(bought, "purchase.purchase_id");
  await until("the purchase is paid", async () => {
    const { json } = await ask(fixture, ann.page, `GET /api/console/purchases/${purchaseId}`);
    return textAt(json, "status") === "paid";
  });
  await post("/api/console/connections", {
    provider: "prov-a",
    name: "ours",
    provider_key: "sk-own-0123456789",
  });
  await post("/api/admission-limits", { scope: "org", rpm: 200 });
  await post("/api/console/invitations", { email: "guest@example.com", role: "viewer" });
  await callGateway(fixture, key);
  await callGateway(fixture, key, chatBody("test/both", failing("[[fault:status:500]]")));
  await post("/playground/v1/chat/completions", chatBody("test/a"));
  const search = await post("/api/console/optimize", SEARCH);
  const searchId = textAt(search, "search_id");
  await until("the search has ended", async () => {
    const { json } = await ask(fixture, ann.page, `GET /api/console/optimize/${searchId}`);
    return textAt(json, "state") !== "running";
  });
  const { json: session } = await ask(fixture, ann.page, "GET /api/console/session");
  const orgId = textAt(session, "org.org_id");
  await sumUpDays(orgId);
  const failed = await callGateway(
    fixture,
    key,
    chatBody("test/a", failing("[[fault:status:500]]")),
  );
  return {
    $keyId: textAt(made, "key.key_id"),
    $purchaseId: purchaseId,
    $requestId: String(failed.headers["x-request-id"]),
    $searchId: searchId,
    $orgId: orgId,
  };
}

function failing(fault: string): object {
  return { messages: [{ role: "user", content: `${fault} Hello` }] };
}

/** Collects all faults of these pages, so that one run reports them all. */
async function faultsOn(visitor: Visitor, tour: Tour): Promise<readonly string[]> {
  const { page, complaints } = visitor;
  const faults: string[] = [];
  for (const path of tour.paths) {
    const address = path.replaceAll(/\$\w*/g, (name) => tour.ids[name] ?? name);
    const search = tour.name === "empty" ? "" : (SEARCHES[path] ?? "");
    await page.goto(fixture.consoleUrl + address + search);
    let widthBefore = 0;
    for (const { width, theme } of tour.views) {
      const where = `${tour.name} ${address} at ${width} px, ${theme}`;
      await page.setViewportSize({ width, height: 900 });
      await showIn(page, theme);
      await pageShown(page);
      const title = await titleOf(page);
      if (tour.name === "full" && title !== PAGES[path]) faults.push(`${where}: is "${title}"`);
      // A theme changes colours and nothing else, so the other rules have one result per width.
      const rules = width === widthBefore ? COLOUR_RULES : ALL_RULES;
      faults.push(...(await faultsOf(page, rules)).map((fault) => `${where}: ${fault}`));
      const picture = `${tour.name}${path.replaceAll(/[^a-zA-Z]+/g, "-")}-${width}-${theme}`;
      await takePicture(page, `every-page-${picture}`);
      widthBefore = width;
    }
  }
  return [...faults, ...complaints];
}

async function titleOf(page: Page): Promise<string> {
  return (await page.locator("h1").first().innerText()).trim();
}

/** Error texts on the page, accessibility violations, overflow and endless animations. */
async function faultsOf(page: Page, rules: AxeRules): Promise<readonly string[]> {
  const faults = await page.getByText(/^(This page crashed|Something went wrong)$/).allInnerTexts();
  faults.push(...(await violationsOf(page, rules)));
  await expectFits(page).catch(() => faults.push("wider than the window"));
  const moving = await endlessAnimations(page);
  faults.push(...moving.map((name) => `moves without end: ${name}`));
  return faults;
}
