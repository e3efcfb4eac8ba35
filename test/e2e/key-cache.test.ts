import { expect, onTestFinished, test } from "vitest";

import { sealConnection } from "../../src/auth/connection-store.ts";
import { openKeyVault } from "../../src/auth/key-vault.ts";
import { SETTINGS } from "../../src/config/settings.ts";
import { assert } from "../../src/core/assert.ts";
import type { ProviderId } from "../../src/core/ids.ts";
import { ask } from "../support/ask.ts";
import { startTestGateway, type TestAccount, type TestGateway } from "../support/gateway.ts";
import { StandingClock } from "../support/clocks.ts";

const ENCRYPTION_KEY = Buffer.alloc(32, 5).toString("base64");
const FIVE_SECONDS_MS = 5_000;

test("by default a disabled key, or connection, works for five seconds more and no longer", async () => {
  const clock = new StandingClock();
  const keyCacheMs = SETTINGS.keyCacheMs.fallback;
  const gateway = await startTestGateway({
    clock,
    settings: { encryptionKey: ENCRYPTION_KEY, keyCacheMs },
  });
  onTestFinished(() => gateway.close());
  const account = await gateway.account("1.00");
  const owner = await gateway.account("0");
  const connectionId = await connect(gateway, owner);
  const statuses = () =>
    Promise.all([
      statusOf(gateway, account),
      statusOf(gateway, owner, { provider: { connections: "only" } }),
    ]);
  expect(await statuses()).toEqual([200, 200]);

  await gateway.backend.accountStore.disableKey(account.keyId);
  await gateway.backend.connectionStore.disable(connectionId, owner.orgId);
  clock.moveOn(FIVE_SECONDS_MS - 1);
  expect(await statuses()).toEqual([200, 200]);
  clock.moveOn(1);
  for (let again = 0; again < 10; again += 1) expect(await statuses()).toEqual([401, 404]);
});

async function statusOf(
  { url }: TestGateway,
  { key }: TestAccount,
  more: object = {},
): Promise<number> {
  const answer = await ask(url, { key, wire: "wire_a", model: "test/a", text: "Hello", more });
  return answer.status;
}

async function connect(gateway: TestGateway, { orgId }: TestAccount): Promise<string> {
  const vault = openKeyVault(ENCRYPTION_KEY);
  assert(vault !== undefined, "the encryption key is one");
  const made = await gateway.backend.connectionStore.create(
    sealConnection(vault, {
      orgId,
      providerId: "prov-a" as ProviderId,
      keyId: null,
      name: "ours",
      providerKey: "customer-own-key-0123456789",
    }),
  );
  assert(typeof made === "object", "the connection is made");
  return made.connectionId;
}
