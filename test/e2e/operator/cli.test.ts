import { readFileSync, renameSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { describe, expect, test } from "vitest";

import { ask, at, get } from "../../support/ask.ts";
import { until } from "../../support/books.ts";
import { chatBody } from "../../support/chat-bodies.ts";
import { httpCall } from "../../support/http-call.ts";
import { builtProgram } from "../../support/build-program.ts";
import { PROVIDER_KEY, withSimulator } from "../../support/gateway.ts";
import {
  ANY_PORTS,
  collectCommandLogs,
  jsonCommand,
  createdKey,
  openAccountByCommands,
  operatorManifest,
  OPERATOR_ENV,
  serve,
  withOperatorFolder,
} from "../../support/operator.ts";
import { emptyDatabase, runOnce, withDatabase } from "../../support/postgres.ts";
import { type ProgramPlace, runCommand, runProgram, startProgram } from "../../support/program.ts";
import { withResource } from "../../support/with-resource.ts";

const simulator = withSimulator();
const folder = withOperatorFolder(simulator);
const books = withDatabase();
const env = () => ({ DATABASE_URL: books.connectionString });
const server = withResource(
  () => serve(folder, env()),
  (running) => running.end("SIGTERM"),
);
const rawKeys: string[] = [];
const commandLogs = collectCommandLogs();

function gatewayUrl(): string {
  return String(server.ready["gateway_url"]);
}

test("the ready line names the three listeners", () => {
  const address = expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/);
  const urls = { gateway_url: address, console_url: address, internal_url: address };
  expect(server.ready).toMatchObject({ msg: "ready", ...urls });
  expect(server.stdout()).toBe("");
});

