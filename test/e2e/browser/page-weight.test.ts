import { gzipSync } from "node:zlib";

import type { Page, Response } from "playwright-core";
import { describe, expect, test } from "vitest";

import { hasChromium, newVisitor, withBrowser } from "../../support/browser.ts";
import { pageShown, signIn } from "../../support/console-steps.ts";
import { withConsole } from "../../support/console-fixture.ts";

/** Scripts and styles of a first page, as they come over the wire to a browser without a cache. */
const FIRST_PAGE_BYTES_MAX = 200 * 1024;

describe.skipIf(!hasChromium)("the first page that a visitor opens", () => {
  const fixture = withConsole();
  const browser = withBrowser();

  test("weighs at most 200 KB of script and style: signing in", async () => {
    const { page } = await newVisitor(browser);
    await expectLight(page, "/sign-in");
  });

  test("weighs at most 200 KB of script and style: the overview", async () => {
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
    const parts = answers.filter((answer) =>
      ["script", "stylesheet"].includes(answer.request().resourceType()),
    );
    expect(parts.length).toBeGreaterThan(1);
    const weights = await Promise.all(parts.map(weigh));
    const total = weights.reduce((sum, bytes) => sum + bytes, 0);
    expect(total).toBeGreaterThan(20 * 1024);
    expect(total).toBeLessThanOrEqual(FIRST_PAGE_BYTES_MAX);
  }
});

/** What was sent; where that was not compressed, what a proxy in front makes of it. */
async function weigh(response: Response): Promise<number> {
  if (response.headers()["content-encoding"] !== undefined) {
    return (await response.request().sizes()).responseBodySize;
  }
  return gzipSync(await response.body()).length;
}
