import type { Page } from "playwright-core";
import { beforeAll, describe, expect, test } from "vitest";

import { toVerdicts } from "../../../src/cli/conformance-run.ts";
import { failed, skipped, warned } from "../../../src/listing-tools/conformance/report/finding.ts";
import { until } from "../../support/books.ts";
import {
  expectAccessible,
  expectFits,
  hasChromium,
  newVisitor,
  withBrowser,
} from "../../support/browser.ts";
import { reportOf, sha256OfManifest, type FoundModel } from "../../support/conformance-reports.ts";
import { withConsole } from "../../support/console-fixture.ts";
import { newcomer, pageShown, pageOpener } from "../../support/console-steps.ts";
import { readTable } from "../../support/console-tables.ts";
import { simulatorManifest, textModel } from "../../support/gateway.ts";
import { testOperator } from "../../support/test-operator.ts";

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
/** Prices by prompt size, an announced price, and the source of the prices. */
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
const dedicated = simulatorManifest({
  provider: "private-house",
  dialect: "wire_a",
  priority: 1,
  isPrivate: true,
  models: [
    textModel("m/private", { released: "2026-06-01" }),
    // This model is public at another provider; its private listing here is never shown.
    textModel("m/newest", { released: "2026-07-01" }),
  ],
});

const DAY_MS = 86_400_000;
const LAB = simulatorManifest({
  provider: "lab-a",
  dialect: "wire_a",
  models: ["lab/chat-one", "lab/chat-two", "lab/chat-large-preview", "lab/new"].map((id) =>
    textModel(id),
  ),
});
const OTHER = simulatorManifest({
  provider: "lab-b",
  dialect: "wire_a",
  models: [textModel("lab/chat-two")],
});
const NOT_SUBSTITUTED = "C7 no silent substitution";

const fixture = withConsole({ manifests: [shown, stagedOnly, dedicated, LAB, OTHER] });
const open = pageOpener(fixture);
const browser = withBrowser();