describe("on the database of a running server", () => {
  let orgId = "";
  let keyId = "";
  let key = "";
  const run = (...args: readonly string[]) => jsonCommand(args, env());
  /** Runs a command that must be refused; returns its message. */
  async function refused(...args: readonly string[]): Promise<string> {
    const { code, stdout, stderr } = await runCommand(args, { ...OPERATOR_ENV, ...env() });
    expect({ args, code, stdout }).toEqual({ args, code: 2, stdout: "" });
    return stderr;
  }

  test("org create, credit grant and key create open an account whose key works at once", async () => {
    const made = await run("org", "create", "Acme", "--email", "a@example.com");
    expect(made.code).toBe(0);
    orgId = String(made.json["org_id"]);
    expect(made.json).toEqual({ org_id: orgId, name: "Acme", email: "a@example.com" });
    const grant = ["credit", "grant", "--org", orgId, "--ref", "r1", "--amount-usd"];
    const granted = { balance_usd: "25.000000", is_new: true };
    expect((await run(...grant, "25.00")).json).toEqual(granted);
    expect((await run(...grant, "25.00")).json).toEqual({ ...granted, is_new: false });
    const taken = "tokenmarket: reference r1 belongs to another grant";
    expect(await refused(...grant, "26")).toContain(taken);
    const named = ["key", "create", "--org", orgId, "--name", "ci"];
    const created = await run(...named, "--rpm", "7", "--cap-usd", "5");
    ({ key, keyId } = createdKey(created));
    rawKeys.push(key);
    expect(key).toMatch(/^tm_vk_[0-9a-f]{48}$/);
    const label = key.slice(0, 12);
    expect(created.json["key"]).toMatchObject({ label, rpm_ceiling: 7, cap_usd: "5.000000" });
    const listed = await run("key", "list", "--org", orgId);
    expect(listed.json["data"]).toMatchObject([{ key_id: keyId, label, disabled_at: null }]);
    expect(listed.stdout).not.toContain(key);
    const answer = await ask(gatewayUrl(), { key, wire: "wire_a", model: "op/model", text: "hi" });
    expect(answer.status).toBe(200);
    expect(answer.headers["x-tm-remaining-rpm"]).toBe("6");
    const { json } = await run("credit", "ledger", "--org", orgId);
    expect(json).toMatchObject({ org_id: orgId, held_usd: "0.000000" });
    expect(json["balance_usd"]).toMatch(/^24\.99\d{4}$/);
    expect(json["entries"]).toEqual([
      expect.objectContaining({ amount_usd: expect.stringMatching(/^-0\.\d{6}$/) }),
      expect.objectContaining({ kind: "grant", ref: "r1", amount_usd: "25.000000" }),
    ]);
  });

  test("org create refuses a blank name and hidden characters", async () => {
    const create = (name: string) => refused("org", "create", name, "--email", "a@example.com");
    expect(await create(" ")).toContain("name must not be blank");
    expect(await create("A\u202eB")).toContain("without characters that are not seen");
  });

  test("statement show names a console that listens on IPv6 by an address that browsers take", async () => {
    const ofOrg = ["--org", orgId];
    const { json } = await run("statement", "list", ...ofOrg);
    const show = ["statement", "show", String(at(json, "data", 0, "month")), ...ofOrg];
    const listening = { ...env(), TM_HOST: "::", TM_CONSOLE_PORT: "8081" };
    const shown = await jsonCommand(show, listening);
    expect(shown.json["issuer"]).toMatchObject({ url: "http://[::1]:8081" });
  });

  test("a command that does not know an id names the command that lists the ids", async () => {
    for (const [group, command] of Object.entries({ key: "show", connection: "disable" })) {
      const said = await refused(group, command, "none");
      const list = /`tokenmarket (\w+ list) --org ID` has the ids/.exec(said)?.[1];
      expect(list).toBe(`${group} list`);
      expect(await run(group, "list", "--org", orgId)).toMatchObject({ code: 0 });
    }
  });

  test("key change keeps the fields that are not named, and needs --confirm for a cap already spent", async () => {
    const change = ["key", "change", keyId];
    const listed = ["--manifests", folder.manifestsDir];
    const expires_at = "2030-01-31T00:00:00.000Z";
    const expiry = await run(...change, "--expires-at", expires_at, "--tags", "eu, batch");
    expect(expiry.json).toMatchObject({ expires_at, models: null, tags: ["batch", "eu"] });
    // The operator's shell has no key of the provider.
    const keyless = { ...env(), TEST_PROVIDER_KEY: "" };
    const only = await jsonCommand([...change, "--models", "op/model", ...listed], keyless);
    expect(only.json).toMatchObject({ expires_at, models: ["op/model"] });
    const lifted = await run(...change, "--expires-at", "never", "--models", "");
    expect(lifted.json).toMatchObject({ key_id: keyId, expires_at: null, models: null });
    for (const [says, ...asked] of [
      ['--models has "op/modle", which is not listed', "--models", "op/modle", ...listed],
      ["--expires-at has already passed", "--expires-at", "2020-01-31T00:00Z"],
      ["--expires-at is more than 10 years ahead", "--expires-at", "2099-01-31T00:00Z"],
      ["--rpm must be a whole number", "--rpm", "many"],
      ["--cap-usd must be", "--cap-usd", "much"],
      ["Confirm to set it anyway with --confirm", "--cap-usd", "0.000001"],
    ]) {
      expect(await refused(...change, ...asked)).toContain(says);
    }
    const { json } = await run(...change, "--cap-usd", "0.000001", "--confirm");
    expect(json).toMatchObject({ key_id: keyId, cap_usd: "0.000001" });
  });

  test("key rotate keeps the old secret for the grace hours, and key disable ends both secrets", async () => {
    const rotate = ["key", "rotate", keyId, "--grace-hours"];
    const { json } = await run(...rotate, "1");
    const secret = String(json["secret"]);
    rawKeys.push(secret);
    expect(json).toMatchObject({ key: { key_id: keyId, label: secret.slice(0, 12) } });
    for (const raw of [secret, key]) {
      expect((await get(gatewayUrl(), { key: raw, path: "/v1/usage" })).status).toBe(200);
    }
    const hours = "--grace-hours must be a whole number of hours from 0 to 72";
    expect(await refused(...rotate, "73")).toContain(hours);
    const shown = await runCommand(["key", "show", keyId], { ...OPERATOR_ENV, ...env() });
    expect(shown.stdout).toMatch(/^key\.key_id +key_\w+\nkey\.name +ci\n/);
    expect(shown.stdout).toMatch(/\ndays:\nday +requests +spent_usd\n\d{4}-\d\d-\d\d +0 +/);
    expect(shown.stdout).not.toContain(key);
    const disabled = await run("key", "disable", keyId);
    expect(disabled.json).toMatchObject({ disabled_at: expect.stringMatching(/^20.*Z$/) });
    for (const raw of [secret, key]) {
      const answer = await until("the key is refused", async () => {
        const tried = await get(gatewayUrl(), { key: raw, path: "/v1/usage" });
        return tried.status === 401 ? tried : undefined;
      });
      expect(at(answer.json, "error", "code")).toBe("auth");
    }
  });

  test("ledger audit, ledger recover and doctor find nothing wrong while the server runs", async () => {
    const [audit, recover, doctor] = await Promise.all([
      run("ledger", "audit"),
      run("ledger", "recover"),
      run("doctor", "--manifests", folder.manifestsDir),
    ]);
    expect(audit).toMatchObject({ code: 0, json: { ok: true } });
    const title = expect.any(String);
    expect(audit.json["checks"]).toContainEqual({ id: title, title, violations: 0 });
    expect(recover).toMatchObject({ code: 0, json: { recovered: 0 } });
    expect(doctor).toMatchObject({ code: 0, json: { ok: true } });
  });
});

