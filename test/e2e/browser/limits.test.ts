import type { Locator, Page } from "playwright-core";
import { describe, expect, test } from "vitest";

import { until } from "../../support/books.ts";
import { deepTest, expectAccessible, hasChromium, withBrowser } from "../../support/browser.ts";
import { chatBody } from "../../support/chat-bodies.ts";
import {
  ask,
  callGateway,
  callUntil,
  makeKey,
  newcomer,
  pageShown,
  pageOpener,
} from "../../support/console-steps.ts";
import { withConsole } from "../../support/console-fixture.ts";
import { at, textAt, type HttpAnswer } from "../../support/http-call.ts";

const fixture = withConsole();
const open = pageOpener(fixture);
const browser = withBrowser();

describe.skipIf(!hasChromium)("the limits page", () => {
  test("lowers a key's limit, never raises it, and restores the ceiling", async () => {
    const who = { name: "lower", usd: "5", theme: "dark" } as const;
    const { page, complaints } = await newcomer(fixture, browser, who);
    const { secret, keyId } = await makeKey(fixture, page, { name: "batch" });
    await open(page, "/limits");
    const row = limitsTable(page).getByRole("row", { name: "batch" });
    const dialog = page.getByRole("dialog", { name: "Limits of “batch”" });
    const field = dialog.getByLabel("Requests per minute");
    const edit = row.getByRole("button", { name: "Edit the limits of batch" });

    await edit.click();
    await dialog.getByText("1 to 300. Leave blank to keep it unchanged.").waitFor();
    for (const tooMuch of ["301", "0", "many"]) {
      await field.fill(tooMuch);
      await save(dialog);
      await dialog.getByText("from 1 to 300. Limits can be lowered, not raised").waitFor();
    }
    await expectAccessible(page, "a limit that is too high");
    await field.fill("2");
    await save(dialog);
    await dialog.waitFor({ state: "detached" });
    await row.getByText("of 2").waitFor();
    const refused = await refusedInTheEnd(() => callGateway(fixture, secret));
    expect(at(refused.json, "error.metadata")).toMatchObject({
      error_type: "rate_limit",
      limit_scope: "key",
      limit_kind: "rpm",
    });

    await edit.click();
    await expect.poll(() => field.getAttribute("placeholder")).toBe("2");
    await dialog.getByLabel("Remove my limit of 2").check();
    await save(dialog);
    await dialog.waitFor({ state: "detached" });
    await row.getByText("of 300").waitFor();
    await servedInTheEnd(() => callGateway(fixture, secret));
    const api = await ask(fixture, page, "POST /api/admission-limits", {
      scope: "key",
      key_id: keyId,
      rpm: 301,
    });
    expect(api.status).toBe(400);
    expect(textAt(api.json, "error.message")).toContain("ceiling of 300");
    expect(complaints).toEqual([]);
  });

  test("keeps the limits of the organization below its ceilings", async () => {
    const who = { name: "whole", usd: "5", theme: "dark" } as const;
    const { page, complaints } = await newcomer(fixture, browser, who);
    await open(page, "/limits");
    const { json } = await ask(fixture, page, "GET /api/console/limits");
    const ceiling = Number(at(json, "rows.0.tpm.ceiling"));
    expect(at(json, "rows.0.scope")).toBe("org");
    await page.getByText("Tokens per minute", { exact: true }).last().click();
    const row = limitsTable(page).getByRole("row", { name: "Organization" });
    await row.getByRole("button", { name: "Edit the limits of" }).click();
    const dialog = page.getByRole("dialog", { name: "Limits of the organization" });
    await dialog.getByLabel("Tokens per minute").fill(String(ceiling + 1));
    await save(dialog);
    await dialog.getByText(`from 1 to ${ceiling}. Limits can be lowered`).waitFor();
    await dialog.getByLabel("Tokens per minute").fill("5000");
    await save(dialog);
    await dialog.waitFor({ state: "detached" });
    await row.getByText("0 of 5,000").waitFor();
    await expectAccessible(page, "limits of tokens");
    const above = await ask(fixture, page, "POST /api/admission-limits", {
      scope: "org",
      tpm: ceiling + 1,
    });
    expect(above.status).toBe(400);
    expect(textAt(above.json, "error.message")).toContain(`ceiling of ${ceiling}`);
    expect(complaints).toEqual([]);
  });

  deepTest("holds one model back for all keys together, and lets the others be", async () => {
    const who = { name: "model", usd: "5", theme: "dark" } as const;
    const { page, complaints } = await newcomer(fixture, browser, who);
    const { secret } = await makeKey(fixture, page, { name: "app" });
    const callModel = (model: string): Promise<HttpAnswer> =>
      callGateway(fixture, secret, chatBody(model));
    await open(page, "/limits");
    await page.getByRole("button", { name: "Add model limit" }).click();
    const dialog = page.getByRole("dialog", { name: "Add model limit" });
    await dialog.getByRole("button", { name: "Add limit" }).click();
    await dialog.getByText("choose a model").waitFor();
    await dialog.getByRole("combobox", { name: "Model" }).fill("test/nothing");
    await dialog.getByLabel("Requests per minute").fill("1");
    await dialog.getByRole("button", { name: "Add limit" }).click();
    await dialog.getByText(/test\/nothing/).waitFor();
    await expectAccessible(page, "a limit of an unknown model");
    await dialog.getByRole("combobox", { name: "Model" }).fill("test/b");
    await page.getByRole("option", { name: "test/b", exact: true }).click();
    await dialog.getByRole("button", { name: "Add limit" }).click();
    await dialog.waitFor({ state: "detached" });
    const row = limitsTable(page).getByRole("row", { name: "test/b" });
    await row.getByText("of 1", { exact: false }).waitFor();
    await expectAccessible(page, "limits with one of a model");

    const refused = await refusedInTheEnd(() => callModel("test/b"));
    expect(at(refused.json, "error.metadata")).toMatchObject({
      error_type: "rate_limit",
      limit_scope: "model",
      limit_kind: "rpm",
    });
    expect((await callModel("test/a")).status).toBe(200);
    await row.getByRole("button", { name: "Edit the limits of test/b" }).click();
    const edited = page.getByRole("dialog", { name: "Limits of test/b" });
    await edited.getByLabel("Remove my limit of 1").check();
    await save(edited);
    await edited.waitFor({ state: "detached" });
    await row.waitFor({ state: "detached" });
    await servedInTheEnd(() => callModel("test/b"));
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
    await expectAccessible(page, "usage under a cap that is used up");
    await page.getByLabel("Find a request by its ID").fill(requestId);
    await page.getByRole("button", { name: "Find" }).click();
    await page.waitForURL(`${fixture.consoleUrl}/requests/${requestId}`);
    await page.getByText("The organization's monthly cap of $0.000001 would have been").waitFor();
    await open(page, "/");
    await page.getByText("over the organization's cap").waitFor();
    await page.keyboard.press("Control+k");
    await page.getByRole("combobox", { name: "Search pages, keys, and models" }).fill(requestId);
    await page.getByRole("option", { name: "Open request" }).waitFor();
    await page.keyboard.press("Enter");
    await page.waitForURL(`${fixture.consoleUrl}/requests/${requestId}`);
    await notices.getByRole("link", { name: "Raise cap" }).click();
    await page.waitForURL(`${fixture.consoleUrl}/limits`);
    await row.getByRole("button", { name: "Edit the monthly cap of" }).click();
    await field.fill("0");
    await save(dialog);
    await dialog.waitFor({ state: "detached" });
    await notices.getByText("monthly cap").waitFor({ state: "detached" });
    expect(complaints).toEqual([]);
  });

  test("with many keys shows those with special limits, and the others on demand", async () => {
    const { page, complaints } = await newcomer(fixture, browser, { name: "many", usd: "5" });
    for (let n = 10; n < 22; n += 1) await makeKey(fixture, page, { name: `worker-${n}` });
    await makeKey(fixture, page, { name: "narrow", rpm: 5, cap_usd: "2" });
    await open(page, "/limits");
    const limits = limitsTable(page);
    const caps = page.getByRole("table", { name: /^Caps of/ });
    await limits.getByRole("row", { name: "narrow" }).waitFor();
    await caps.getByRole("row", { name: "narrow" }).waitFor();
    await expect.poll(() => page.getByRole("row", { name: "worker-" }).count()).toBe(0);
    await page.getByText("13 keys have only the default limits").waitFor();
    await page.getByText("13 keys have no cap").waitFor();
    await expectAccessible(page, "limits with many keys");
    await page.getByRole("button", { name: "Show them" }).first().click();
    await limits.getByRole("row", { name: "worker-15" }).waitFor();
    await page.getByRole("searchbox", { name: "Key with a cap" }).fill("worker-2");
    await caps.getByRole("row", { name: "worker-21" }).waitFor();
    await expect.poll(() => caps.getByRole("row", { name: "worker-" }).count()).toBe(2);
    const headings = page.getByRole("heading", { level: 2 });
    expect((await headings.allInnerTexts())[0]).toBe("Why was my request rejected?");
    expect(complaints).toEqual([]);
  });

  deepTest("says why a request was refused, and that one it does not know is none", async () => {
    const who = { name: "why", usd: "5", theme: "dark" } as const;
    const { page, complaints } = await newcomer(fixture, browser, who);
    const { secret } = await makeKey(fixture, page, { name: "app" });
    const { secret: capped } = await makeKey(fixture, page, { name: "tiny", cap_usd: "0.0001" });
    const messages = [{ role: "user", content: "[[fault:status:500]] Hello" }];
    const failed = await callGateway(fixture, secret, chatBody("test/a", { messages }));
    const refused = await callGateway(fixture, capped);
    const explained = [
      [failed, "upstream_error", "Every provider of the model failed or took too long."],
      [refused, "insufficient_quota", "This key's monthly cap of $0.0001 would have been exceeded"],
    ] as const;
    await open(page, "/limits");
    for (const [answer, errorClass, words] of explained) {
      const requestId = await recorded(page, answer);
      await page.getByLabel("Request ID").fill(` ${requestId} `);
      await page.getByRole("button", { name: "Explain" }).click();
      await page.getByText(words).waitFor();
      await page.getByText(errorClass, { exact: true }).waitFor();
    }
    await expectAccessible(page, "an explained refusal");
    // The address is to be shared.
    await page.reload();
    await page.getByText("This key's monthly cap of $0.0001 would have been exceeded").waitFor();
    await page.getByRole("link", { name: "View request" }).click();
    await page.waitForURL(`${fixture.consoleUrl}/requests/${idOf(refused)}`);
    await pageShown(page);
    await page.getByRole("link", { name: "Raise cap" }).last().waitFor();
    await page.getByText("Maximum cost").waitFor();
    await expectAccessible(page, "the page of a refused request");

    const served = await callGateway(fixture, secret);
    for (const [id, words] of [
      [await recorded(page, served), "this request was not rejected"],
      ["01900000-0000-7000-8000-000000000000", "there is no such request"],
      ["nonsense", "there is no such request"],
    ] as const) {
      await open(page, `/limits?refused=${id}`);
      await page.getByRole("alert").getByText(new RegExp(words, "i")).waitFor();
    }
    await expectAccessible(page, "a request that is none");
    expect(complaints).toEqual([]);
  });
});

function limitsTable(page: Page): Locator {
  return page.getByRole("table", { name: /^Limits:/ });
}

async function save(dialog: Locator): Promise<void> {
  await dialog.getByRole("button", { name: "Save" }).click();
}

function idOf({ headers }: HttpAnswer): string {
  return String(headers["x-request-id"]);
}

/** The id of an answered request once its record, which is written later, can be read. */
async function recorded(page: Page, answer: HttpAnswer): Promise<string> {
  const requestId = idOf(answer);
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

async function servedInTheEnd(call: () => Promise<HttpAnswer>): Promise<void> {
  await callUntil("a call is served again", call, ({ status }) => status === 200);
}
