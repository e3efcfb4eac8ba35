import { describe, expect, test } from "vitest";

import {
  deepTest,
  expectAccessible,
  hasChromium,
  newVisitor,
  withBrowser,
  type Visitor,
} from "../../support/browser.ts";
import { microUsd } from "../../../src/kernel/core/money.ts";
import { newcomer, signIn } from "../../support/console-steps.ts";
import { withConsole } from "../../support/console-fixture.ts";
import { serveYesterday } from "../../support/served-yesterday.ts";
import { runSql } from "../../support/sql.ts";
import { testOperator } from "../../support/test-operator.ts";

const fixture = withConsole({ settings: { operators: "boss@example.com" } });
const browser = withBrowser();

async function openBoss(): Promise<Visitor> {
  const boss = await newVisitor(browser);
  await signIn(fixture, boss, "boss@example.com");
  return boss;
}

describe.skipIf(!hasChromium)("an operator at the console", () => {
  test("grants credit and lifts a restriction, each after a dialog", async () => {
    const { orgId } = await newcomer(fixture, browser, { name: "customer" });
    const { creditStore, usageHoldStore } = fixture.gateway.backend;
    const amountMicroUsd = microUsd(1_000_000n);
    await creditStore.grant({ orgId, amountMicroUsd, ref: "try", isTrial: true }, testOperator);
    const span = { ageMs: 1_000, limitedMs: 600_000, repeatMs: 600_000 };
    await usageHoldStore.record({ orgId, family: "chat", reason: "900 refused", ...span });
    const { page, complaints } = await openBoss();
    await page.goto(`${fixture.consoleUrl}/operator/organizations/${orgId}`);

    await page.getByRole("button", { name: "Grant credit" }).click();
    const grant = page.getByRole("dialog", { name: "Grant credit" });
    await grant.getByLabel("Dollars").fill("0");
    await grant.getByLabel("Reference").fill("wire-1");
    await grant.getByRole("button", { name: "Grant credit" }).click();
    await grant.getByText("must be dollars above 0").waitFor();
    await expectAccessible(page, "the dialog of a grant");
    await grant.getByLabel("Dollars").fill("25.00");
    await grant.getByRole("button", { name: "Grant credit" }).click();
    await page.getByText("$25.00 was granted").waitFor();
    await grant.waitFor({ state: "detached" });

    await page.getByRole("button", { name: "Lift restrictions" }).click();
    const lift = page.getByRole("dialog", { name: "Lift restrictions" });
    await lift.getByLabel("Reason").fill("a load test they announced");
    await lift.getByRole("button", { name: "Lift restrictions" }).click();
    await page.getByText("The restrictions were lifted").waitFor();
    await page.getByRole("button", { name: "Lift restrictions" }).waitFor({ state: "detached" });
    expect(await usageHoldStore.list({ orgId, isWithPast: false })).toEqual([]);
    expect(complaints).toEqual([]);
  });

  deepTest("records a deposit, closes a period and compares a statement", async () => {
    await serveYesterday(fixture.gateway, "test/a", ["one", "two words"]);
    const { page, complaints } = await openBoss();
    await page.goto(`${fixture.consoleUrl}/operator/settlement`);

    await page.getByRole("button", { name: "Record deposit" }).click();
    const deposit = page.getByRole("dialog", { name: "Record deposit" });
    await deposit.getByLabel("Provider").fill("prov-bb");
    await deposit.getByLabel("Dollars").fill("500.00");
    await deposit.getByLabel("Reference").fill("wire-2");
    await deposit.getByRole("button", { name: "Record deposit" }).click();
    await deposit.getByText("This provider has no listing and no balance").waitFor();
    await expectAccessible(page, "the dialog of a deposit");
    await deposit.getByLabel("Provider").fill("prov-b");
    await deposit.getByRole("button", { name: "Record deposit" }).click();
    await page.getByText("The deposit wire-2 with prov-b was recorded").waitFor();
    const balances = page.getByRole("table", { name: "Balances with providers" });
    await balances.getByRole("row", { name: /^prov-b\b.*\$500\.00/ }).waitFor();

    await page.getByRole("button", { name: "Close periods" }).click();
    const close = page.getByRole("dialog", { name: "Close periods" });
    await close.getByRole("button", { name: "Close periods" }).click();
    await page.getByText("1 period was closed").waitFor();
    await page.getByRole("link", { name: "Statement" }).click();

    await page.getByRole("button", { name: "Compare statement" }).click();
    const compare = page.getByRole("dialog", { name: "Compare statement" });
    await page.locator('input[type="file"]').setInputFiles({
      name: "theirs.csv",
      mimeType: "text/csv",
      buffer: Buffer.from("attempt_id,cost_usd\n7,1.5\n"),
    });
    await compare.getByRole("button", { name: "Compare" }).click();
    await page.getByText("The statement differs from ours.").waitFor();
    await page.getByText("0 differ, 1 only theirs, 2 only ours").waitFor();

    const age = "update console_session set started_at = started_at - interval '13 hours'";
    await runSql(fixture.gateway, age, []);
    await page.getByRole("button", { name: "Close periods" }).click();
    await close.getByRole("button", { name: "Close periods" }).click();
    await close.getByText("you signed in more than 12 hours ago").waitFor();
    expect(complaints).toEqual([]);
  });
});
