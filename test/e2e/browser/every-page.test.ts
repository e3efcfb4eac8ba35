import { readFileSync } from "node:fs";
import { resolve } from "node:path";

import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { until } from "../../support/books.ts";
import {
  expectAccessible,
  expectFits,
  hasChromium,
  launchBrowser,
  newVisitor,
  takePicture,
  type Theme,
  type Visitor,
} from "../../support/browser.ts";
import { chatBody } from "../../support/chat-bodies.ts";
import { ask, callGateway, pageShown, signIn } from "../../support/console-steps.ts";
import { openConsoleWorld, type ConsoleWorld } from "../../support/console-world.ts";
import { textAt } from "../../support/http-call.ts";

const ROUTER = resolve(import.meta.dirname, "../../../console/src/app/router.tsx");
const THEMES: readonly Theme[] = ["light", "dark"];
const WIDTHS = [1280, 360] as const;
/** What differs most from each other. */
const EXTREMES: readonly Look[] = [
  { width: 1280, theme: "light" },
  { width: 360, theme: "dark" },
];
/** A look at a page takes a second, and several on a busy machine. */
const TOUR_TIMEOUT_MS = 240_000;

/** Every page of the router, with what it is called; ids come from the account. */
const PAGES: Readonly<Record<string, string>> = {
  "/docs": "Docs",
  "/models": "Models",
  "/models/$": "test/a",
  "/providers": "Providers",
  "/providers/$providerId": "prov-a",
  "/": "Overview",
  "/welcome": "Welcome",
  "/settings": "Settings",
  "/keys": "Keys",
  "/keys/$keyId": "ci",
  "/billing": "Billing",
  "/billing/return/$purchaseId": "Your purchase",
  "/limits": "Limits",
  "/connections": "Connections",
  "/usage": "Usage",
  "/requests/$requestId": "Request",
  "/playground": "Playground",
  "/optimize": "Optimize",
  "/optimize/$searchId": "which",
};
/** Shown to people who are not, or not yet, signed in. */
const BARE = ["/sign-in", "/verify"];

type Ids = Readonly<Record<string, string>>;

interface Look {
  readonly width: number;
  readonly theme: Theme;
}

interface Tour {
  readonly name: string;
  readonly ids: Ids;
  readonly paths: readonly string[];
  readonly looks: readonly Look[];
}

const UNKNOWN_IDS: Ids = {
  $: "nothing",
  $providerId: "nothing",
  $keyId: "nothing",
  $purchaseId: "nothing",
  $requestId: "01900000-0000-7000-8000-000000000000",
  $searchId: "nothing",
};
const CATALOG_IDS: Ids = { $: "test/a", $providerId: "prov-a" };

let world: ConsoleWorld;
let browser: Browser;

