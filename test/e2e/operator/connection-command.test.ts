import { beforeAll, describe, expect, test } from "vitest";

import type { OrgId } from "../../../src/kernel/core/ids.ts";
import { addOrg } from "../../support/add-key.ts";
import { addConnection, ENCRYPTION_KEY } from "../../support/add-connection.ts";
import {
  PROVIDER_KEY,
  simulatorManifest,
  textModel,
  withSimulator,
} from "../../support/gateway.ts";
import {
  collectCommandLogs,
  createdKey,
  jsonCommand,
  OPERATOR_ENV,
  type JsonAnswer,
  withOperatorFolder,
} from "../../support/operator.ts";
import { withBackend } from "../../support/postgres.ts";
import { runCommand, runProgram, type CommandResult } from "../../support/program.ts";

const OWN_KEY = "sk-customers-own-key-4711";
const BAD_KEY = "sk-invalid-key-0815";

const simulator = withSimulator();
const folder = withOperatorFolder(simulator);
const backend = withBackend();
let env: Readonly<Record<string, string>>;
let orgId: OrgId;
let keyId = "";
/** The output of all commands. */
const printed: string[] = [];
const commandLogs = collectCommandLogs();

beforeAll(async () => {
  for (const [file, provider, dialect, baseUrl] of [
    ["messages.json", "worded", "wire_b", `${simulator.url}/b/v1`],
    ["closed.json", "closed", "wire_a", "http://127.0.0.1:1/v1"],
    ["elsewhere.json", "elsewhere", "wire_a", `${simulator.url}/no/such/path`],
  ] as const) {
    const models = [textModel("op/model")];
    folder.writeManifest(file, simulatorManifest({ provider, dialect, baseUrl, models }));
  }
  env = {
    ...OPERATOR_ENV,
    DATABASE_URL: backend.connectionString,
    TM_MANIFESTS: folder.manifestsDir,
    TM_ENCRYPTION_KEY: ENCRYPTION_KEY,
    MY_PROVIDER_KEY: OWN_KEY,
  };
  orgId = await newOrg();
  const key = await jsonCommand(["key", "create", "--org", orgId, "--name", "one"], env);
  ({ keyId } = createdKey(key));
});

const newOrg = (): Promise<OrgId> => addOrg(backend);

async function answer(
  args: readonly string[],
  change: Readonly<Record<string, string>> = {},
): Promise<JsonAnswer> {
  const result = await jsonCommand(["connection", ...args], { ...env, ...change });
  printed.push(result.stdout, result.stderr);
  return result;
}

async function refused(
  args: readonly string[],
  change: Readonly<Record<string, string>> = {},
): Promise<CommandResult> {
  const result = await runCommand(["connection", ...args, "--json"], { ...env, ...change });
  printed.push(result.stdout, result.stderr);
  expect(result).toMatchObject({ code: 2, stdout: "" });
  return result;
}

function adding(provider: string, more: readonly string[] = [], of: string = orgId): string[] {
  const from = ["--provider-key-env", "MY_PROVIDER_KEY"];
  return ["add", "--org", of, "--provider", provider, "--name", "ours", ...from, ...more];
}

describe("connection add", () => {
  test("stores a key of which connection list shows only the last characters", async () => {
    const made = await answer(adding("operated"));
    expect(made.code).toBe(0);
    expect(made.json).toEqual({
      connection_id: expect.stringMatching(/^conn_[0-9a-f]{24}$/),
      provider: "operated",
      key_id: null,
      name: "ours",
      label: "4711",
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
      disabled_at: null,
    });
    const ofKey = await answer(adding("operated", ["--key-id", keyId]));
    expect(ofKey.json).toMatchObject({ key_id: keyId });
    const listed = await answer(["list", "--org", orgId]);
    expect(listed.json).toMatchObject({ is_available: true, data: [made.json, ofKey.json] });
  });

  test("reads the key from standard input, and has no option for the key itself", async () => {
    const of = await newOrg();
    const piped = await runProgram(
      ["connection", "add", "--org", of, "--provider", "operated", "--name", "piped", "--json"],
      env,
      { input: `${OWN_KEY}\n` },
    );
    expect(piped).toMatchObject({ code: 0 });
    expect(JSON.parse(piped.stdout)).toMatchObject({ name: "piped", label: "4711" });
    printed.push(piped.stdout, piped.stderr);
    expect((await runCommand(["connection", "add", "--help"])).stdout).not.toMatch(
      /--(api|provider)-key(?!-env)/,
    );
  });

  test.each([
    ["without an encryption key", () => adding("worded"), { TM_ENCRYPTION_KEY: "" }, "openssl"],
    ["for an unknown organization", () => adding("worded", [], "org_x"), {}, "org list"],
    ["for a provider in no manifest", () => adding("nobody"), {}, "is not listed here"],
    ["for an unknown key_id", () => adding("worded", ["--key-id", "key_x"]), {}, "no such key"],
    ["for a provider that has a key already", () => adding("operated"), {}, "disable"],
    [
      "of a virtual key",
      () => adding("worded"),
      { MY_PROVIDER_KEY: `tm_vk_${"0".repeat(48)}` },
      "marketplace",
    ],
  ])("%s is refused, and the message names the next step", async (_what, args, change, words) => {
    const { stderr } = await refused(args(), change);
    expect(stderr).toContain(words);
    expect(stderr).not.toContain("    at ");
  });
});

