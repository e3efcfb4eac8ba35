import { beforeAll, describe, expect, test } from "vitest";

import { expectAccessible, hasChromium, withBrowser } from "../../support/browser.ts";
import { ask, newcomer, type Newcomer, pageOpener } from "../../support/console-steps.ts";
import { withConsole } from "../../support/console-fixture.ts";
import { textAt } from "../../support/http-call.ts";
import { makeTraffic, TRAFFIC_MANIFESTS, type Traffic } from "../../support/usage-traffic.ts";

const fixture = withConsole({ manifests: TRAFFIC_MANIFESTS });
const open = pageOpener(fixture);
const browser = withBrowser();

describe.skipIf(!hasChromium)("the page of a request", () => {
  let ann: Newcomer;
  let traffic: Traffic;
  beforeAll(async () => {
    ann = await newcomer(fixture, browser, { name: "request", theme: "dark", usd: "5" });
    traffic = await makeTraffic(fixture, ann.page);
  });

  test("shows three attempts, and after each one why the gateway went on", async () => {
    const { page } = ann;
    await open(page, `/requests/${traffic.threeAttemptsId}`);
    await page.getByRole("heading", { name: "3 attempts", exact: true }).waitFor();
    const heads = page.getByRole("heading", { level: 3 });
    await expect.poll(() => heads.allInnerTexts()).toEqual(["1. first", "2. second", "3. third"]);
    await page.getByText(/^first .*status 503.* so the gateway continued with second\.$/).waitFor();
    await page.getByText(/^second .* so the gateway continued with third\.$/).waitFor();
    await expect
      .poll(() => page.getByText(/the gateway (?:continued|tried again)/).count())
      .toBe(2);
    const ran = page.getByRole("list", { name: "When each attempt ran" }).getByRole("listitem");
    await expect
      .poll(() => ran.allInnerTexts())
      .toEqual([
        expect.stringMatching(/^1\. first\s+\+\d+ ms, took /),
        expect.stringMatching(/^2\. second\s+\+\d+ ms, took /),
        expect.stringMatching(/^3\. third\s+\+\d+ ms, took .*first token after /),
      ]);
    await expectAccessible(page, "a request with three attempts");
  });

  test("gives support a text with every attempt and the cost", async () => {
    const { page } = ann;
    const id = traffic.threeAttemptsId;
    await open(page, `/requests/${id}`);
    await page.getByRole("button", { name: "Copy for support" }).click();
    await page.getByRole("button", { name: "Copied", exact: true }).waitFor();
    const text = String(await page.evaluate("navigator.clipboard.readText()"));
    const { json } = await ask(fixture, page, `GET /api/console/requests/${id}`);
    expect(text).toContain(`Request ${id}`);
    expect(text).toContain(`Cost $${textAt(json, "request.cost_usd")}`);
    const attempts = text.match(/^Attempt \d: \w+/gm);
    expect(attempts).toEqual(["Attempt 1: first", "Attempt 2: second", "Attempt 3: third"]);
    expect(text).not.toContain("Hello");
  });

  test("says what a failed and a refused request cost, and what to do next", async () => {
    const { page } = ann;
    await open(page, `/requests/${traffic.failedId}`);
    await page.getByText("upstream_error", { exact: true }).first().waitFor();
    await page
      .getByText("Every provider of the model failed or took too long", { exact: false })
      .waitFor();
    await expectAccessible(page, "a failed request");
    await open(page, `/requests/${traffic.refusedId}`);
    await page.getByText("No provider was asked, so this request cost nothing.").waitFor();
    await page
      .getByText("Raise the cap, or wait until it resets", { exact: false })
      .first()
      .waitFor();
    await expectAccessible(page, "a refused request");
  });

  test("of another organization does not exist", async () => {
    const other = await newcomer(fixture, browser, { name: "other" });
    const path = `/requests/${traffic.threeAttemptsId}`;
    const { status } = await ask(fixture, other.page, `GET /api/console${path}`);
    expect(status).toBe(404);
    await other.page.goto(fixture.consoleUrl + path);
    await other.page.getByRole("alert").waitFor();
    expect(await other.page.content()).not.toContain("test/three");
    expect(other.complaints).toEqual([]);
  });

  test("has no errors in the browser's console", () => {
    expect(ann.complaints).toEqual([]);
  });
});
