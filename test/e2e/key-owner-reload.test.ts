import { writeFileSync } from "node:fs";
import { join } from "node:path";

import { expect, test } from "vitest";

import { ask } from "../support/ask.ts";
import { until } from "../support/books.ts";
import { simulatorManifest, textModel, withAccount, withGateway } from "../support/gateway.ts";

const gateway = withGateway({ settings: { providerKeyOrigins: "" } });
const account = withAccount(gateway, "5.00");

/** Writes a manifest of another origin that names the standard manifests' key variable. */
function write(file: string, provider: string, port: number): void {
  const manifest = simulatorManifest({
    provider,
    dialect: "wire_a",
    baseUrl: `http://127.0.0.1:${port}/v1`,
    models: [textModel(`${provider}/m`)],
  });
  writeFileSync(join(gateway.config.manifestsDir, file), JSON.stringify(manifest));
}

async function reloaded(provider: string): Promise<void> {
  await until(`the catalog has ${provider}`, () => {
    gateway.running.reload();
    return gateway.running.catalog.current.deployments.some((each) => each.providerId === provider);
  });
}

function keysOf(): Record<string, string> {
  const { deployments } = gateway.running.catalog.current;
  return Object.fromEntries(
    deployments.map(({ providerId, notReady, apiKeyEnv }) => [
      providerId,
      notReady ?? apiKeyEnv ?? "no key",
    ]),
  );
}

async function expectServed(): Promise<void> {
  const { key } = account;
  const answer = await ask(gateway.url, { key, wire: "wire_a", model: "test/a", text: "Hi" });
  expect(answer.status).toBe(200);
}

test("a new file that sorts first takes no provider key from the origin that has it", async () => {
  const owned = { "prov-a": "TEST_PROVIDER_KEY", "prov-b": "TEST_PROVIDER_KEY" };
  expect(keysOf()).toMatchObject(owned);
  write("a-newcomer.json", "newcomer", 1);
  await reloaded("newcomer");
  expect(keysOf()).toMatchObject({ ...owned, newcomer: "key_elsewhere" });
  expect(gateway.log()).toContain(
    `TEST_PROVIDER_KEY belongs to ${new URL(gateway.simulator.url).origin}, which manifest-0.json`,
  );
  await expectServed();
});
