import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";

import { expectAccessible, hasChromium, newVisitor, withBrowser } from "../../support/browser.ts";
import { pageShown, pageOpener } from "../../support/console-steps.ts";
import { readTable } from "../../support/console-tables.ts";
import { withConsole } from "../../support/console-fixture.ts";
import { simulatorManifest, textModel } from "../../support/gateway.ts";

const HIDDEN = ["m/staged", "m/private"];
const STAGED = textModel("m/staged", { is_ready: false, released: "2026-06-01" });

const OPEN_HOUSE = simulatorManifest({
  provider: "open-house",
  dialect: "wire_a",
  models: [
    textModel("m/none-b"),
    textModel("m/tie-b", { released: "2026-03-01" }),
    textModel("m/old", { released: "2025-01-01", context_length: 8_000 }),
    textModel("m/none-a"),
    textModel("m/newest", { released: "2026-05-01" }),
    textModel("m/tie-a", { released: "2026-03-01" }),
    STAGED,
  ],
});
/** Prices by prompt size, announced prices, and their sources. */
const TERMS = {
  price_tiers: [{ above_prompt_tokens: 4_000, pricing: pricing("2", "20") }],
  price_changes: [{ from: "2098-01-01T00:00:00Z", pricing: pricing("3", "10") }],
  checked: { on: "2026-11-01", by: "page", url: "https://example.com/prices" },
};
const shown = { ...OPEN_HOUSE, listing_terms: { "m/old": TERMS } };
const stagedOnly = simulatorManifest({
  provider: "staged-house",
  dialect: "wire_a",
  models: [STAGED],
});
const dedicated = withPrivateListing(
  simulatorManifest({
    provider: "private-house",
    dialect: "wire_a",
    priority: 1,
    models: [
      textModel("m/private", { released: "2026-06-01" }),
      // The model is public at another provider, and this listing of it is never shown.
      textModel("m/newest", { released: "2026-07-01" }),
    ],
  }),
);

const fixture = withConsole({ manifests: [shown, stagedOnly, dedicated] });
const open = pageOpener(fixture);
const browser = withBrowser();

