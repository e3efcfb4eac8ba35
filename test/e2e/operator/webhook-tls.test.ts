import { writeFileSync } from "node:fs";
import { join } from "node:path";

import { Webhook } from "standardwebhooks";
import { expect, test } from "vitest";

import { openKeyVault } from "../../../src/gateway/accounts/key-vault.ts";
import { createWebhookSecret, sealSecret } from "../../../src/account/alerts/webhook-secrets.ts";
import { createRecordId } from "../../../src/kernel/core/ids.ts";
import { until } from "../../support/books.ts";
import { serve, withOperatorFolder } from "../../support/operator.ts";
import { withBackend } from "../../support/postgres.ts";
import { selfSigned } from "../../support/self-signed.ts";
import { testOperator } from "../../support/test-operator.ts";
import { startWebhookReceiver } from "../../support/webhook-receiver.ts";
import { withResource } from "../../support/with-resource.ts";

const KEY = Buffer.alloc(32, 7).toString("base64");

async function openReceiver(of: Parameters<typeof selfSigned>[0]) {
  const certificate = selfSigned(of);
  return { ...(await startWebhookReceiver(certificate)), cert: certificate.cert };
}

const backend = withBackend();
const folder = withOperatorFolder({ url: "http://127.0.0.1:9" });
const trusted = withResource(() => openReceiver({ host: "localhost" }));
const expired = withResource(() => openReceiver({ host: "localhost", lastYear: 2024 }));
const stranger = withResource(() => openReceiver({ host: "localhost" }));
const program = withResource(
  () => {
    // The process trusts these authorities besides the public ones.
    const extra = join(folder.root, "extra-ca.pem");
    writeFileSync(extra, `${trusted.cert}${expired.cert}`);
    return serve(folder, {
      DATABASE_URL: backend.connectionString,
      TM_ENCRYPTION_KEY: KEY,
      NODE_EXTRA_CA_CERTS: extra,
    });
  },
  (running) => running.end("SIGTERM"),
);

test("webhooks are sent over TLS only to a trusted certificate, and the log names another", async () => {
  const org = { name: "Ada & Co", email: "ada@example.com" };
  const { orgId } = await backend.accountStore.createOrg(org, testOperator);
  const vault = openKeyVault(KEY);
  if (vault === undefined) throw new Error("there is a key");
  const secret = createWebhookSecret();
  const add = async (address: string): Promise<void> => {
    const destinationId = createRecordId("dst");
    const sealedSecret = sealSecret(vault, secret, { destinationId, orgId });
    const wanted = { destinationId, channel: "webhook", address, kinds: null } as const;
    await backend.alertStore.addDestination(orgId, { ...wanted, sealedSecret }, testOperator);
    await backend.alertStore.sendTest(orgId, destinationId);
  };
  const answers = {
    [`https://localhost:${trusted.port}/hook`]: "status 204",
    [`https://127.0.0.1:${trusted.port}/hook`]:
      "not sent: the certificate is that of another host (ERR_TLS_CERT_ALTNAME_INVALID)",
    [`https://localhost:${expired.port}/hook`]:
      "not sent: the certificate has expired (CERT_HAS_EXPIRED)",
    [`https://localhost:${stranger.port}/hook`]:
      "not sent: the certificate is not valid (DEPTH_ZERO_SELF_SIGNED_CERT)",
  };
  for (const address of Object.keys(answers)) await add(address);
  expect(program.ready).toHaveProperty("gateway_url");
  const log = await until("each was tried", async () => {
    const lines = await backend.alertStore.log(orgId);
    return lines.every(({ lastAnswer }) => lastAnswer !== null) && lines;
  });
  const said = log.map(({ address, lastAnswer }) => [address, lastAnswer]);
  expect(Object.fromEntries(said)).toEqual(answers);
  expect([expired.received, stranger.received]).toEqual([[], []]);
  const [got, ...more] = trusted.received;
  expect(more).toEqual([]);
  expect(
    new Webhook(secret).verify(got?.body ?? "", got?.headers as Record<string, string>),
  ).toMatchObject({
    type: "alerts.test",
    data: { org_id: orgId },
  });
});
