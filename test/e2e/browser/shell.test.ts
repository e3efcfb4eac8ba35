import { existsSync, readFileSync, statSync } from "node:fs";
import { join, resolve } from "node:path";

import type { Response } from "playwright-core";
import { beforeAll, describe, expect, test } from "vitest";

import {
  expectAccessible,
  hasChromium,
  newVisitor,
  withBrowser,
  type Visitor,
} from "../../support/browser.ts";
import { pageShown, signIn } from "../../support/console-steps.ts";
import { withConsole } from "../../support/console-fixture.ts";

/** Bytes on the wire of a whole first page with its data, for a browser without a cache. */
const FIRST_PAGE_BYTES_MAX = 160 * 1024;
/** Bytes of the landing page's document alone, without the font and the picture. */
const LANDING_BYTES_MAX = 20 * 1024;
const FIRST_PAGE_ANSWERS_MAX = 15;
const FONT_BYTES_MAX = 60 * 1024;

const fixture = withConsole();
const browser = withBrowser();

describe.skipIf(!hasChromium)("every page", () => {
  let visitor: Visitor;

  beforeAll(async () => {
    visitor = await newVisitor(browser);
    await signIn(fixture, visitor, "shell@example.com");
  });

  async function open(path: string): Promise<void> {
    await visitor.page.goto(fixture.consoleUrl + path);
    await pageShown(visitor.page);
  }

  test("opens a palette that finds pages, models and keys by their names", async () => {
    const { page } = visitor;
    await open("/");
    await page.keyboard.press("Control+k");
    const field = page.getByRole("combobox", { name: "Search pages, keys, and models" });
    await field.waitFor();
    await page.getByRole("option", { name: "test/both" }).waitFor();
    await expectAccessible(page, "palette");
    await field.fill("usag");
    await page.getByRole("option", { name: "Usage", selected: true }).waitFor();
    await field.fill("test/b");
    // A selected option proves that the list is already filtered by this text.
    const found = page.getByRole("option", { name: "test/b", selected: true });
    await found.waitFor();
    const first = await found.textContent();
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowUp");
    await found.filter({ hasText: first ?? "" }).waitFor();
    await page.keyboard.press("Enter");
    await page.waitForURL(`${fixture.consoleUrl}/models/test/b*`);
    await field.waitFor({ state: "detached" });
    await page.keyboard.press("Control+k");
    await field.fill("trial");
    await page.getByRole("option", { name: "Trial key" }).click();
    await page.waitForURL(`${fixture.consoleUrl}/keys/*`);
    await page.keyboard.press("Control+k");
    await page.getByRole("option", { name: "Trial key" }).first().waitFor();
    await expect.poll(() => page.getByRole("listbox").innerText()).toMatch(/^Recent\nTrial key/);
    await field.fill("create key");
    await page.getByRole("option", { name: "Create key", selected: true }).waitFor();
    await page.keyboard.press("Enter");
    await page.getByRole("dialog", { name: "Create key" }).waitFor();
    expect(new URL(page.url()).pathname).toBe("/keys");
    await page.keyboard.press("Escape");
    await page.getByRole("dialog", { name: "Create key" }).waitFor({ state: "detached" });
    expect(new URL(page.url()).search).toBe("");
    await page.keyboard.press("Control+k");
    await field.fill("no such thing anywhere");
    await page.getByText("No results").waitFor();
    await page.keyboard.press("Escape");
    await field.waitFor({ state: "detached" });
  });

  test("opens its shortcuts on ?, a page on g and a letter, its search on /, and can switch these keys off", async () => {
    const { page } = visitor;
    await open("/keys");
    await page.keyboard.press("?");
    const dialog = page.getByRole("dialog", { name: "Keyboard shortcuts" });
    await dialog.waitFor();
    await expectAccessible(page, "help");
    const single = dialog.getByRole("switch", { name: "Single-key shortcuts" });
    await single.press("Space");
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    await page.keyboard.press("g");
    await page.keyboard.press("b");
    await page.keyboard.press("?");
    // The palette's shortcut has a modifier key, so it still works, unlike single-key shortcuts.
    await page.keyboard.press("Control+k");
    await page.getByRole("combobox", { name: "Search pages, keys, and models" }).waitFor();
    await expect.poll(() => dialog.count()).toBe(0);
    expect(new URL(page.url()).pathname).toBe("/keys");
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Keyboard shortcuts" }).first().click();
    await single.press("Space");
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    // A page opens on g and its letter.
    await page.keyboard.press("g");
    await page.keyboard.press("m");
    await page.waitForURL((url) => url.pathname === "/models");
    // The search of a page is there once the page is shown, which only a full load waits for.
    await open("/models");
    await page.keyboard.press("/");
    const focused = page.locator("input:focus");
    await focused.waitFor();
    // Letters typed into a field trigger no shortcut.
    await page.keyboard.type("gk?");
    await expect.poll(() => focused.inputValue()).toBe("gk?");
    expect(new URL(page.url()).pathname).toBe("/models");
  });

  test("has a link that skips the navigation", async () => {
    const { page } = visitor;
    await open("/keys");
    await page.keyboard.press("Tab");
    const skip = page.getByRole("link", { name: "Skip to content" });
    await page.locator("a:focus", { hasText: "Skip to content" }).waitFor();
    await expect.poll(() => skip.isVisible()).toBe(true);
    await page.keyboard.press("Enter");
    await page.locator("main:focus").waitFor();
    await page.keyboard.press("Tab");
    await page.locator("main :focus").waitFor();
  });

  test("says that an unknown address does not exist, and links to the overview", async () => {
    const { page } = visitor;
    const answer = await page.goto(`${fixture.consoleUrl}/no/such/page`);
    expect(answer?.status()).toBe(404);
    await page.getByRole("heading", { name: "Page not found", level: 1 }).waitFor();
    await page.getByRole("link", { name: "Go to overview" }).click();
    await page.waitForURL(`${fixture.consoleUrl}/`);
    await page.getByRole("heading", { name: "Overview", level: 1 }).waitFor();
  });

  test("has one line of notices, and can hide the notice of test money until tomorrow", async () => {
    const { page } = visitor;
    await open("/billing");
    await page.getByRole("link", { name: "Test balance: $0.00 available" }).waitFor();
    const notices = page.getByRole("region", { name: "Notices" });
    await expect.poll(() => notices.innerText()).not.toContain("Test mode");
    await notices.getByRole("button", { name: "and 1 more" }).click();
    await expect
      .poll(() => notices.innerText())
      .toContain("on one machine only. Test mode: credit bought here");
    await notices.getByRole("button", { name: "Hide this notice until tomorrow" }).click();
    await notices.getByText("Test mode").waitFor({ state: "detached" });
    await open("/billing");
    await page.getByRole("link", { name: "Test balance: $0.00 available" }).waitFor();
    await expect.poll(() => notices.getByRole("button").count()).toBe(0);
  });

  test("has no errors in the browser's console", () => {
    expect(visitor.complaints).toEqual([]);
  });

  test("draws its header and navigation before any script, and they keep their size when it loads", async () => {
    const early = await newVisitor(browser);
    await signIn(fixture, early, "early@example.com");
    const { page } = early;
    let goOn = (): void => undefined;
    const held = new Promise<void>((done) => {
      goOn = done;
    });
    await page.route("**/assets/*.js", async (route) => {
      await held;
      await route.continue();
    });
    await page.goto(`${fixture.consoleUrl}/`, { waitUntil: "commit" });
    const header = page.locator(".first > :first-child");
    await header.waitFor();
    const before = await header.boundingBox();
    const navigation = await page.locator(".first > :last-child").boundingBox();
    goOn();
    await pageShown(page);
    expect((await page.locator("header").first().boundingBox())?.height).toBe(before?.height);
    expect((await page.locator("#navigation").boundingBox())?.width).toBe(navigation?.width);
    expect(early.complaints).toEqual([]);
  });

  test("says that the browser is offline when a page cannot be loaded, and loads it later", async () => {
    const traveller = await newVisitor(browser);
    const { page } = traveller;
    await signIn(fixture, traveller, "offline@example.com");
    await page.goto(`${fixture.consoleUrl}/`);
    await pageShown(page);
    await page.context().setOffline(true);
    await page.getByRole("link", { name: "Optimize" }).first().click();
    await page.getByRole("heading", { name: "You are offline" }).waitFor();
    await expectAccessible(page, "offline");
    await page.context().setOffline(false);
    await page.getByRole("button", { name: "Reload" }).click();
    await page.getByRole("heading", { name: "Optimize", level: 1 }).waitFor();
  });
});