test("every page of the router is looked at", () => {
  const listed = [...readFileSync(ROUTER, "utf8").matchAll(/\bpage\((\w+), "([^"]+)"/g)];
  const paths = listed.map(([, parent, path]) => {
    if (parent !== "modelPages") return String(path);
    return path === "/" ? "/models" : `/models/${path}`;
  });
  expect(paths.length).toBeGreaterThan(15);
  expect(paths.sort()).toEqual([...Object.keys(PAGES), ...BARE].sort());
});

describe.skipIf(!hasChromium)("readable, in its window, without complaints is every page", () => {
  beforeAll(async () => {
    const encryptionKey = Buffer.alloc(32, 7).toString("base64");
    world = await openConsoleWorld({ settings: { encryptionKey } });
    browser = await launchBrowser();
  });
  afterAll(async () => {
    await browser.close();
    await world.close();
  });

  test.each(WIDTHS)(
    "of an account that has used everything, at %i px, in both themes",
    async (width) => {
      const ann = await newVisitor(browser, { width });
      await signIn(world, ann, `ann-${width}@example.com`);
      const ids = { ...CATALOG_IDS, ...(await useEverything(ann)) };
      const looks = THEMES.map((theme) => ({ width, theme }));
      const tour = { name: "full", ids, paths: Object.keys(PAGES), looks };
      expect(await faultsOn(ann, tour)).toEqual([]);
    },
    TOUR_TIMEOUT_MS,
  );

  test(
    "of an account that has nothing yet",
    async () => {
      const bob = await newVisitor(browser);
      await signIn(world, bob, "bob@example.com");
      const paths = Object.keys(PAGES).filter((path) => !/\$[a-z]/.test(path));
      const tour = { name: "empty", ids: CATALOG_IDS, paths, looks: EXTREMES };
      expect(await faultsOn(bob, tour)).toEqual([]);
    },
    TOUR_TIMEOUT_MS,
  );

  test(
    "that is open to strangers, and one that does not exist",
    async () => {
      const eve = await newVisitor(browser);
      const paths = ["/sign-in", "/docs", "/models", "/models/$", "/providers", "/no/such/page"];
      const tour = { name: "stranger", ids: CATALOG_IDS, paths, looks: EXTREMES };
      expect(await faultsOn(eve, tour)).toEqual([]);
    },
    TOUR_TIMEOUT_MS,
  );

  test(
    "of an id that nothing has",
    async () => {
      const cat = await newVisitor(browser);
      await signIn(world, cat, "cat@example.com");
      const paths = Object.keys(PAGES).filter((path) => path.includes("$"));
      const tour = { name: "unknown", ids: UNKNOWN_IDS, paths, looks: EXTREMES };
      expect(await faultsOn(cat, tour)).toEqual([]);
    },
    TOUR_TIMEOUT_MS,
  );

  test.each(THEMES)("of the bundled issuer, %s: readable without a script", async (theme) => {
    const { page, complaints } = await newVisitor(browser, { theme, width: 360 });
    const link = await world.claimLink("dan@example.com");
    const anyone = await world.gateway.running.makeClaimLink();
    const pages: Readonly<Record<string, string>> = {
      claim: link,
      "claim-any": anyone ?? "",
      "claim-spent": `${world.consoleUrl}/local-idp/claim?t=${"A".repeat(43)}`,
      unclaimed: `${world.consoleUrl}/auth/start`,
    };
    for (const [name, address] of Object.entries(pages)) {
      await page.goto(address);
      await page.locator("h1").waitFor();
      await expectAccessible(page, `${name} ${theme}`);
      await expectFits(page);
      await takePicture(page, `every-page-issuer-${name}-${theme}`);
    }
    await page.goto(anyone ?? "");
    await page.evaluate("document.querySelector('form').noValidate = true");
    await page.getByLabel("E-mail of the owner").fill("no address");
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByText("This is no e-mail address.").waitFor();
    await expectAccessible(page, `claim refused ${theme}`);
    expect(complaints).toEqual([]);
  });
});

/** Everything that a person of the console can have; the ids of it by their names in the router. */
async function useEverything(ann: Visitor): Promise<Ids> {
  const post = async (route: string, body: object = {}): Promise<unknown> => {
    const { status, json } = await ask(world, ann.page, `POST ${route}`, body);
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
    const { json } = await ask(world, ann.page, `GET /api/console/purchases/${purchaseId}`);
    return textAt(json, "status") === "paid";
  });
  await post("/api/console/connections", {
    provider: "prov-a",
    name: "ours",
    provider_key: "sk-own-0123456789",
  });
  await post("/api/admission-limits", { scope: "org", rpm: 200 });
  await callGateway(world, key);
  await callGateway(world, key, chatBody("test/both", failing("[[fault:status:500]]")));
  await post("/playground/v1/chat/completions", chatBody("test/a"));
  const search = await post("/api/console/optimize", {
    name: "which",
    objective: "lowest_cost",
    models: ["test/a", "test/b"],
    prompts: ["one", "two", "three"],
    max_tokens: 8,
    budget_usd: "1",
  });
  const searchId = textAt(search, "search_id");
  await until("the search has ended", async () => {
    const { json } = await ask(world, ann.page, `GET /api/console/optimize/${searchId}`);
    return textAt(json, "state") !== "running";
  });
  const failed = await callGateway(world, key, chatBody("test/a", failing("[[fault:status:500]]")));
  return {
    $keyId: textAt(made, "key.key_id"),
    $purchaseId: purchaseId,
    $requestId: String(failed.headers["x-request-id"]),
    $searchId: searchId,
  };
}

function failing(fault: string): object {
  return { messages: [{ role: "user", content: `${fault} Hello` }] };
}

/** All faults of all pages are told at once: one run shows what there is to do. */
async function faultsOn(visitor: Visitor, tour: Tour): Promise<readonly string[]> {
  const { page, complaints } = visitor;
  const faults: string[] = [];
  for (const path of tour.paths) {
    const address = path.replaceAll(/\$\w*/g, (name) => tour.ids[name] ?? name);
    let shownAt = 0;
    for (const { width, theme } of tour.looks) {
      const where = `${tour.name} ${address} at ${width} px, ${theme}`;
      if (shownAt !== width) {
        await page.setViewportSize({ width, height: 900 });
        await page.goto(world.consoleUrl + address);
        await pageShown(page);
        shownAt = width;
      }
      await showIn(page, theme);
      const title = await titleOf(page);
      if (tour.name === "full" && title !== PAGES[path]) faults.push(`${where}: is "${title}"`);
      faults.push(...(await faultsOf(page, where)));
      const picture = `${tour.name}${path.replaceAll(/[^a-zA-Z]+/g, "-")}-${width}-${theme}`;
      await takePicture(page, `every-page-${picture}`);
    }
  }
  return [...faults, ...complaints];
}

async function titleOf(page: Page): Promise<string> {
  return (await page.locator("h1").first().innerText()).trim();
}

/** What a page says when it could not be drawn or filled, and what nobody can read of it. */
async function faultsOf(page: Page, where: string): Promise<readonly string[]> {
  const faults = await page.getByText(/^(This page failed|That did not work)$/).allInnerTexts();
  await expectAccessible(page, where).catch((fault: unknown) => {
    faults.push(JSON.stringify((fault as { actual?: unknown }).actual ?? String(fault)));
  });
  await expectFits(page).catch(() => faults.push("wider than the window"));
  return faults.map((fault) => `${where}: ${fault}`);
}

/** The page follows the system while nobody has chosen otherwise. */
async function showIn(page: Page, theme: Theme): Promise<void> {
  await page.emulateMedia({ colorScheme: theme });
  await page.locator(`html[data-mantine-color-scheme="${theme}"]`).waitFor();
}
