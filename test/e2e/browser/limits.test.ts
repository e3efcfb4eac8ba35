import type { Locator, Page } from "playwright-core";
import { describe, expect, test } from "vitest";

import { until } from "../../support/books.ts";
import { expectAccessible, hasChromium, withBrowser } from "../../support/browser.ts";
import {
  ask,
  callGateway,
  callUntil,
  makeKey,
  newcomer,
  pageOpener,
} from "../../support/console-steps.ts";
import { withConsole } from "../../support/console-fixture.ts";
import { textAt, type HttpAnswer } from "../../support/http-call.ts";

const fixture = withConsole();
const open = pageOpener(fixture);
const browser = withBrowser();

describe.skipIf(!hasChromium)("the limits page", () => {
  test("lowers a key's limit, never raises it, and restores the ceiling", async () => {
    const who = { name: "lower", usd: "5", theme: "dark" } as const;
    const { page, complaints } = await newcomer(fixture, browser, who);
    await makeKey(fixture, page, { name: "batch" });
    await open(page, "/limits");
    const row = limitsTable(page).getByRole("row", { name: "batch" });
    const dialog = page.getByRole("dialog", { name: "Limits of “batch”" });
    const field = dialog.getByLabel("Requests per minute");
    const edit = row.getByRole("button", { name: "Edit the limits of batch" });

    await edit.click();
    await dialog.getByText("1 to 300. Leave blank to keep it unchanged.").waitFor();
    for (const tooMuch of ["301", "many"]) {
      await field.fill(tooMuch);
      await save(dialog);
      await dialog.getByText("from 1 to 300. Limits can be lowered, not raised").waitFor();
    }
    await expectAccessible(page, "a limit that is too high");
    await field.fill("2");
    await save(dialog);
    await dialog.waitFor({ state: "detached" });
    await row.getByText("of 2").waitFor();
    await edit.click();
    await expect.poll(() => field.getAttribute("placeholder")).toBe("2");
    await dialog.getByLabel("Remove my limit of 2").check();
    await save(dialog);
    await dialog.waitFor({ state: "detached" });
    await row.getByText("of 300").waitFor();
    expect(complaints).toEqual([]);
  });

  test("asks before a cap stops requests, then says on every page that it does", async () => {
    const { page, complaints } = await newcomer(fixture, browser, { name: "stop", usd: "5" });
    const { secret } = await makeKey(fixture, page, { name: "app" });
    expect((await callGateway(fixture, secret)).status).toBe(200);
    await open(page, "/limits");
    const row = page
      .getByRole("table", { name: "Caps of the organization" })
      .getByRole("row", { name: "Organization" });
    await row.getByRole("button", { name: "Edit the monthly cap of" }).click();
    const dialog = page.getByRole("dialog", { name: "Organization cap" });
    const field = dialog.getByLabel("Monthly cap in dollars");
    const anyway = dialog.getByRole("button", { name: "Set it anyway" });
    await field.fill("0.000002");
    await save(dialog);
    await dialog.getByText(/^This stops all requests until 1 /).waitFor();
    await expectAccessible(page, "a cap that stops requests");
    // Another amount needs another confirmation.
    await field.fill("0.000001");
    await save(dialog);
    await dialog.getByText("of $0.000001 is already spent").waitFor();
    await anyway.click();
    await dialog.waitFor({ state: "detached" });

    const refused = await refusedInTheEnd(() => callGateway(fixture, secret));
    const requestId = await recorded(page, refused);
    await open(page, "/usage");
    const notices = page.getByRole("region", { name: "Notices" });
    await notices.getByText("The organization's monthly cap of $0.000001 is used up").waitFor();
    await notices.getByText("rejected in the last hour").waitFor();
    await page.getByLabel("Find a request by its ID").fill("nonsense");
    await page.getByRole("button", { name: "Find" }).click();
    await page.getByText("Paste the whole x-request-id").waitFor();
    await page.getByLabel("Find a request by its ID").fill(requestId);
    await page.getByRole("button", { name: "Find" }).click();
    await page.waitForURL(`${fixture.consoleUrl}/requests/${requestId}`);
    await page.getByText("The organization's monthly cap of $0.000001 would have been").waitFor();
    await open(page, "/");
    await page.getByText("over the organization's cap").waitFor();
    await notices.getByRole("link", { name: "Raise cap" }).click();
    await page.waitForURL(`${fixture.consoleUrl}/limits`);
    await row.getByRole("button", { name: "Edit the monthly cap of" }).click();
    await field.fill("0");
    await save(dialog);
    await dialog.waitFor({ state: "detached" });
    await notices.getByText("monthly cap").waitFor({ state: "detached" });
    expect(complaints).toEqual([]);
  });
});

function limitsTable(page: Page): Locator {
  return page.getByRole("table", { name: /^Limits:/ });
}

async function save(dialog: Locator): Promise<void> {
  await dialog.getByRole("button", { name: "Save" }).click();
}

/** The id of an answered request once its record, which is written later, can be read. */
async function recorded(page: Page, answer: HttpAnswer): Promise<string> {
  const requestId = String(answer.headers["x-request-id"]);
  await until("the request is recorded", async () => {
    const { json } = await ask(fixture, page, `GET /api/console/requests/${requestId}`);
    const outcome = textAt(json, "request.outcome");
    return outcome !== "" && outcome !== "in_flight";
  });
  return requestId;
}

async function refusedInTheEnd(call: () => Promise<HttpAnswer>): Promise<HttpAnswer> {
  const refused = await callUntil("a call is refused", call, ({ status }) => status !== 200);
  expect(refused.status).toBe(429);
  return refused;
}
