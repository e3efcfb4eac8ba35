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
  takePicture,
  withBrowser,
} from "../../support/browser.ts";
import { newcomer, pageShown, pageOpener } from "../../support/console-steps.ts";
import { withConsole } from "../../support/console-fixture.ts";
import { readTable } from "../../support/console-tables.ts";
import { reportOf, sha256OfManifest, type FoundModel } from "../../support/conformance-reports.ts";
import { PROVIDER_KEY, simulatorManifest, textModel } from "../../support/gateway.ts";
import { testOperator } from "../../support/test-operator.ts";

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

const fixture = withConsole({ manifests: [LAB, OTHER] });
const open = pageOpener(fixture);
const browser = withBrowser();

describe.skipIf(!hasChromium)("the findings of conformance runs", () => {
  beforeAll(async () => {
    const { url } = fixture.gateway.simulator;
    const substituted = failed(`an answer of ${url}/a/v1 names another model`, {
      sent: "lab/chat-two",
      reported: ["lab/chat-mini"],
      header: `Bearer ${PROVIDER_KEY}`,
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

  test("are on the pages of providers and models by listing and check, and open with the keyboard", async () => {
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
    // The provider's health alone would say that all is well.
    await page.getByText("1 of 4 listings failed").waitFor();
    await page.getByRole("table", { name: "Checks of each listing" }).waitFor();
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
    await expectNoSecret(page);
    await takePicture(page, "conformance-failed");

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
    expect(runs.column("Findings")[1]).toBe("nothing");
    expect(runs.column("From")).toEqual(["a signed report", "a signed report"]);
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

async function expectNoSecret(page: Page): Promise<void> {
  const { url } = fixture.gateway.simulator;
  const content = await page.content();
  for (const secret of [PROVIDER_KEY, url, new URL(url).host]) {
    expect(content).not.toContain(secret);
  }
}

async function recordRun(daysAgo: number, models: readonly FoundModel[]): Promise<void> {
  const { simulator, backend } = fixture.gateway;
  const manifestSha256 = sha256OfManifest(LAB, simulator.url);
  const startedAtMs = Date.now() - daysAgo * DAY_MS;
  const report = reportOf({ provider: "lab-a", manifestSha256, startedAtMs, models });
  await backend.verdictStore.record(toVerdicts(report, "import"), testOperator);
}

/** The program reads verdicts of other processes every few seconds. */
async function verdictsKnown(): Promise<void> {
  const { page } = await newcomer(fixture, browser, { name: "waiting" });
  await until("the console knows the verdicts", async () => {
    const path = "/api/console/verification?provider=lab-a&model=lab/chat-large-preview";
    const answer = await page.request.get(fixture.consoleUrl + path);
    const text = await answer.text();
    return text.includes('"substituted_percent":5') && text.includes('"state":"verified_in_part"');
  });
}