/** The answer of a test that failed, with this message. */
function no(message: RegExp): object {
  return { ok: false, message: expect.stringMatching(message) };
}

describe("connection test", () => {
  async function added(provider: string, providerKey = OWN_KEY): Promise<string> {
    return await addConnection(backend, { orgId: await newOrg(), provider, providerKey });
  }

  test.each(["operated", "worded"])(
    "exits with 0 if the provider %s accepts the key, else with 1",
    async (provider) => {
      const tested = await answer(["test", await added(provider)]);
      const message = "the provider accepted the key (status 200)";
      expect([tested.code, tested.json]).toEqual([0, { ok: true, message }]);
      // The simulator does not count a test as a call.
      expect(simulator.counts().total).toBe(0);
      const refusing = await answer(["test", await added(provider, BAD_KEY)]);
      expect(refusing).toMatchObject({ code: 1, json: no(/rejected the key \(status 401\)/) });
    },
  );

  test("tells an unreachable provider from one without a route to test a key", async () => {
    const unreachable = no(/could not be reached: ECONNREFUSED/);
    const unclear = no(/status 404, which does not show/);
    expect(await answer(["test", await added("closed")])).toMatchObject({
      code: 1,
      json: unreachable,
    });
    expect(await answer(["test", await added("elsewhere")])).toMatchObject({
      code: 1,
      json: unclear,
    });
  });

  test("says why a connection cannot be tested", async () => {
    const id = await added("operated");
    const other = { TM_ENCRYPTION_KEY: Buffer.alloc(32, 1).toString("base64") };
    expect((await refused(["test", id], other)).stderr).toContain("another encryption_key");
    expect((await refused(["test", id], { TM_ENCRYPTION_KEY: "" })).stderr).toContain("openssl");
    expect((await refused(["test", "conn_x"])).stderr).toContain("connection list");
    const hidden = await answer(["test", id], { TM_ALLOW_PRIVATE_UPSTREAMS: "0" });
    expect(hidden).toMatchObject({ code: 1, json: no(/PRIVATE_ADDRESS/) });
    const elsewhere = await answer(["test", id, "--manifests", folder.root]);
    expect(elsewhere.json).toMatchObject(no(/no longer listed here/));
    await answer(["disable", id]);
    expect((await refused(["test", id])).stderr).toContain("disabled");
  });
});

test("connection disable is permanent, needs no encryption key, and makes room for a new key", async () => {
  const of = await newOrg();
  const made = await answer(adding("operated", [], of));
  const id = String(made.json["connection_id"]);
  const disabled = await answer(["disable", id], { TM_ENCRYPTION_KEY: "" });
  expect(disabled.json).toMatchObject({
    connection_id: id,
    disabled_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
  });
  expect((await answer(["disable", id])).json).toEqual(disabled.json);
  expect((await refused(["disable", "conn_x"])).stderr).toContain("conn_x");
  expect((await answer(adding("operated", [], of))).code).toBe(0);
});

describe("connection reseal", () => {
  const NEW_KEY = Buffer.alloc(32, 8).toString("base64");
  const reseal = (keys: string): Promise<JsonAnswer> =>
    answer(["reseal"], { TM_ENCRYPTION_KEY: keys });
  const addedToNewOrg = async (): Promise<string> => {
    const made = await answer(adding("operated", [], await newOrg()));
    return String(made.json["connection_id"]);
  };

  test("encrypts every stored key with the first encryption key, once", async () => {
    const id = await addedToNewOrg();
    const both = `${NEW_KEY},${ENCRYPTION_KEY}`;
    const first = await reseal(both);
    expect(first.code).toBe(0);
    expect(first.json).toMatchObject({ ok: true, kept: 0, not_decrypted: [] });
    const count = Number(first.json["resealed"]);
    expect(count).toBeGreaterThan(0);
    const again = { ok: true, resealed: 0, kept: count, not_decrypted: [] };
    expect((await reseal(both)).json).toEqual(again);
    // The old key is no longer needed.
    const tested = await answer(["test", id], { TM_ENCRYPTION_KEY: NEW_KEY });
    expect(tested.json).toMatchObject({ ok: true });
  });

  test("names keys that no encryption key decrypts, keeps them as they are, and exits with 1", async () => {
    const other = Buffer.alloc(32, 5).toString("base64");
    const id = await addedToNewOrg();
    const failed = await reseal(`${other},${NEW_KEY}`);
    expect(failed.code).toBe(1);
    expect(failed.json).toMatchObject({ ok: false, not_decrypted: [id] });
    expect((await answer(["test", id])).json).toMatchObject({ ok: true });
    const keyless = await refused(["reseal"], { TM_ENCRYPTION_KEY: "" });
    expect(keyless.stderr).toContain("TM_ENCRYPTION_KEY");
  });
});

test("no connection command prints or logs a provider key or an encryption key", () => {
  const all = [...printed, ...commandLogs].join("\n");
  expect(all.length).toBeGreaterThan(1_000);
  for (const secret of [OWN_KEY, BAD_KEY, PROVIDER_KEY, ENCRYPTION_KEY]) {
    expect(all).not.toContain(secret);
  }
});
