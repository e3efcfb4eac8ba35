import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:https";
import { connect } from "node:net";
import { join } from "node:path";

import { Webhook } from "standardwebhooks";
import { Stripe } from "stripe";
import { beforeAll, expect, test } from "vitest";

import { createWebhookSecret, sealSecret } from "../../../src/account/alerts/webhook-secrets.ts";
import type { Manifest } from "../../../src/catalog/index.ts";
import { openKeyVault } from "../../../src/gateway/accounts/key-vault.ts";
import { createRecordId } from "../../../src/kernel/core/ids.ts";
import { ask, type HttpAnswer } from "../../support/ask.ts";
import { until } from "../../support/books.ts";
import { openAccount, withSimulator } from "../../support/gateway.ts";
import { bearer, httpCall, listAt, at } from "../../support/http-call.ts";
import { withServer } from "../../support/local-server.ts";
import {
  ANY_PORTS,
  OPERATOR_ENV,
  operatorManifest,
  withOperatorFolder,
} from "../../support/operator.ts";
import { withBackend } from "../../support/postgres.ts";
import { runCommand, type RunningProgram, startProgram } from "../../support/program.ts";
import { selfSigned } from "../../support/self-signed.ts";
import { testOperator } from "../../support/test-operator.ts";
import { startWebhookReceiver } from "../../support/webhook-receiver.ts";
import { withResource } from "../../support/with-resource.ts";

const simulator = withSimulator();
const folder = withOperatorFolder(simulator);
const backend = withBackend();

/** Two price lists with this price, in dollars per million tokens. */
function listsAt(usd: number): Readonly<Record<string, string>> {
  const facts = `"litellm_provider":"groq","mode":"chat","max_input_tokens":1000`;
  const prices = `"input_cost_per_token":${usd}e-06,"output_cost_per_token":${usd}e-06`;
  const sheet = `{"input_mtok":${usd},"output_mtok":${usd}}`;
  return {
    "/litellm.json": `{"groq/acme-1":{${facts},${prices}}}`,
    "/genai.json": `[{"id":"groq","models":[{"id":"acme-1","prices":${sheet}}]}]`,
  };
}

/** The certificate of the server of the price lists, and of the webhook receiver `trusted`. */
const certificate = selfSigned({ host: "localhost" });
const lists = withServer(() =>
  createServer(certificate, (request, response) => {
    response.end(listsAt(1)[request.url ?? ""] ?? "");
  }),
);

/** Imports a manifest at twice the price that the lists on the server state. */
async function importCatalog(): Promise<void> {
  const [litellm = "", genai = ""] = Object.entries(listsAt(2)).map(([name, text]) => {
    const file = join(folder.root, name.replace(".json", "-2026-10-01.json"));
    writeFileSync(file, text);
    return file;
  });
  const how = ["--from", "litellm", "--provider", "groq", "--against", `genai-prices=${genai}`];
  const out = ["--out", join(folder.manifestsDir, "groq.json")];
  const made = await runCommand(["manifest", "import", ...how, ...out, litellm]);
  expect([made.code, made.stderr]).toEqual([0, ""]);
}

const lastYear = selfSigned({ host: "localhost", lastYear: 2024 });
const trusted = withResource(() => startWebhookReceiver(certificate));
const expired = withResource(() => startWebhookReceiver(lastYear));
const stranger = withResource(() => startWebhookReceiver(selfSigned({ host: "localhost" })));

const SECRETS = ["whsec_first_0123456789abcdef", "whsec_second_0123456789abcdef"] as const;
const KEY = Buffer.alloc(32, 1).toString("base64");
const START = { log_level: "info", encryption_key: KEY };
const authorities = (): string => join(folder.root, "ca.pem");
const settingsFile = (): string => join(folder.root, "tokenmarket.yaml");
const secretFile = (): string => join(folder.root, "webhook-secret");

function write(settings: object): void {
  writeFileSync(settingsFile(), JSON.stringify(settings));
}

const server: RunningProgram = withResource(
  async () => {
    write(START);
    writeFileSync(secretFile(), `${SECRETS[0]}\n`);
    await importCatalog();
    // The process trusts these certificate authorities in addition to the public ones.
    writeFileSync(authorities(), `${certificate.cert}${lastYear.cert}`);
    const places = ["--data", folder.dataDir, "--manifests", folder.manifestsDir];
    const how = ["--config", settingsFile(), ...places];
    return await startProgram(["serve", ...ANY_PORTS, ...how], env());
  },
  (program) => program.end("SIGTERM"),
);
let key = "";
beforeAll(async () => {
  ({ key } = await openAccount(backend, "10"));
});

