import { existsSync, readFileSync, statSync } from "node:fs";
import { join, resolve } from "node:path";

import type { Page, Response } from "playwright-core";
import { describe, expect, test } from "vitest";

import { hasChromium, newVisitor, withBrowser } from "../../support/browser.ts";
import { pageShown, signIn } from "../../support/console-steps.ts";
import { withConsole } from "../../support/console-fixture.ts";

/** Bytes on the wire of a whole first page with its data, for a browser without a cache. */
const FIRST_PAGE_BYTES_MAX = 160 * 1024;
/** Uncompressed bytes, without the font and the picture. */
const LANDING_BYTES_MAX = 20 * 1024;
const FIRST_PAGE_ANSWERS_MAX = 15;
const FONT_BYTES_MAX = 60 * 1024;

describe.skipIf(!hasChromium)("the first page that a visitor opens", () => {
  const fixture = withConsole();
  const browser = withBrowser();

  test("weighs at most 20 KB with a font and a picture, to sign in", async () => {
    for (const path of ["/", "/sign-in"]) {
      const { page } = await newVisitor(browser);
      const answers: Response[] = [];
      page.on("response", (response) => answers.push(response));
      await page.goto(fixture.consoleUrl + path, { waitUntil: "networkidle" });
      await page.getByRole("heading", { name: "Sign in" }).waitFor();
      const ours = answers.filter((answer) => answer.url().startsWith(fixture.consoleUrl));
      const sizes = await Promise.all(ours.map((answer) => answer.request().sizes()));
      expect(ours.map((answer) => answer.request().resourceType()).toSorted()).toEqual([
        "document",
        "font",
        "image",
      ]);
      expect(sizes[0]?.responseBodySize).toBeGreaterThan(1024);
      expect(sizes[0]?.responseBodySize).toBeLessThanOrEqual(LANDING_BYTES_MAX);
      expect(totalOf(sizes.map((each) => each.responseBodySize))).toBeLessThanOrEqual(
        FIRST_PAGE_BYTES_MAX,
      );
    }
  });

  test("weighs at most 160 KB in at most 15 answers with its font, for the overview", async () => {
    const signedIn = await newVisitor(browser);
    await signIn(fixture, signedIn, "light@example.com");
    // Another browser with the same cookies has an empty cache.
    const storageState = await signedIn.context.storageState();
    const page = await (await browser.newContext({ storageState })).newPage();
    await expectLight(page, "/");
  });

  async function expectLight(page: Page, path: string): Promise<void> {
    const answers: Response[] = [];
    page.on("response", (response) => answers.push(response));
    await page.goto(fixture.consoleUrl + path, { waitUntil: "networkidle" });
    await pageShown(page);
    expect(new URL(page.url()).pathname).toBe(path);
    const sizes = await Promise.all(answers.map((answer) => answer.request().sizes()));
    const total = sizes.reduce((sum, each) => sum + each.responseBodySize, 0);
    const fonts = answers.filter((answer) => answer.request().resourceType() === "font");
    expect(fonts).toHaveLength(1);
    const fontBytes = sizes[answers.indexOf(fonts[0] as Response)]?.responseBodySize;
    expect(fontBytes).toBeLessThanOrEqual(FONT_BYTES_MAX);
    const scripts = answers.filter((answer) => answer.request().resourceType() === "script");
    expect(scripts.length).toBeGreaterThan(1);
    expect(scripts.map((answer) => answer.headers()["content-encoding"])).toContain("br");
    expect(answers.length).toBeLessThanOrEqual(FIRST_PAGE_ANSWERS_MAX);
    expect(total).toBeGreaterThan(20 * 1024);
    expect(total).toBeLessThanOrEqual(FIRST_PAGE_BYTES_MAX);
  }
});

/**
 * The size of everything that the server sends, compressed, before a page of a link is whole: its
 * own file and those that this one imports. Each budget is a little above what the page weighs now;
 * data comes on top.
 */
describe("the files of a page that a link opens", () => {
  const folder = resolve(import.meta.dirname, "../../../dist/console");

  test.for([
    { page: "/", own: [], scriptKb: 92, styleKb: 16, files: 3 },
    { page: "/docs", own: ["docs-page"], scriptKb: 119, styleKb: 23, files: 12 },
    { page: "/docs/$page", own: ["guide-page"], scriptKb: 127, styleKb: 23, files: 13 },
    { page: "/keys", own: ["keys-page", "table-tools"], scriptKb: 121, styleKb: 22, files: 11 },
    { page: "/usage", own: ["usage-page", "table-tools"], scriptKb: 130, styleKb: 24, files: 13 },
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