describe.skipIf(!hasChromium)("the models and providers pages", () => {
  test("strangers see prices, but no private or staged model or provider, and no costs of their own", async () => {
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
    expect((await readTable(page, "Providers")).column("Status now")).toEqual([
      "Healthy",
      "Healthy",
      "Healthy",
    ]);
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
    await expect.poll(async () => (await shownIds(page)).length).toBe(9);
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

describe.skipIf(!hasChromium)("the findings of conformance runs", () => {
  beforeAll(async () => {
    const { url } = fixture.gateway.simulator;
    const substituted = failed(`an answer of ${url}/a/v1 names another model`, {
      sent: "lab/chat-two",
      reported: ["lab/chat-mini"],
    });
    const noTools = skipped("the listing declares no tools");
    const late = warned("3 of 10 requests had to be sent again", { p95_ms: 2_140 });
    const before: readonly FoundModel[] = [{ id: "lab/chat-one" }, { id: "lab/chat-two" }];
    await recordRun(12, before);
    await recordRun(2, [
      { id: "lab/chat-one", found: { C6: noTools } },
      { id: "lab/chat-two", found: { C6: noTools, C7: substituted, C12: late } },
      { id: "lab/chat-large-preview", found: { C6: noTools, C12: late } },
    ]);
    await fixture.gateway.backend.verdictStore.suspect(
      { providerId: "lab-a", modelId: "lab/chat-large-preview" },
      {
        answers: 240,
        substituted: 12,
        usageMissing: 3,
        usageImpossible: 0,
        boundExceeded: 0,
        wrongFinish: 0,
        unreadable: 0,
      },
    );
    await verdictsKnown();
  });

  test("are shown by listing and check on provider and model pages, and open with the keyboard", async () => {
    const { page, complaints } = await newcomer(fixture, browser, { name: "reader" });
    await page.setViewportSize({ width: 1920, height: 1080 });
    await open(page, "/providers");
    const providers = await readTable(page, "Providers");
    expect(providers.column("Verified listings")[0]).toMatch(/^1 of 4\s*1 failed\s*1 suspect$/);
    await page.setViewportSize({ width: 1280, height: 900 });
    await open(page, "/models/lab/chat-two");
    const listings = await readTable(page, "Providers of this model, in routing order");
    const [own = "", other] = listings.column("Verdict");
    expect(own).toMatch(/^Failed\s.*C7 no silent substitution: failed/s);
    expect(own).toContain("C12 latency and stability: warning");
    expect(other).toBe("Unchecked");
    expect(await page.locator("main dl").first().innerText()).toMatch(/Conformance\s+Failed/);
    await page.getByRole("link", { name: `${NOT_SUBSTITUTED}: failed` }).click();
    await page.waitForURL((url) => url.searchParams.get("check") === "C7");
    await pageShown(page);
    // The provider's health alone would suggest that all is well.
    await page.getByText("1 of 4 listings failed").waitFor();
    const table = page.getByRole("table", { name: "Checks of each listing" });
    await expect.poll(() => table.locator("thead").innerText()).toContain("C12");
    const verdicts = (await readTable(page, "Checks of each listing")).column("Verdict");
    expect(verdicts.map((cell) => cell.split(/\s/)[0])).toEqual([
      "Verified",
      "Verified",
      "Failed",
      "Unchecked",
    ]);
    expect(verdicts[0]).toContain("Suspect");
    expect(verdicts[1]).toContain(", until ");
    await page.getByRole("heading", { name: "lab/chat-two" }).waitFor();
    await page.getByText("an answer of [removed] names another model").first().waitFor();
    await page.getByText("lab/chat-mini").waitFor();
    await expectAccessible(page, "a failed listing");
    await expectFits(page);

    await table.getByRole("button", { name: "Details of lab/chat-large-preview" }).press("Enter");
    const note = page.getByRole("note", { name: "Suspect by live answers" });
    await expect
      .poll(() => note.innerText())
      .toMatch(/Of the latest answers:\s+5% named another model/);
    const mark = `${NOT_SUBSTITUTED}: failed, of lab/chat-two`;
    await table.getByRole("button", { name: mark }).press("Enter");
    await until("the check has the focus", async () =>
      (await page.locator("summary:focus").allInnerTexts()).join("").includes(NOT_SUBSTITUTED),
    );
    expect(new URL(page.url()).searchParams.get("check")).toBe("C7");
    await page.keyboard.press("Enter");
    await page.getByText("lab/chat-mini").waitFor({ state: "hidden" });

    await open(page, "/providers/lab-a?listing=lab/chat-two");
    const runs = await readTable(page, "Last conformance runs of lab/chat-two");
    expect(runs.column("Verdict")).toEqual(["Failed", "Passed"]);
    expect(runs.column("Findings")[0]).toContain(`${NOT_SUBSTITUTED}, failed: an answer`);
    expect(complaints).toEqual([]);
  });

  test("are hidden from a visitor, who is asked to sign in", async () => {
    const { page, complaints } = await newVisitor(browser);
    const asked: string[] = [];
    page.on("request", (request) => asked.push(new URL(request.url()).pathname));
    for (const path of ["/models/lab/chat-two", "/providers/lab-a"]) {
      await open(page, path);
      await expect.poll(() => page.locator("main").innerText()).not.toMatch(/C7|Verified|Suspect/);
    }
    await page.getByText("Sign in to see the results of conformance runs.").waitFor();
    expect(asked.filter((path) => path.startsWith("/api/console/verification"))).toEqual([]);
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

/** The ids of the shown models: their links show the ids, because they have no other names. */
async function shownIds(page: Page): Promise<readonly string[]> {
  return await page.getByRole("table", { name: "Models" }).getByRole("link").allInnerTexts();
}

async function recordRun(daysAgo: number, models: readonly FoundModel[]): Promise<void> {
  const { simulator, backend } = fixture.gateway;
  const manifestSha256 = sha256OfManifest(LAB, simulator.url);
  const startedAtMs = Date.now() - daysAgo * DAY_MS;
  const report = reportOf({ provider: "lab-a", manifestSha256, startedAtMs, models });
  await backend.verdictStore.record(toVerdicts(report, "import"), testOperator);
}

/** Waits until the console knows verdicts of other processes, which it reads every few seconds. */
async function verdictsKnown(): Promise<void> {
  const { page } = await newcomer(fixture, browser, { name: "waiting" });
  await until("the console knows the verdicts", async () => {
    const path = "/api/console/verification?provider=lab-a&model=lab/chat-large-preview";
    const answer = await page.request.get(fixture.consoleUrl + path);
    const text = await answer.text();
    return text.includes('"substituted_percent":5') && text.includes('"state":"verified_in_part"');
  });
}