describe.skipIf(!hasChromium)("the first page that a visitor opens", () => {
  test("is a document of at most 20 KB with one font and one image, for / and /sign-in", async () => {
    for (const path of ["/", "/sign-in"]) {
      const { page } = await newVisitor(browser);
      const answers: Response[] = [];
      page.on("response", (response) => answers.push(response));
      await page.goto(fixture.consoleUrl + path, { waitUntil: "networkidle" });
      await page.getByRole("heading", { name: "Sign in" }).waitFor();
      const ours = (): readonly Response[] =>
        answers.filter((answer) => answer.url().startsWith(fixture.consoleUrl));
      await expect
        .poll(() =>
          ours()
            .map((answer) => answer.request().resourceType())
            .toSorted(),
        )
        .toEqual(["document", "font", "image"]);
      const sizes = await Promise.all(ours().map((answer) => answer.request().sizes()));
      expect(sizes[0]?.responseBodySize).toBeGreaterThan(1024);
      expect(sizes[0]?.responseBodySize).toBeLessThanOrEqual(LANDING_BYTES_MAX);
      expect(totalOf(sizes.map((each) => each.responseBodySize))).toBeLessThanOrEqual(
        FIRST_PAGE_BYTES_MAX,
      );
    }
  });

  test("takes at most 160 KB in at most 15 responses, its font included, for the overview", async () => {
    const signedIn = await newVisitor(browser);
    await signIn(fixture, signedIn, "light@example.com");
    // A second browser with the same cookies starts with an empty cache.
    const storageState = await signedIn.context.storageState();
    const page = await (await browser.newContext({ storageState })).newPage();
    const answers: Response[] = [];
    page.on("response", (response) => answers.push(response));
    await page.goto(`${fixture.consoleUrl}/`, { waitUntil: "networkidle" });
    await pageShown(page);
    const ofType = (type: string): readonly Response[] =>
      answers.filter((answer) => answer.request().resourceType() === type);
    const [font, ...more] = ofType("font");
    expect(more).toEqual([]);
    expect((await font?.request().sizes())?.responseBodySize).toBeLessThanOrEqual(FONT_BYTES_MAX);
    expect(ofType("script").length).toBeGreaterThan(1);
    expect(ofType("script").map((answer) => answer.headers()["content-encoding"])).toContain("br");
    expect(answers.length).toBeLessThanOrEqual(FIRST_PAGE_ANSWERS_MAX);
    const sizes = await Promise.all(answers.map((answer) => answer.request().sizes()));
    const total = totalOf(sizes.map((each) => each.responseBodySize));
    expect(total).toBeGreaterThan(20 * 1024);
    expect(total).toBeLessThanOrEqual(FIRST_PAGE_BYTES_MAX);
  });
});

