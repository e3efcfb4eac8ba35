import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { expect, test } from "vitest";

import { ask } from "../support/ask.ts";
import { until } from "../support/books.ts";
import { simulatorManifest, textModel, withAccount, withGateway } from "../support/gateway.ts";
import { runCommand } from "../support/program.ts";
import { newFolder } from "../support/run-folder.ts";

const folder = newFolder("secret");
const keyFile = join(folder, "provider-key");
writeFileSync(keyFile, "key-one-0123456789\n");

const gateway = withGateway({
  settings: { providerKeyOrigins: "" },
  env: { TEST_PROVIDER_KEY: "", TEST_PROVIDER_KEY_FILE: keyFile },
});
const account = withAccount(gateway, "5.00");

/** The key that a provider gets with a call that is served. */
async function sentKey(): Promise<string> {
  const { key } = account;
  const answer = await ask(gateway.url, { key, wire: "wire_a", model: "test/a", text: "Hi" });
  expect(answer.status).toBe(200);
  return String(gateway.simulator.calls().at(-1)?.headers["authorization"]);
}

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

test("a new manifest gets no provider key that another origin already has", async () => {
  const owned = { "prov-a": "TEST_PROVIDER_KEY", "prov-b": "TEST_PROVIDER_KEY" };
  expect(keysOf()).toMatchObject(owned);
  write("a-newcomer.json", "newcomer", 1);
  await reloaded("newcomer");
  expect(keysOf()).toMatchObject({ ...owned, newcomer: "key_elsewhere" });
  expect(gateway.log()).toContain(
    `TEST_PROVIDER_KEY belongs to ${new URL(gateway.simulator.url).origin}, which manifest-0.json`,
  );
  expect(await sentKey()).toBe("Bearer key-one-…");
});

test("a provider key is read from its file, and a replaced key is sent after a reload", async () => {
  expect(await sentKey()).toBe("Bearer key-one-…");
  writeFileSync(keyFile, "key-two-0123456789\n");
  gateway.running.reload();
  await until("the log names the variable", () =>
    gateway.log().includes('"variables":["TEST_PROVIDER_KEY"]'),
  );
  expect(await sentKey()).toBe("Bearer key-two-…");
});

test("a missing key file leaves the old provider key in use, and the log names the file", async () => {
  rmSync(keyFile);
  gateway.running.reload();
  await until("the log names the file", () =>
    gateway.log().includes(`TEST_PROVIDER_KEY_FILE: ${keyFile} cannot be read (ENOENT)`),
  );
  expect(await sentKey()).toBe("Bearer key-two-…");
});

test("a command exits with 2 and names the file of a secret that it cannot read", async () => {
  const { code, stderr } = await runCommand(["org", "list"], {
    DATABASE_URL_FILE: join(folder, "none"),
  });
  expect(code).toBe(2);
  expect(stderr).toContain(`DATABASE_URL_FILE: ${folder}/none cannot be read (ENOENT)`);
});
