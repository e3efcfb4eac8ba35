import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { expect, test } from "vitest";

import { ask, costOf, type Ask } from "../../support/ask.ts";
import { brokenBooks, debitOf, ended, nothingHeld, until } from "../../support/books.ts";
import { startGatedProvider } from "../../support/gated-provider.ts";
import {
  simulatorManifest,
  textModel,
  withAccount,
  withGateway,
  withSimulator,
} from "../../support/gateway.ts";
import { withResource } from "../../support/with-resource.ts";

const simulator = withSimulator();
const provider = withResource(
  () => startGatedProvider(simulator.url),
  (opened) => opened.close(),
);

/** One listing at these dollars per million tokens of output; the prompt is free. */
function manifest(completionUsd: string): object {
  const price = (type: string, usd: string): object => ({
    type,
    unit: "token",
    cost_usd_per_million: usd,
  });
  return simulatorManifest({
    provider: "gated",
    dialect: "wire_a",
    baseUrl: `${provider.url}/v1`,
    models: [
      textModel("pinned/a", {
        pricing: [price("prompt", "0"), price("completion", completionUsd)],
      }),
    ],
  });
}

const gateway = withGateway(() => ({ manifests: [manifest("10")] }));
const account = withAccount(gateway, "10");

async function changePrice(completionUsd: string): Promise<void> {
  const before = gateway.running.catalog.current.buildId;
  const file = join(gateway.config.manifestsDir, "manifest-0.json");
  expect(readFileSync(file, "utf8")).toContain("pinned/a");
  writeFileSync(file, JSON.stringify(manifest(completionUsd)));
  gateway.running.reload();
  await until("the new price applies", () => gateway.running.catalog.current.buildId !== before);
}

test.each([
  { what: "rises", fromUsd: "10", toUsd: "1000" },
  { what: "falls", fromUsd: "1000", toUsd: "10" },
])("a price that $what during a request applies to the next one", async ({ fromUsd, toUsd }) => {
  const request: Ask = { key: account.key, wire: "wire_a", model: "pinned/a", text: "price" };
  const calls = provider.calls.length;
  const running = ask(gateway.url, request);
  await until("the provider has it", () => provider.calls.length > calls);
  await changePrice(toUsd);
  provider.calls.at(-1)?.release();
  const answer = await running;
  const record = await ended(gateway, account, answer.requestId);
  const [attempt] = record.attempts;
  const tokens = BigInt(attempt?.usage?.completion ?? 0);
  expect(tokens).toBeGreaterThan(0n);
  expect(costOf(answer)).toBe(tokens * BigInt(fromUsd));
  expect(debitOf(record)).toBe(tokens * BigInt(fromUsd));

  const next = ask(gateway.url, request);
  await until("the provider has the next", () => provider.calls.length > calls + 1);
  provider.calls.at(-1)?.release();
  expect(costOf(await next)).toBe(tokens * BigInt(toUsd));
  await nothingHeld(gateway, account);
  expect(await brokenBooks(gateway)).toEqual([]);
});