/**
 * The compressed size of all files that the server sends before a page that a link opens is
 * complete: the page's own files and those that they import, without data. Each budget is a little
 * above the present size.
 */
describe("the files of a page that a link opens", () => {
  const folder = resolve(import.meta.dirname, "../../../dist/console");

  test.for([
    { page: "/", own: [], scriptKb: 92, styleKb: 16, files: 3 },
    { page: "/docs", own: ["docs-page"], scriptKb: 119, styleKb: 23, files: 12 },
    { page: "/docs/$page", own: ["guide-page"], scriptKb: 127, styleKb: 23, files: 13 },
    { page: "/keys", own: ["keys-page", "table-tools"], scriptKb: 121, styleKb: 22, files: 11 },
    { page: "/usage", own: ["usage-page", "table-tools"], scriptKb: 131, styleKb: 24, files: 13 },
    { page: "/models", own: ["models-page"], scriptKb: 140, styleKb: 23, files: 10 },
    { page: "/billing", own: ["billing-page"], scriptKb: 114, styleKb: 22, files: 10 },
    { page: "/playground", own: ["playground", "chat-tab"], scriptKb: 155, styleKb: 24, files: 13 },
  ])("are within their budgets: $page", ({ own, scriptKb, styleKb, files }) => {
    const found = filesOf(["first", ...own, ...(own.length === 0 ? [] : ["pages"])]);
    const kbOf = (suffix: string): number =>
      totalOf(found.filter((file) => file.endsWith(suffix)).map(sentBytes)) / 1024;
    expect(kbOf(".js")).toBeGreaterThan(scriptKb - 10);
    expect(kbOf(".js")).toBeLessThanOrEqual(scriptKb);
    expect(kbOf(".css")).toBeLessThanOrEqual(styleKb);
    expect(found.length).toBeLessThanOrEqual(files);
  });

  interface Chunk {
    readonly file: string;
    readonly name?: string;
    readonly css?: readonly string[];
    readonly imports?: readonly string[];
  }

  function filesOf(names: readonly string[]): readonly string[] {
    const text = readFileSync(join(folder, ".chunks.json"), "utf8");
    const chunks = new Map(Object.entries(JSON.parse(text) as Record<string, Chunk>));
    const found = new Set<string>();
    function add({ file, css = [], imports = [] }: Chunk): void {
      if (found.has(file)) return;
      for (const each of [file, ...css]) found.add(each);
      for (const name of imports) add(chunks.get(name) as Chunk);
    }
    for (const name of names) {
      const own = [...chunks.values()].find((each) => each.name === name);
      if (own === undefined) throw new Error(`the build has no file ${name}`);
      add(own);
    }
    return [...found];
  }

  function sentBytes(file: string): number {
    const path = join(folder, file);
    return statSync(existsSync(`${path}.br`) ? `${path}.br` : path).size;
  }
});

function totalOf(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0);
}
