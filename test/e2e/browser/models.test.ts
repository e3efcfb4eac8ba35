import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";

import { until } from "../../support/books.ts";
import { expectAccessible, hasChromium, newVisitor, withBrowser } from "../../support/browser.ts";
import { pageShown } from "../../support/console-steps.ts";
import { readTable } from "../../support/console-tables.ts";
import { withConsole } from "../../support/console-fixture.ts";
import { simulatorManifest, textModel } from "../../support/gateway.ts";
import { httpCall, listAt } from "../../support/http-call.ts";

/** Newest first, equal dates by name, those without a date last and by name too. */
const NEWEST_FIRST = ["m/newest", "m/tie-a", "m/tie-b", "m/old", "m/none-a", "m/none-b"];
const HIDDEN = ["m/staged", "m/private"];
const STAGED = textModel("m/staged", { is_ready: false, released: "2026-06-01" });

const shown = simulatorManifest({
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
      // Public elsewhere: the model is shown, this listing of it never.
      textModel("m/newest", { released: "2026-07-01" }),
    ],
  }),
);

const fixture = withConsole({ manifests: [shown, stagedOnly, dedicated] });
const browser = withBrowser();

describe.skipIf(!hasChromium)("the models and providers pages", () => {
  test("private and staged listings stand in no public document", async () => {
    const models = await read("/api/models.json");
    expect(listAt(models.json, "models")).toEqual(NEWEST_FIRST);
    for (const path of ["/api/models.json", "/api/catalog.json", "/api/providers.json"]) {
      const { text, status } = await read(path);
      expect(status).toBe(200);
      for (const name of [...HIDDEN, "private-house", "staged-house"]) {
        expect(text, `${name} in ${path}`).not.toContain(name);
      }
    }
  });

  test("models stand newest first, equal dates by name, and without a date last", async () => {
    const { page, complaints } = await newVisitor(browser);
    await open(page, "/models");
    expect(await cardIds(page)).toEqual(NEWEST_FIRST);
    await expectAccessible(page, "the models page");
    await page.getByText("Table", { exact: true }).click();
    await page.waitForURL((url) => url.searchParams.get("view") === "table");
    const table = await readTable(page, "Models");
    const ids = table.column("Model").map((cell) => /m\/[a-z-]+$/m.exec(cell)?.[0]);
    expect(ids).toEqual(NEWEST_FIRST);
    await expectAccessible(page, "the models as a table");
    expect(complaints).toEqual([]);
  });

  test("a search and a filter stand in the address and survive a reload", async () => {
    const { page, complaints } = await newVisitor(browser);
    await open(page, "/models");
    await page.getByRole("searchbox", { name: "Search models and providers" }).fill("tie");
    await page.waitForURL((url) => url.searchParams.get("q") === "tie");
    await until("the cards follow", async () => (await cardIds(page)).length === 2);
    expect(await cardIds(page)).toEqual(["m/tie-a", "m/tie-b"]);
    await page.reload();
    await pageShown(page);
    expect(await cardIds(page)).toEqual(["m/tie-a", "m/tie-b"]);
    await page.getByRole("button", { name: "Clear filters" }).click();
    await page.getByLabel("Least context").fill("100k");
    await page.waitForURL((url) => url.searchParams.get("context") === "100k");
    await until("the cards follow", async () => (await cardIds(page)).length === 5);
    expect(await cardIds(page)).not.toContain("m/old");
    expect(complaints).toEqual([]);
  });

  test("a private or staged model is not found by its address, nor its provider", async () => {
    const { page, complaints } = await newVisitor(browser);
    for (const id of HIDDEN) {
      await open(page, `/models/${id}`);
      await page.getByText("No model with this id is listed.", { exact: false }).waitFor();
      expect(await page.getByRole("table").count()).toBe(0);
    }
    await expectAccessible(page, "a model that is not listed");
    await open(page, "/providers/private-house");
    await page.getByText("No provider with this id is listed.").waitFor();
    await open(page, "/models/m/newest");
    expect(await page.content()).not.toContain("private-house");
    expect(complaints).toEqual([]);
  });

  test("a model's page says which prices are defaulted and what is undeclared", async () => {
    const { page, complaints } = await newVisitor(browser);
    await open(page, "/models/m/newest");
    const table = await readTable(page, "Providers of this model, in routing order");
    expect(table.column("Provider")).toEqual(["open-house"]);
    expect(table.column("Input")).toEqual(["$1.00"]);
    for (const name of ["Cached input", "Cache write"]) {
      expect(table.column(name)[0], name).toMatch(/^\$1\.00\s*same as input$/);
    }
    expect(table.column("Reasoning")[0]).toMatch(/^\$10\.00\s*same as output$/);
    expect(table.column("Capacity")).toEqual(["undeclared"]);
    await expectAccessible(page, "a model's page");
    expect(complaints).toEqual([]);
  });

  test("the providers page says who is well in a word and links to policies", async () => {
    const { page, complaints } = await newVisitor(browser);
    await open(page, "/providers");
    const table = await readTable(page, "Providers");
    expect(table.column("Status now")).toEqual(["Healthy"]);
    expect(table.rows).toHaveLength(1);
    const link = page.getByRole("link", { name: "Privacy of open-house, in a new tab" });
    expect(await link.getAttribute("href")).toBe("https://example.com/privacy");
    expect(await link.getAttribute("rel")).toContain("noopener");
    await expectAccessible(page, "the providers page");
    expect(complaints).toEqual([]);
  });
});

function withPrivateListing(manifest: object): object {
  const { provider } = manifest as { readonly provider: object };
  return { ...manifest, provider: { ...provider, listing: "private" } };
}

function read(path: string): ReturnType<typeof httpCall> {
  return httpCall(fixture.consoleUrl + path);
}

async function open(page: Page, path: string): Promise<void> {
  await page.goto(fixture.consoleUrl + path);
  await pageShown(page);
}

async function cardIds(page: Page): Promise<readonly string[]> {
  return await page.getByRole("article").locator("code").allInnerTexts();
}