function env(): Record<string, string> {
  const origin = `https://localhost:${lists.port}`;
  return {
    ...OPERATOR_ENV,
    LOG_LEVEL: "",
    DATABASE_URL: backend.connectionString,
    STRIPE_SECRET_KEY: "sk_test_reload",
    STRIPE_WEBHOOK_SECRET_FILE: secretFile(),
    NODE_EXTRA_CA_CERTS: authorities(),
    GROQ_API_KEY: "a-key",
    TM_CATALOG_REFRESH_EVERY: "1d",
    TM_CATALOG_REFRESH_SOURCES: `litellm=${origin}/litellm.json,genai-prices=${origin}/genai.json`,
  };
}

interface ReloadLine {
  readonly changed: readonly string[];
  readonly waiting_for_restart: readonly string[];
  readonly variables: readonly string[];
}

const READ_AGAIN = "settings and secrets were read again";

/** Sends SIGHUP; returns the log line that answers it. */
function reload(message = READ_AGAIN): Promise<ReloadLine> {
  return answered(() => void server.process.kill("SIGHUP"), message);
}

async function answered(act: () => void, message = READ_AGAIN): Promise<ReloadLine> {
  const before = linesOf(message).length;
  act();
  await until(message, () => linesOf(message).length > before);
  return JSON.parse(linesOf(message).at(-1) ?? "") as ReloadLine;
}

function linesOf(message: string): readonly string[] {
  const lines = server.stderr().split("\n");
  return lines.filter((line) => line.includes(message));
}

async function reloadWith(settings: object): Promise<ReloadLine> {
  write(settings);
  return await reload();
}

function call(text = "hi"): Promise<HttpAnswer> {
  const url = String(server.ready["gateway_url"]);
  return ask(url, { key, wire: "wire_a", model: "op/model", text });
}

test("serve reads price lists over TLS, and lists a new price without a restart", async () => {
  await until("customers see the new price", async () => {
    const url = `${String(server.ready["gateway_url"])}/v1/models`;
    const { json } = await httpCall(url, { headers: bearer(key) });
    const found = listAt(json, "data").find((each) => at(each, "id") === "groq/acme-1");
    return at(found, "pricing.prompt") === "0.000001";
  });
  const file = join(folder.manifestsDir, "groq.json");
  const { listing_terms: terms } = JSON.parse(readFileSync(file, "utf8")) as Manifest;
  const today = new Date().toISOString().slice(0, 10);
  expect(terms?.["groq/acme-1"]?.checked).toEqual({ on: today, by: "two-sources" });
  // The files are replaced before the change is committed and logged.
  const action = '"action":"manifest.refresh"';
  await until("the change is logged", () => linesOf(action).length > 0);
});

test("webhooks are sent only to a server with a valid certificate; the log says why others are not", async () => {
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
  expect(server.ready).toHaveProperty("gateway_url");
  const log = await until("each was tried", async () => {
    const lines = await backend.alertStore.log(orgId);
    return lines.every(({ lastAnswer }) => lastAnswer !== null) && lines;
  });
  const said = log.map(({ address, lastAnswer }) => [address, lastAnswer]);
  expect(Object.fromEntries(said)).toEqual(answers);
  expect([expired.received, stranger.received]).toEqual([[], []]);
  const [got, ...more] = trusted.received;
  expect(more).toEqual([]);
  const headers = got?.headers as Record<string, string>;
  const event = new Webhook(secret).verify(got?.body ?? "", headers);
  expect(event).toMatchObject({ type: "alerts.test", data: { org_id: orgId } });
});

test("the log level changes on SIGHUP", async () => {
  expect((await call()).status).toBe(200);
  const loud = await reloadWith({ ...START, log_level: "debug" });
  expect(loud).toMatchObject({ changed: ["log_level"], waiting_for_restart: [] });
  const { requestId } = await call();
  await until("a served request is logged", () => linesOf(requestId).length > 0);
  // The change is logged even if the new level would hide that line.
  const quiet = await reloadWith({ ...START, log_level: "error" });
  expect(quiet).toMatchObject({ changed: ["log_level"] });
  expect(await reloadWith(START)).toMatchObject({ changed: ["log_level"] });
});