describe.skipIf(!hasChromium)("the models and providers pages", () => {
  test("strangers see prices, but no private or staged model or provider, and no costs", async () => {
    const { page, complaints } = await newVisitor(browser);
    for (const id of HIDDEN) {
      await open(page, `/models/${id}`);
      await page.getByText("Model not found.", { exact: false }).waitFor();
      await expect.poll(() => page.getByRole("table").count()).toBe(0);
    }
    await open(page, "/providers/private-house");
    await page.getByText("Provider not found.").waitFor();
    await open(page, "/models/m/newest");
    await choose(page, ["Cached input", "Cache write", "Reasoning", "Capacity"]);
    const table = await readTable(page, "Providers of this model, in routing order");
    expect(table.column("Provider")).toEqual(["open-house"]);
    expect(table.column("Cached input")[0]).toMatch(/^\$1\.00\s*same as input$/);
    expect(table.column("Reasoning")[0]).toMatch(/^\$10\.00\s*same as output$/);
    expect(table.column("Capacity")).toEqual(["Not declared"]);
    expect(await page.content()).not.toContain("private-house");
    await open(page, "/models/compare?models=m/newest,m/private");
    await page.getByText("Sign in to see what your requests", { exact: false }).waitFor();
    await page.getByText("No model with the id m/private is listed.", { exact: false }).waitFor();
    expect((await readTable(page, "Models side by side")).rows[0]?.slice(1)).toEqual(["$1.00"]);
    expect(complaints).toEqual([]);
  });

  test("a model's page has its prices by size, announced prices, and who checked them", async () => {
    const { page, complaints } = await newVisitor(browser);
    await open(page, "/models/m/old");
    await choose(page, ["Prices checked"]);
    const link = page.getByRole("link", { name: /^1 Nov 2026, the provider's page/ });
    await expect.poll(() => link.getAttribute("href")).toBe("https://example.com/prices");
    await expect.poll(() => link.getAttribute("rel")).toContain("noopener");
    const prices = await readTable(page, "Prices by prompt size and date");
    expect(prices.column("Prompts")).toEqual([
      "up to 4,000 tokens",
      "above 4,000 tokens",
      "Any size",
    ]);
    expect(prices.column("When")).toEqual(["now", "now", "from 1 Jan 2098"]);
    expect(prices.column("Input")).toEqual(["$1.00", "$2.00", "$3.00"]);
    await page.getByText("Price increase from 1 Jan 2098").waitFor();
    await open(page, "/providers/open-house");
    const served = await readTable(page, "Models of this provider");
    expect(served.column("Changes")).toContain(
      "Price depends on prompt size\nPrice increase from 1 Jan 2098",
    );
    await open(page, "/providers");
    expect((await readTable(page, "Providers")).column("Status now")).toEqual(["Healthy"]);
    expect(complaints).toEqual([]);
  });

  test("filters are kept in the address over a reload, and Back undoes one at a time", async () => {
    const { page, complaints } = await newVisitor(browser);
    await open(page, "/models");
    const search = (name: string) => new URL(page.url()).searchParams.get(name);
    await page.getByRole("searchbox", { name: "Search models and providers" }).fill("tie");
    await page.waitForURL((url) => url.searchParams.get("q") === "tie");
    await page.reload();
    await pageShown(page);
    await expect.poll(() => shownIds(page)).toEqual(["m/tie-a", "m/tie-b"]);
    await page.getByRole("button", { name: "Clear filters" }).click();
    await openFilters(page);
    await page.getByLabel("No prompt logging").check();
    await page.waitForURL((url) => url.searchParams.get("logging") === "none");
    const slider = page.getByRole("slider", { name: "Context" });
    for (const [place, context] of Object.entries({ 1: "8k", 2: "32k", 4: "128k" })) {
      await slider.fill(place);
      await page.waitForURL((url) => url.searchParams.get("context") === context);
    }
    await expect.poll(async () => (await shownIds(page)).length).toBe(5);
    await expect.poll(() => shownIds(page)).not.toContain("m/old");
    await page.getByRole("button", { name: "Context" }).click();
    await page.waitForURL((url) => url.searchParams.get("sort") === "context.asc");
    const contexts = page.getByRole("columnheader", { name: "Context" });
    await expect.poll(() => contexts.getAttribute("aria-sort")).toBe("ascending");
    await page.goBack();
    await expect
      .poll(() => ["sort", "context", "logging"].map(search))
      .toEqual([null, "128k", "none"]);
    await page.goBack();
    await page.waitForURL((url) => url.searchParams.get("context") === null);
    expect(search("logging")).toBe("none");
    await expect.poll(() => slider.inputValue()).toBe("0");
    expect(complaints).toEqual([]);
  });
});

function pricing(prompt: string, completion: string): readonly object[] {
  return Object.entries({ prompt, completion }).map(([type, cost]) => ({
    type,
    unit: "token",
    cost_usd_per_million: cost,
  }));
}

function withPrivateListing(manifest: object): object {
  const { provider } = manifest as { readonly provider: object };
  return { ...manifest, provider: { ...provider, listing: "private" } };
}

/** Shows further columns of the page's table. */
async function choose(page: Page, columns: readonly string[]): Promise<void> {
  await page.getByRole("button", { name: "Columns" }).click();
  for (const name of columns) await page.getByRole("checkbox", { name, exact: true }).check();
  await expectAccessible(page, "the choice of columns");
  await page.keyboard.press("Escape");
}

async function openFilters(page: Page): Promise<void> {
  await page.getByRole("button", { name: /^Filters/ }).click();
}

/** The ids of the shown models, which have no other names. */
async function shownIds(page: Page): Promise<readonly string[]> {
  return await page.getByRole("table", { name: "Models" }).getByRole("link").allInnerTexts();
}
