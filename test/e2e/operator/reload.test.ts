import { writeFileSync } from "node:fs";
import { join } from "node:path";

import { Stripe } from "stripe";
import { beforeAll, expect, test } from "vitest";

import { ask, type HttpAnswer } from "../../support/ask.ts";
import { until } from "../../support/books.ts";
import { openAccount, withSimulator } from "../../support/gateway.ts";
import { httpCall } from "../../support/http-call.ts";
import { OPERATOR_ENV, operatorManifest, withOperatorFolder } from "../../support/operator.ts";
import { withBackend } from "../../support/postgres.ts";
import { type RunningProgram, startProgram } from "../../support/program.ts";
import { withResource } from "../../support/with-resource.ts";

const simulator = withSimulator();
const folder = withOperatorFolder(simulator);
const backend = withBackend();

const SECRETS = ["whsec_first_0123456789abcdef", "whsec_second_0123456789abcdef"] as const;
const KEYS = [1, 2].map((byte) => Buffer.alloc(32, byte).toString("base64"));
const START = { log_level: "info", encryption_key: KEYS[0] };
const settingsFile = (): string => join(folder.root, "tokenmarket.yaml");
const secretFile = (): string => join(folder.root, "webhook-secret");

function write(settings: object): void {
  writeFileSync(settingsFile(), JSON.stringify(settings));
}

const server: RunningProgram = withResource(
  async () => {
    write(START);
    writeFileSync(secretFile(), `${SECRETS[0]}\n`);
    const ports = ["--port", "0", "--console-port", "0", "--internal-port", "0"];
    const places = ["--config", settingsFile(), "--manifests", folder.manifestsDir];
    return await startProgram(["serve", ...ports, ...places], env());
  },
  (program) => program.end("SIGTERM").then(() => undefined),
);
let key = "";
beforeAll(async () => {
  ({ key } = await openAccount(backend, "10"));
});

function env(): Record<string, string> {
  return {
    ...OPERATOR_ENV,
    LOG_LEVEL: "",
    DATABASE_URL: backend.connectionString,
    STRIPE_SECRET_KEY: "sk_test_reload",
    STRIPE_WEBHOOK_SECRET_FILE: secretFile(),
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
  return server
    .stderr()
    .split("\n")
    .filter((line) => line.includes(message));
}

async function reloadWith(settings: object): Promise<ReloadLine> {
  write(settings);
  return await reload();
}

function call(text = "hi"): Promise<HttpAnswer> {
  const url = String(server.ready["gateway_url"]);
  return ask(url, { key, wire: "wire_a", model: "op/model", text });
}

test("the log level changes on SIGHUP", async () => {
  expect((await call()).status).toBe(200);
  expect(await reloadWith({ ...START, log_level: "debug" })).toMatchObject({
    changed: ["log_level"],
    waiting_for_restart: [],
  });
  const { requestId } = await call();
  await until("a served request is logged", () => linesOf(requestId).length > 0);
  // The change is logged even if the new level would hide that line.
  const quiet = await reloadWith({ ...START, log_level: "error" });
  expect(quiet).toMatchObject({ changed: ["log_level"] });
  expect(await reloadWith(START)).toMatchObject({ changed: ["log_level"] });
});

test("prices that rise a hundredfold are refused while the gateway runs", async () => {
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

/** The status that an event of the payment provider is answered with. */
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
  ["has encryption keys that are none", "encryption_key: a,b", "32 bytes in base64"],
])("a file that %s changes nothing, and the log names the place", async (_what, wrong, problem) => {
  writeFileSync(settingsFile(), `log_level: fatal\n${wrong}`);
  const line = JSON.stringify(await reload("the settings are not valid: nothing has changed"));
  expect(line).toContain(problem);
  expect(await reloadWith(START)).toMatchObject({ changed: [], waiting_for_restart: [] });
});

test("every other changed setting waits for a restart, and the log and the probe name it", async () => {
  const line = await reloadWith({ log_level: "debug", limits: { key_requests_per_minute: 1 } });
  const waiting = ["limits.key_requests_per_minute", "encryption_key"];
  expect(line).toMatchObject({ changed: ["log_level"], waiting_for_restart: waiting });
  expect([(await call()).status, (await call()).status]).toEqual([200, 200]);
  const probe = `${String(server.ready["internal_url"])}/readyz?verbose`;
  expect((await httpCall(probe)).json).toMatchObject({ ready: true, waiting_settings: waiting });
  await reloadWith(START);
  expect((await httpCall(probe)).json).toMatchObject({ waiting_settings: [] });
});
