import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { expect, test } from "vitest";

import { ask } from "../../support/ask.ts";
import { until } from "../../support/books.ts";
import { openAccount, withSimulator } from "../../support/gateway.ts";
import {
  ANY_PORTS,
  jsonCommand,
  OPERATOR_ENV,
  withOperatorFolder,
} from "../../support/operator.ts";
import { withBackend } from "../../support/postgres.ts";
import { type RunningProgram, startProgram } from "../../support/program.ts";
import { withResource } from "../../support/with-resource.ts";

const simulator = withSimulator();
const folder = withOperatorFolder(simulator);
const backend = withBackend();

const OLD = Buffer.alloc(32, 1).toString("base64");
const NEW = Buffer.alloc(32, 2).toString("base64");
const OWN_KEY = "sk-customers-own-key-4711";
const CALLERS = 4;
const PAUSE_MS = 20;
/** Far more than the servers take to notice a new key file. */
const FOLLOWED_MS = 60_000;
/** Longer than a virtual key's record is cached. */
const CACHED_MS = 10_000;
/** A failure that no key causes: on a busy machine the database may be too slow for a hold. */
const SLOW_LEDGER = "the ledger journal does not answer";

const ringFile = (): string => join(folder.root, "encryption-key");
const env = (): Record<string, string> => ({
  ...OPERATOR_ENV,
  LOG_LEVEL: "info",
  TM_AUTH_KEY_CACHE_MS: "",
  DATABASE_URL: backend.connectionString,
  TM_MANIFESTS: folder.manifestsDir,
  TM_ENCRYPTION_KEY_FILE: ringFile(),
  TM_LIMITS_KEY_REQUESTS_PER_MINUTE: "1000000",
  TM_LIMITS_ORG_REQUESTS_PER_MINUTE: "1000000",
  TM_LIMITS_TOKENS_PER_MINUTE: "1000000000",
  MY_PROVIDER_KEY: OWN_KEY,
});

const servers = [1, 2].map(() =>
  withResource<RunningProgram>(
    async () => {
      writeFileSync(ringFile(), OLD);
      return await startProgram(["serve", ...ANY_PORTS], env());
    },
    (program) => program.end("SIGTERM"),
  ),
);

test("the encryption key is replaced under load, and no call with an own provider key fails", async () => {
  const { key, orgId } = await openAccount(backend, "10");
  const from = ["--provider-key-env", "MY_PROVIDER_KEY"];
  const named = ["--org", orgId, "--provider", "operated", "--name", "ours"];
  expect((await jsonCommand(["connection", "add", ...named, ...from], env())).code).toBe(0);
  const urls = servers.map(({ ready }) => String(ready["gateway_url"]));
  await until("both use the customer's key", async () => {
    const keys = await Promise.all(urls.map(async (url) => await keyOf(url, key)));
    return keys.every((each) => each.includes("customers"));
  });

  const ended: string[] = [];
  const over = new AbortController();
  const callers = Array.from({ length: CALLERS }, async (_, at) => {
    while (!over.signal.aborted) {
      const { status, text } = await call(urls[at % urls.length] ?? "", key);
      if (!text.includes(SLOW_LEDGER)) ended.push(status === 200 ? "served" : text);
      await sleep(PAUSE_MS);
    }
  });
  try {
    await giveAll([OLD, NEW].join());
    await giveAll([NEW, OLD].join());
    const resealed = await jsonCommand(["connection", "reseal"], env());
    expect(resealed.json).toEqual({ ok: true, resealed: 1, kept: 0, not_decrypted: [] });
    await sleep(CACHED_MS);
    await giveAll(NEW);
    const before = ended.length;
    await until("calls go on with the new key alone", () => ended.length > before + 50);
  } finally {
    over.abort();
    await Promise.all(callers);
  }
  expect(ended.length).toBeGreaterThan(200);
  expect(ended.filter((end) => end !== "served")).toEqual([]);
  // No call fell back to the operator's key.
  expect(simulator.calls().filter(({ headers }) => !isOwn(headers))).toEqual([]);
});

/** Writes the key ring; waits until all instances have noticed the file without a signal. */
async function giveAll(ring: string): Promise<void> {
  const before = servers.map(countFollowed);
  writeFileSync(ringFile(), ring);
  const follow = (): boolean =>
    servers.every((server, at) => countFollowed(server) > (before[at] ?? 0));
  await until("both follow the file", follow, FOLLOWED_MS);
}

function countFollowed(server: RunningProgram): number {
  return server.stderr().split('"changed":["encryption_key"]').length - 1;
}

function call(url: string, key: string): ReturnType<typeof ask> {
  return ask(url, { key, wire: "wire_a", model: "op/model", text: "hi" });
}

async function keyOf(url: string, key: string): Promise<string> {
  expect((await call(url, key)).status).toBe(200);
  const sent = String(simulator.calls().at(-1)?.headers["authorization"]);
  return sent.includes("sk-custo") ? "customers" : sent;
}

function isOwn(headers: Readonly<Record<string, unknown>>): boolean {
  return String(headers["authorization"]).includes("sk-custo");
}
