import { writeFileSync } from "node:fs";
import { join } from "node:path";

import { describe, expect, test } from "vitest";

import { systemClock } from "../../../src/kernel/core/time.ts";
import { ask } from "../../support/ask.ts";
import { nothingHeld, until } from "../../support/books.ts";
import { simulatorManifest, textModel } from "../../support/gateway.ts";
import { textAt } from "../../support/http-call.ts";
import { jsonCommand } from "../../support/operator.ts";
import { hasPrometheus, startPrometheus } from "../../support/prometheus.ts";
import { runSql } from "../../support/sql.ts";
import { withResource } from "../../support/with-resource.ts";
import { newcomer, withProviderConsole } from "../console/provider-fixture.ts";

const NONE_PARKED = 'tm_purchases_total{end="parked"} == 0';
const DAY_MS = 86_400_000;

/** Alerts about money that comes in and about money that is owed to providers. */
describe.skipIf(!hasPrometheus)("an alert ends when its runbook is followed", () => {
  const fixture = withProviderConsole({ hasCheckout: true });
  const prometheus = withResource(() =>
    startPrometheus([new URL(fixture.gateway.running.internalUrl).host], { areShort: true }),
  );

  function command(...args: readonly string[]): ReturnType<typeof jsonCommand> {
    return jsonCommand(args, { DATABASE_URL: fixture.gateway.config.databaseUrl });
  }

  /** Sets the customers' price of a model whose provider is owed a dollar per million tokens. */
  async function priceAt(usdPerMillion: string): Promise<void> {
    const pricing = (usd: string): object[] =>
      ["prompt", "completion"].map((type) => ({ type, unit: "token", cost_usd_per_million: usd }));
    const manifest = {
      ...simulatorManifest({
        provider: "dear",
        dialect: "wire_a",
        models: [textModel("test/dear", { pricing: pricing(usdPerMillion) })],
      }),
      listing_terms: { "test/dear": { purchase_pricing: pricing("1.00") } },
    };
    writeFileSync(
      join(fixture.gateway.config.manifestsDir, "dear.json"),
      JSON.stringify(manifest).replaceAll("{simulator}", fixture.gateway.simulator.url),
    );
    fixture.gateway.running.reload();
  }

  test("TmPurchaseParked: an operator grants the payment, and the alert ends by itself", async () => {
    const ann = await fixture.signIn(newcomer("ann"));
    const bought = await ann.do("POST /api/console/purchases", { body: { amount_usd: "20" } });
    const book = fixture.checkout?.book;
    const id = textAt(bought.json, "checkout_url").split("/").at(-1) ?? "";
    const session = book?.session(id);
    if (book === undefined || session === undefined) throw new Error("there is no checkout");
    // Prometheus sees an increase only if it scraped the counter before.
    await until("it is scraped", async () => (await prometheus.query(NONE_PARKED)).length > 0);
    const payment = book.pay(session, { cents: 700 });
    await prometheus.untilFiring("TmPurchaseParked");
    const logged = fixture.gateway
      .log()
      .split("\n")
      .filter((line) => line.includes(ann.orgId));
    expect(logged.join("\n")).toContain("700 cents were paid, not 2000");
    expect(logged.join("\n")).toContain(payment.metadata["purchase_id"]);
    const grant = ["credit", "grant", "--org", ann.orgId, "--amount-usd", "7", "--ref", payment.id];
    expect((await command(...grant)).code).toBe(0);
    const { settledMicroUsd } = await fixture.gateway.backend.recordStore.balance(ann.orgId);
    expect(settledMicroUsd).toBe(7_000_000n);
    expect(await prometheus.untilQuiet("TmPurchaseParked")).toEqual([]);
  });

  test("TmSoldBelowCost: the price rises above the provider's", async () => {
    await priceAt("0.50");
    await prometheus.untilFiring("TmSoldBelowCost");
    await priceAt("2.00");
    expect(await prometheus.untilQuiet("TmSoldBelowCost")).toEqual([]);
  });

  test("TmPeriodUnclosed: the periods are closed", async () => {
    const account = await fixture.gateway.account("5");
    const asked = { key: account.key, wire: "wire_a", model: "test/a", text: "owed" } as const;
    expect((await ask(fixture.gateway.url, asked)).status).toBe(200);
    await nothingHeld(fixture.gateway, account);
    // Moves the call to five days ago and closes only that day, as if the timer had not run since.
    const startMs = Math.floor(systemClock.nowMs() / DAY_MS - 5) * DAY_MS;
    const [start, end] = [0, DAY_MS].map((ms) => new Date(startMs + ms).toISOString());
    await runSql(
      fixture.gateway,
      `set session_replication_role = replica;
       update attempt set closed_at = '${start}'::timestamptz + interval '5 hours'`,
      [],
    );
    const close = ["settlement", "close", "--manifests", fixture.gateway.config.manifestsDir];
    expect((await command(...close, "--until", String(end))).json["closed"]).toHaveLength(1);
    await prometheus.untilFiring("TmPeriodUnclosed");
    const { json } = await command("settlement", "list");
    expect(json["periods"]).toEqual([expect.objectContaining({ start, end })]);
    expect((await command(...close)).code).toBe(0);
    expect(await prometheus.untilQuiet("TmPeriodUnclosed")).toEqual([]);
  });
});