test("the catalog follows manifest files, stays while one is invalid, and is rebuilt on SIGHUP", async () => {
  const { key } = await openAccountByCommands([], "1.00", env());
  rawKeys.push(key);
  const models = async (): Promise<readonly unknown[]> => {
    const { json } = await get(gatewayUrl(), { key, path: "/v1/models" });
    return (at(json, "data") as readonly unknown[]).map((model) => at(model, "id"));
  };
  expect(await models()).toEqual(["op/model"]);
  folder.writeManifest("first.json", operatorManifest(simulator.url, ["op/model", "op/new"]));
  await until("the new model is listed", async () => (await models()).includes("op/new"));

  folder.writeManifest("first.json", '{"manifest_version":"1","models":[]}');
  const line = await until("the log says why", () => {
    const lines = server.stderr().split("\n");
    return lines.find((one) => one.includes("the old catalog stays in use"));
  });
  const { issues } = JSON.parse(line) as { issues: readonly Record<string, string>[] };
  const issue = { file: "first.json", pointer: "/models", message: expect.any(String) };
  expect(issues).toContainEqual(expect.objectContaining(issue));
  expect(await models()).toEqual(["op/model", "op/new"]);

  // If a link's target changes, the folder does not, so the target is read only on the signal.
  const target = join(folder.root, "elsewhere.json");
  const write = (ids: readonly string[]): void =>
    writeFileSync(target, JSON.stringify(operatorManifest(simulator.url, ids)));
  write(["op/linked"]);
  symlinkSync(target, join(folder.root, "link"));
  renameSync(join(folder.root, "link"), join(folder.manifestsDir, "first.json"));
  await until("the link is read", async () => (await models()).includes("op/linked"));
  write(["op/linked", "op/signalled"]);
  expect(await models()).toEqual(["op/linked"]);
  server.process.kill("SIGHUP");
  await until("the signal is received", async () => (await models()).includes("op/signalled"));
});

describe("a database without a server", () => {
  const database = withResource(emptyDatabase, (opened) => opened.drop());

  test("can be migrated and used by commands, and doctor exits with 1 for broken books", async () => {
    const own = { DATABASE_URL: database.connectionString };
    const first = await jsonCommand(["migrate"], own);
    expect(first).toMatchObject({ code: 0, json: { ok: true, left: [] } });
    expect(first.json["migrated"]).not.toEqual([]);
    const again = await jsonCommand(["migrate"], own);
    expect(again.json).toEqual({ ok: true, migrated: [], left: [] });
    const made = await jsonCommand(["org", "create", "Own", "--email", "o@example.com"], own);
    const listed = await jsonCommand(["org", "list"], own);
    expect(listed.json["data"]).toMatchObject([{ org_id: made.json["org_id"], name: "Own" }]);
    await runOnce(
      database.connectionString,
      `alter table account disable trigger user;
      update account set credits = credits + 9, reserved = reserved + 5 where org_id is not null`,
    );
    const doctor = await jsonCommand(["doctor", "--manifests", folder.manifestsDir], own);
    expect(doctor).toMatchObject({ code: 1, json: { ok: false } });
    const checks = doctor.json["checks"];
    expect(checks).toContainEqual(expect.objectContaining({ id: "books", level: "problem" }));
  });

  test("that is unreachable makes a command exit with 2, and its password is not printed", async () => {
    const nowhere = { DATABASE_URL: "postgres://me:hunter2hunter2@127.0.0.1:1/nothing" };
    const result = await runCommand(["org", "list", "--json"], { ...OPERATOR_ENV, ...nowhere });
    expect(result.code).toBe(2);
    expect(result.stdout).toBe("");
    expect(result.stderr).not.toBe("");
    expect(result.stderr).not.toContain("hunter2");
  });
});

