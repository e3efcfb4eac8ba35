import { expect, test, describe } from "vitest";

import { until } from "../../support/books.ts";
import { expectAccessible, hasChromium, newVisitor, withBrowser } from "../../support/browser.ts";
import { newcomer } from "../../support/console-steps.ts";
import { withConsole } from "../../support/console-fixture.ts";
import { simulatorManifest, textModel } from "../../support/gateway.ts";

const PRICED = {
  pricing: [
    { type: "prompt", unit: "token", cost_usd_per_million: "100" },
    { type: "completion", unit: "token", cost_usd_per_million: "100" },
  ],
};

const fixture = withConsole({
  manifests: [
    simulatorManifest({
      provider: "prov-a",
      dialect: "wire_a",
      models: [
        textModel("test/cheap", { display_name: "Cheap" }),
        textModel("test/dear", { display_name: "Dear", ...PRICED }),
      ],
    }),
  ],
});
const browser = withBrowser();

describe.skipIf(!hasChromium)("the guides", () => {
  test("run a request on their page, show its cost before and after, and usage lists it", async () => {
    const who = { name: "reader", usd: "5" };
    const { page, complaints, orgId } = await newcomer(fixture, browser, who);
    await page.goto(`${fixture.consoleUrl}/docs/quick-start`);
    await page.getByLabel("Model", { exact: true }).selectOption("test/dear");
    const code = page.getByRole("group", { name: "curl example" }).first();
    await expect.poll(() => code.innerText()).toContain('"model":"test/dear"');
    await page.getByRole("button", { name: "Run" }).first().click();
    await page.getByText(/^This request costs at most \$0\.0\d+, from/).waitFor();
    expect(fixture.gateway.simulator.calls()).toEqual([]);
    await expectAccessible(page, "a request with its cost");
    await page.getByRole("button", { name: "Run now" }).click();
    await page
      .getByRole("group", { name: "Answer", exact: true })
      .getByText(/You said/)
      .waitFor();
    await page.getByText(/^Cost \$0\.0/).waitFor();
    const sent = fixture.gateway.simulator.calls();
    expect(sent).toHaveLength(1);
    expect(sent[0]?.body).toMatchObject({ model: "test/dear", max_tokens: 64 });
    await until("the call is paid", async () => {
      const { settledMicroUsd } = await fixture.gateway.backend.recordStore.balance(orgId);
      return settledMicroUsd < 5_000_000n;
    });
    expect(complaints).toEqual([]);
  });

  test("say before and after a refused request what is missing and what to do", async () => {
    const { page, complaints } = await newcomer(fixture, browser, { name: "poor" });
    await page.goto(`${fixture.consoleUrl}/docs/quick-start`);
    await page.getByLabel("Model", { exact: true }).selectOption("test/dear");
    await page.getByRole("button", { name: "Run" }).first().click();
    await page.getByText(/^This request would be rejected: /).waitFor();
    await page.getByRole("button", { name: "Run anyway" }).click();
    const alert = page.getByRole("alert");
    await alert.getByText("insufficient_quota", { exact: true }).waitFor();
    await alert.getByRole("link", { name: "Add credit" }).waitFor();
    expect(complaints).toEqual([]);
  });

  test("write a pasted key into the code, and send it in no request", async () => {
    const { page, complaints } = await newVisitor(browser);
    const rawKey = `tm_vk_${"0f1e2d3c".repeat(4)}`;
    const seen: string[] = [];
    page.on("request", (request) => seen.push(`${request.url()} ${request.postData() ?? ""}`));
    await page.goto(`${fixture.consoleUrl}/docs/quick-start`);
    await page.getByRole("link", { name: "Sign in to run" }).first().waitFor();
    await page.getByLabel("Key in the code").selectOption("Paste a key");
    await page.getByLabel("Pasted key").fill("tm_vk_x; rm");
    await page.getByText("Enter a whole key.").waitFor();
    await page.getByLabel("Pasted key").fill(rawKey);
    await page.getByRole("group", { name: "curl example" }).first().getByText(rawKey).waitFor();
    await page.goto(`${fixture.consoleUrl}/docs/streaming`);
    await page.getByRole("link", { name: "Sign in to run" }).first().waitFor();
    expect(await page.content()).not.toContain(rawKey);
    expect(seen.filter((each) => each.includes(rawKey))).toEqual([]);
    const stored = await page.evaluate<string>(
      "JSON.stringify([{ ...localStorage }, { ...sessionStorage }])",
    );
    expect(stored).not.toContain(rawKey);
    expect(complaints).toEqual([]);
  });
});
