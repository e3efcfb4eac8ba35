import { readFile } from "node:fs/promises";

import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";

import { expectAccessible, expectFits, hasChromium, withBrowser } from "../../support/browser.ts";
import { ask, newcomer, type Newcomer } from "../../support/console-steps.ts";
import { withConsole } from "../../support/console-fixture.ts";
import { simulatorManifest, textModel } from "../../support/gateway.ts";
import { listAt } from "../../support/http-call.ts";
import { runSql } from "../../support/sql.ts";
import { everyStoredText } from "../console/every-stored-text.ts";

/** Models with equal answers at two prices; a call with 16 tokens costs some cents at most. */
const MANIFESTS = [
  simulatorManifest({
    provider: "prov-a",
    dialect: "wire_a",
    models: [
      textModel("test/cheap", { display_name: "Cheap", pricing: prices("100") }),
      textModel("test/dear", { display_name: "Dear", pricing: prices("1000") }),
    ],
  }),
];

function prices(perMillion: string): readonly object[] {
  return ["prompt", "completion"].map((type) => ({
    type,
    unit: "token",
    cost_usd_per_million: perMillion,
  }));
}

const fixture = withConsole({ manifests: MANIFESTS, settings: { optimizeCallGapMs: 0 } });
const browser = withBrowser();

describe.skipIf(!hasChromium)("optimize searches", () => {
  /** A new user on the page of searches; without `usd` there is no credit. */
  async function searcher(name: string, usd?: string): Promise<Newcomer> {
    const credit = usd === undefined ? {} : { usd };
    const visitor = await newcomer(fixture, browser, { name, theme: "dark", ...credit });
    await visitor.page.goto(`${fixture.consoleUrl}/optimize`);
    return visitor;
  }

  test("run from the form to a table that ranks the models, and no prompt is stored on the server", async () => {
    const { page, orgId, complaints } = await searcher("search", "10");
    await page.getByRole("button", { name: "Start search" }).waitFor();
    await page.getByRole("button", { name: "Start search" }).click();
    await page.getByText("Give the search a name.").waitFor();
    await page.getByText("Choose at least two models to compare.").waitFor();
    await expectAccessible(page, "a form with everything wrong");

    const secret = "heliotrope";
    const name = "First look";
    await fillIn(page, { name, prompts: [`${secret} one`, "two", "three"], budget: "5.00" });
    await page
      .getByText(/^6 calls, at least \d+ seconds?\. Estimated cost: at most \$\d/)
      .waitFor();
    await page.getByText(/The budget of \$5\.0+ covers all calls/).waitFor();
    await page.getByRole("button", { name: "Start search" }).click();
    await page.waitForURL(/\/optimize\/search_/);
    await page.getByRole("heading", { name, level: 1 }).waitFor();
    await page.getByText("Finished", { exact: true }).waitFor();
    const table = page.getByRole("table", { name: "Results by model" });
    const rows = table.getByRole("row");
    await table.getByRole("row", { name: /^1 test\/cheap 3 of 3 / }).waitFor();
    await table.getByRole("row", { name: /^2 test\/dear 3 of 3 / }).waitFor();
    await expect.poll(() => rows.count()).toBe(3);
    await page.getByRole("link", { name: "Balance: $9.97 available" }).waitFor();
    const answers = page.getByRole("table", { name: "Answers by prompt and model" });
    await answers.getByLabel("Prompt 1", { exact: true }).getByText(`1. ${secret} one`).waitFor();
    await answers.getByLabel("Prompt 1, answer of test/dear").getByText(secret).waitFor();
    await expectFits(page);
    const saving = page.waitForEvent("download");
    await page.getByRole("button", { name: "Download CSV" }).click();
    const csv = await readFile(await (await saving).path(), "utf8");
    expect(csv.split("\r\n")).toHaveLength(8);
    expect(csv).toContain(`1,${secret} one,test/cheap,yes,`);
    // Only this browser has the answers, and it still has them after a reload.
    await page.reload();
    await answers.getByLabel("Prompt 1, answer of test/dear").getByText(secret).waitFor();

    // The organization's requests show the search's name and never its key.
    const requests = await ask(fixture, page, "GET /api/console/requests");
    expect(JSON.stringify(requests.json)).toContain(`Optimize search ${name}`);
    const keys = await ask(fixture, page, "GET /api/console/keys");
    expect(JSON.stringify(keys.json)).not.toContain(name);
    expect(await everyStoredText(fixture.gateway.config.databaseUrl)).not.toContain(secret);
    await page.goto(`${fixture.consoleUrl}/optimize`);
    await page.getByRole("link", { name }).waitFor();
    const note = page.getByText("The newest 200 are listed.");
    expect(await note.count()).toBe(0);
    await copySearches(orgId, 200);
    await page.reload();
    await note.waitFor();
    const searches = await ask(fixture, page, "GET /api/console/optimize");
    expect(listAt(searches.json, "data")).toHaveLength(200);
    await page.goBack();
    await page.getByRole("link", { name: "Try it in the playground" }).click();
    await page.waitForURL(/\/playground\?/);
    await page.getByRole("combobox", { name: "Model" }).waitFor();
    await expect
      .poll(() => page.getByRole("combobox", { name: "Model" }).inputValue())
      .toBe("Cheap");
    expect(complaints).toEqual([]);
  });
});

/** Fills the form for both models, with answers of 16 tokens. */
async function fillIn(
  page: Page,
  search: {
    readonly name: string;
    readonly prompts: readonly string[];
    readonly budget: string;
  },
): Promise<void> {
  await page.getByRole("textbox", { name: "Name", exact: true }).fill(search.name);
  await page.getByRole("textbox", { name: "Prompts" }).fill(search.prompts.join("\n"));
  for (const model of ["Cheap", "Dear"]) {
    await page.getByRole("combobox", { name: "Models" }).click();
    await page.getByRole("option", { name: model }).click();
  }
  await page.keyboard.press("Escape");
  await page.getByLabel("Max output tokens").fill("16");
  await page.getByLabel("Budget, dollars").fill(search.budget);
}

/** Adds copies of an organization's only search, each with a key of its own. */
async function copySearches(orgId: string, copies: number): Promise<void> {
  await runSql(
    fixture.gateway,
    `with known as (select s, k from optimize_search s join api_key k using (key_id)
       where s.org_id = $1),
     keys as (insert into api_key select (jsonb_populate_record(k, jsonb_build_object(
         'key_id', 'key_copy' || n, 'digest', '\\x' || encode(sha256(n::text::bytea), 'hex')))).*
       from known, generate_series(1, $2::int) n)
     insert into optimize_search select (jsonb_populate_record(s, jsonb_build_object(
         'search_id', 'search_copy' || n, 'key_id', 'key_copy' || n))).*
       from known, generate_series(1, $2::int) n`,
    [orgId, copies],
  );
}