describe("manifests", () => {
  test("manifest check notes a price that looks too high, and exits with 1 for problems", async () => {
    const good = folder.writeManifest("good.txt", operatorManifest(simulator.url, ["x/y"]));
    const bad = folder.writeManifest("bad.txt", {
      ...operatorManifest(simulator.url, ["x/y"]),
      manifest_version: "2",
      settlement: { mode: "sometimes", interval: "daily" },
    });
    const cheap = JSON.stringify(operatorManifest(simulator.url, ["x/y"]));
    const price = cheap.replace(/("cost_usd_per_million":")\d+[^"]*/, "$1150000");
    const dear = folder.writeManifest("dear.txt", price);
    const elsewhere = JSON.stringify(operatorManifest("https://two.example", ["y/z"]));
    const two = folder.writeManifest("two.txt", elsewhere.replaceAll('"operated"', '"two"'));
    const [valid, noted, invalid, shared] = await Promise.all(
      [[good], [dear], [good, bad], [good, two]].map((files) =>
        jsonCommand(["manifest", "check", ...files]),
      ),
    );
    // Two endpoints at different origins name the same environment variable for their keys.
    const conflict = { file: two, pointer: "/endpoint/api_key_env" };
    expect(shared).toMatchObject({ code: 1, json: { issues: [conflict] } });
    expect(valid).toMatchObject({ code: 0, json: { ok: true, issues: [], notes: [] } });
    const message = expect.stringContaining("above $10000 per");
    expect(noted?.json["notes"]).toMatchObject([{ message }]);
    expect(invalid).toMatchObject({ code: 1, json: { ok: false } });
    const text = expect.any(String);
    expect(invalid?.json["issues"]).toEqual([
      { file: bad, pointer: "/manifest_version", rule: text, message: text },
      { file: bad, pointer: "/settlement/mode", rule: text, message: text },
    ]);
  });

  test("manifest check exits with 1 for two manifests of the same provider", async () => {
    const first = folder.writeManifest("first.txt", operatorManifest(simulator.url, ["x/y"]));
    const twin = folder.writeManifest("twin.txt", operatorManifest(simulator.url, ["x/z"]));
    const issues = [{ file: twin, pointer: "/provider/id", rule: "catalog-conflict" }];
    const both = await jsonCommand(["manifest", "check", first, twin]);
    expect(both).toMatchObject({ code: 1, json: { ok: false, issues } });
    expect(await jsonCommand(["manifest", "check", first, first])).toMatchObject({ code: 0 });
  });

  test("catalog build writes the catalog, and manifest schema prints the published schema", async () => {
    const out = join(folder.root, "catalog.json");
    const built = ["catalog", "build", "--manifests", folder.manifestsDir, "--out", out];
    const { code, json } = await jsonCommand(built);
    expect(code).toBe(0);
    expect(json).toMatchObject({ ok: true, models: 2 });
    const written: unknown = JSON.parse(readFileSync(out, "utf8"));
    expect(at(written, "models", 0, "id")).toMatch(/^op\//);
    const published = new URL("../../../schema/provider-manifest.schema.json", import.meta.url);
    const schema = await jsonCommand(["manifest", "schema"]);
    expect(schema).toMatchObject({ code: 0, json: JSON.parse(readFileSync(published, "utf8")) });
  });
});

test("simulate plays a provider of one wire with one fault until it is stopped", async () => {
  const how = ["--port", "0", "--wire", "wire_a", "--fault", "status:503", "--json"];
  const program = await startProgram(["simulate", ...how], OPERATOR_ENV);
  const url = String(program.ready["url"]);
  const body = chatBody("m");
  expect((await httpCall(`${url}/v1/chat/completions`, { body })).status).toBe(503);
  expect((await httpCall(`${url}/v1/messages`, { body })).status).toBe(404);
  expect(await program.end("SIGTERM")).toBe(0);
});

test("a wrong call exits with 2, a sentence on standard error and nothing on standard output", async () => {
  const wrong: readonly (readonly string[])[] = [
    ["frobnicate"],
    ["org", "create", "x"],
    ["credit", "grant", "--org", "org_x", "--amount-usd", "0", "--ref", "z"],
    ["credit", "ledger", "--org", "org_none"],
    ["key", "create", "--org", "org_none", "--name", "x"],
    ["key", "disable", "key_none"],
    ["manifest", "check", "nowhere.json"],
    ["simulate", "--port", "0", "--fault", "explode"],
    ["serve", "--port", "many"],
    ["doctor", "--config", "nowhere.yaml"],
  ];
  const results = await Promise.all(
    wrong.map((args) => runCommand([...args, "--json"], { ...OPERATOR_ENV, ...env() })),
  );
  const sentence = expect.stringMatching(/\w+ \w+/);
  for (const [n, { code, stdout, stderr }] of results.entries()) {
    const call = wrong[n]?.join(" ");
    const said = stderr.trim().split("\n").at(-1);
    expect({ call, code, stdout, said }).toEqual({ call, code: 2, stdout: "", said: sentence });
    expect(stderr).toContain(call === "org create x" ? "--email" : "");
  }
});

test("serve refuses a manifest folder that was named and does not exist", async () => {
  const args = ["serve", ...ANY_PORTS, "--manifests", "./elsewhere"];
  const result = await runCommand(args, { ...OPERATOR_ENV, ...env() });
  expect(result).toMatchObject({ code: 2, stdout: "" });
  expect(result.stderr).toContain("./elsewhere: there is no such folder");
});

test("a command in its own process has the same exit code and output as in the test process", async () => {
  const bad = folder.writeManifest("bad.txt", { manifest_version: "2" });
  const check = ["manifest", "check", bad, "--json"];
  const negative = await runProgram(check, OPERATOR_ENV);
  expect(negative).toMatchObject({ code: 1, stderr: "" });
  expect(JSON.parse(negative.stdout)).toMatchObject({ ok: false });
  expect(await runCommand(check, OPERATOR_ENV)).toEqual(negative);
});

test("a command whose output cannot be written never exits with 1, the code of a negative answer", async () => {
  const { mainFile } = await builtProgram();
  const onFullDisk = (output: string, ...args: readonly string[]) => {
    const shell = ["sh", "-c", `exec "$0" "$@" ${output}>/dev/full`, process.execPath] as const;
    const shelled: ProgramPlace = { command: [...shell, mainFile], cwd: folder.root };
    return runProgram(args, OPERATOR_ENV, { place: shelled });
  };
  expect(await onFullDisk("", "manifest", "schema")).toMatchObject({
    code: 2,
    stderr: "tokenmarket: standard output cannot be written (ENOSPC)\n",
  });
  expect(await onFullDisk("2", "frobnicate")).toMatchObject({ code: 2 });
  expect(await onFullDisk("2", "version")).toMatchObject({ code: 0 });
});

test("no virtual key and no provider key is in a log", () => {
  expect(rawKeys.length).toBeGreaterThan(1);
  const logs = [server.stderr(), server.stdout(), ...commandLogs].join("\n");
  expect(logs).toContain('"msg":"ready"');
  for (const key of rawKeys) expect(logs).not.toContain(key.slice(12));
  expect(logs).not.toContain(PROVIDER_KEY);
  expect(logs).not.toMatch(/tm_vk_[0-9a-f]{7,}/);
  expect(logs).not.toMatch(/postgres:\/\/[^:]+:[^@]+@/);
});
