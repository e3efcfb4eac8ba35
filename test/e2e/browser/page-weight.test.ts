import type { Page, Response } from "playwright-core";
import { describe, expect, test } from "vitest";

import { hasChromium, newVisitor, withBrowser } from "../../support/browser.ts";
import { pageShown, signIn } from "../../support/console-steps.ts";
import { withConsole } from "../../support/console-fixture.ts";

/** All of a first page, data too, as it comes over the wire to a browser without a cache. */
const FIRST_PAGE_BYTES_MAX = 160 * 1024;
/** Without a script, and not compressed. */
const LANDING_BYTES_MAX = 16 * 1024;
const FIRST_PAGE_ANSWERS_MAX = 14;

describe.skipIf(!hasChromium)("the first page that a visitor opens", () => {
  const fixture = withConsole();
  const browser = withBrowser();

  test("weighs at most 16 KB in one answer: signing in", async () => {
    for (const path of ["/", "/sign-in"]) {
      const { page } = await newVisitor(browser);
      const answers: Response[] = [];
      page.on("response", (response) => answers.push(response));
      await page.goto(fixture.consoleUrl + path, { waitUntil: "networkidle" });
      await page.getByRole("link", { name: /^Continue with / }).waitFor();
      const ours = answers.filter((answer) => answer.url().startsWith(fixture.consoleUrl));
      const sizes = await Promise.all(ours.map((answer) => answer.request().sizes()));
      expect({ path, answers: sizes.length }).toEqual({ path, answers: 1 });
      expect(sizes[0]?.responseBodySize).toBeGreaterThan(1024);
      expect(sizes[0]?.responseBodySize).toBeLessThanOrEqual(LANDING_BYTES_MAX);
    }
  });

  test("weighs at most 160 KB in at most 14 answers: the overview", async () => {
    const signedIn = await newVisitor(browser);
    await signIn(fixture, signedIn, "light@example.com");
    // Another browser with the same cookies: nothing is kept there yet.
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
    const scripts = answers.filter((answer) => answer.request().resourceType() === "script");
    expect(scripts.length).toBeGreaterThan(1);
    expect(scripts.map((answer) => answer.headers()["content-encoding"])).toContain("br");
    expect(answers.length).toBeLessThanOrEqual(FIRST_PAGE_ANSWERS_MAX);
    expect(total).toBeGreaterThan(20 * 1024);
    expect(total).toBeLessThanOrEqual(FIRST_PAGE_BYTES_MAX);
  }
});