test("a reload refuses prices that rise a hundredfold, and the log names the listing", async () => {
  const manifest = operatorManifest(simulator.url, ["op/model"]);
  const text = JSON.stringify(manifest).replaceAll(
    /("cost_usd_per_million":")(\d+)/g,
    (_, name: string, price: string) => `${name}${Number(price) * 100}`,
  );
  folder.writeManifest("first.json", text);
  const refused = await reload("prices changed by a factor of 100 or more: the old catalog stays");
  expect(refused).toMatchObject({ listings: ["operated/op/model"] });
  folder.writeManifest("first.json", manifest);
  await reload();
});

test("a changed payment secret in a file is used without a reload, and is in no log line", async () => {
  const [first, second] = SECRETS;
  expect([await report(first), await report(second)]).toEqual([200, 400]);
  expect(await answered(() => writeFileSync(secretFile(), `${second}\n`))).toMatchObject({
    changed: ["stripe.webhook_secret"],
    variables: ["STRIPE_WEBHOOK_SECRET"],
  });
  expect([await report(first), await report(second)]).toEqual([400, 200]);
  for (const secret of SECRETS) expect(server.stderr()).not.toContain(secret);
});

/** The status with which an event of the payment provider is answered. */
async function report(secret: string): Promise<number> {
  const payload = JSON.stringify({ id: "evt_1", object: "event", type: "ping", data: {} });
  const { webhooks } = new Stripe("sk_test_x");
  const signature = webhooks.generateTestHeaderString({ payload, secret });
  const { status } = await httpCall(`${String(server.ready["console_url"])}/webhooks/stripe`, {
    method: "POST",
    headers: { "content-type": "application/json", "stripe-signature": signature },
    body: payload,
  });
  return status;
}

test.each([
  ["is not YAML", "limits: [", "not valid YAML"],
  ["has a value out of range", "limits: {concurrent_requests: 0}", "limits.concurrent_requests"],
  ["has invalid encryption keys", "encryption_key: a,b", "32 bytes in base64"],
])("a settings file that %s changes nothing, and is logged", async (_what, wrong, problem) => {
  writeFileSync(settingsFile(), `log_level: fatal\n${wrong}`);
  const line = JSON.stringify(await reload("the settings are not valid: nothing has changed"));
  expect(line).toContain(problem);
  expect(await reloadWith(START)).toMatchObject({ changed: [], waiting_for_restart: [] });
});

test("a setting that cannot be reloaded waits for a restart, and the log and the probe name it", async () => {
  const line = await reloadWith({ log_level: "debug", limits: { key_requests_per_minute: 1 } });
  const waiting = ["limits.key_requests_per_minute", "encryption_key"];
  expect(line).toMatchObject({ changed: ["log_level"], waiting_for_restart: waiting });
  expect([(await call()).status, (await call()).status]).toEqual([200, 200]);
  const probe = `${String(server.ready["internal_url"])}/readyz?verbose`;
  expect((await httpCall(probe)).json).toMatchObject({ ready: true, waiting_settings: waiting });
  await reloadWith(START);
  expect((await httpCall(probe)).json).toMatchObject({ waiting_settings: [] });
});

test("a signal, sent twice as npm does, lets a request of the console finish, such as an event of a payment", async () => {
  const { port, hostname } = new URL(String(server.ready["console_url"]));
  const body = "{}";
  const head = `POST /webhooks/stripe HTTP/1.1\r\nhost: ${hostname}:${port}\r\ncontent-length: 2\r\n`;
  const socket = connect(Number(port), hostname);
  let answer = "";
  socket.on("data", (bytes: Buffer) => (answer += bytes.toString()));
  const rest = "content-type: application/json\r\nconnection: close\r\nexpect: 100-continue";
  socket.write(`${head}${rest}\r\n\r\n{`);
  await until("the request has begun", () => answer.startsWith("HTTP/1.1 100 "));
  const ended = server.end("SIGTERM");
  server.process.kill("SIGINT");
  await until("the console accepts no further connection", () =>
    httpCall(String(server.ready["console_url"])).then(
      () => false,
      () => true,
    ),
  );
  socket.write(body.slice(1));
  await once(socket, "close");
  expect(answer).toMatch(/\r\n\r\nHTTP\/1\.1 400 /);
  expect(await ended).toBe(0);
});
