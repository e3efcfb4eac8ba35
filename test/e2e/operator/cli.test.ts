import { readFileSync, renameSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { ask, at, get } from "../../support/ask.ts";
import { until } from "../../support/books.ts";
import { PROVIDER_KEY, withSimulator } from "../../support/gateway.ts";
import {
  collectCommandLogs,
  jsonCommand,
  createdKey,
  openAccountByCommands,
  operatorFolder,
  operatorManifest,
  OPERATOR_ENV,
  serve,
  withOperatorFolder,
} from "../../support/operator.ts";
import { emptyDatabase, type FreshDatabase, runOnce } from "../../support/postgres.ts";
import { runCommand, startProgram } from "../../support/program.ts";
import { withResource } from "../../support/with-resource.ts";

const simulator = withSimulator();
const folder = withOperatorFolder(simulator);
const server = withResource(
  () => serve(folder),
  (running) => running.end("SIGTERM"),
);
/** `--data <folder>` of the running server. */
let place: readonly string[];
const rawKeys: string[] = [];
const commandLogs = collectCommandLogs();

beforeAll(() => {
  place = ["--data", folder.dataDir];
});

function gatewayUrl(): string {
  return String(server.ready["gateway_url"]);
}

test("the ready line names the three listeners", () => {
  expect(server.ready).toMatchObject({
    msg: "ready",
    gateway_url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/),
    console_url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/),
    internal_url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/),
  });
  expect(server.stdout()).toBe("");
});

describe("a running server", () => {
  let orgId = "";
  let keyId = "";
  let key = "";

  test("org create makes an organization, which org list then shows", async () => {
    const made = await jsonCommand(["org", "create", "Acme", "--email", "a@example.com", ...place]);
    expect(made.code).toBe(0);
    orgId = String(made.json["org_id"]);
    expect(made.json).toEqual({ org_id: orgId, name: "Acme", email: "a@example.com" });
    const listed = await jsonCommand(["org", "list", ...place]);
    expect(listed.json["data"]).toContainEqual(
      expect.objectContaining({ org_id: orgId, balance_usd: "0.000000", held_usd: "0.000000" }),
    );
  });

  test("credit grant credits once per reference", async () => {
    const grant = [
      "credit",
      "grant",
      "--org",
      orgId,
      "--amount-usd",
      "25.00",
      "--ref",
      "r1",
      ...place,
    ];
    const first = await jsonCommand(grant);
    expect(first.code).toBe(0);
    expect(first.json).toEqual({ balance_usd: "25.000000", is_new: true });
    const again = await jsonCommand(grant);
    expect(again.code).toBe(0);
    expect(again.json).toEqual({ ...first.json, is_new: false });
    const other = [
      "credit",
      "grant",
      "--org",
      orgId,
      "--amount-usd",
      "26",
      "--ref",
      "r1",
      ...place,
    ];
    const taken = await runCommand([...other, "--json"], OPERATOR_ENV);
    expect(taken.code).toBe(2);
    expect(taken.stdout).toBe("");
    expect(taken.stderr).toContain("r1");
  });

  test("key create shows the key once, and the key works at once", async () => {
    const made = await jsonCommand(
      ["key", "create", "--org", orgId, "--name", "ci", "--rpm", "7", "--cap-usd", "5"].concat(
        place,
      ),
    );
    expect(made.code).toBe(0);
    ({ key, keyId } = createdKey(made));
    rawKeys.push(key);
    expect(key).toMatch(/^tm_vk_[0-9a-f]{48}$/);
    expect(made.json["key"]).toMatchObject({
      key_id: keyId,
      label: key.slice(0, 12),
      rpm_ceiling: 7,
      cap_usd: "5.000000",
    });
    const listed = await jsonCommand(["key", "list", "--org", orgId, ...place]);
    expect(listed.json["data"]).toContainEqual(
      expect.objectContaining({ key_id: keyId, label: key.slice(0, 12), disabled_at: null }),
    );
    expect(listed.stdout).not.toContain(key);
    const answer = await ask(gatewayUrl(), { key, wire: "wire_a", model: "op/model", text: "hi" });
    expect(answer.status).toBe(200);
    expect(answer.headers["x-tm-remaining-rpm"]).toBe("6");
  });

  test("key create sets an expiry that has not passed", async () => {
    const named = ["key", "create", "--org", orgId, "--name", "until", ...place];
    const made = await jsonCommand([...named, "--expires-at", "2030-01-31T00:00Z"]);
    rawKeys.push(createdKey(made).key);
    expect(made.json["key"]).toMatchObject({ expires_at: "2030-01-31T00:00:00.000Z" });
    for (const [instant, says] of [
      ["2020-01-31T00:00Z", "has already passed"],
      ["2099-01-31T00:00Z", "more than 10 years ahead"],
    ] as const) {
      const refused = await runCommand([...named, "--expires-at", instant], OPERATOR_ENV);
      expect(refused.code).toBe(2);
      expect(refused.stderr).toContain(`--expires-at is ${says}`.replace("is has", "has"));
    }
  });

  test("credit ledger shows the grant and the settled request", async () => {
    const { json, code } = await jsonCommand(["credit", "ledger", "--org", orgId, ...place]);
    expect(code).toBe(0);
    expect(json).toMatchObject({ org_id: orgId, held_usd: "0.000000" });
    expect(json["balance_usd"]).toMatch(/^24\.99\d{4}$/);
    expect(json["entries"]).toEqual([
      expect.objectContaining({ amount_usd: expect.stringMatching(/^-0\.\d{6}$/) }),
      expect.objectContaining({ kind: "grant", ref: "r1", amount_usd: "25.000000" }),
    ]);
  });

  test("key change sets when a key expires and which models it may call", async () => {
    const made = await jsonCommand([
      "key",
      "create",
      "--org",
      orgId,
      "--name",
      "changed",
      ...place,
    ]);
    const { key: raw, keyId: changedId } = createdKey(made);
    rawKeys.push(raw);
    const call = () =>
      ask(gatewayUrl(), { key: raw, wire: "wire_a", model: "op/model", text: "hi", maxTokens: 1 });
    const listed = ["--manifests", folder.manifestsDir];
    const change = (...asked: string[]) =>
      jsonCommand(["key", "change", changedId, ...asked, ...place]);
    const wrong = await runCommand(
      ["key", "change", changedId, "--models", "op/modle", ...listed, ...place],
      OPERATOR_ENV,
    );
    expect(wrong.stderr).toContain('--models has "op/modle", which is not listed');
    const expiresAt = "2030-01-31T00:00:00.000Z";
    const expiry = await change("--expires-at", expiresAt, "--tags", "eu, batch");
    expect(expiry.json).toMatchObject({
      expires_at: expiresAt,
      models: null,
      tags: ["batch", "eu"],
    });
    const only = await change("--models", "op/model", ...listed);
    expect(only.json).toMatchObject({ models: ["op/model"], expires_at: expiresAt });
    expect((await call()).status).toBe(200);
    const lifted = await change("--expires-at", "never", "--models", "", "--cap-day-usd", "5");
    expect(lifted.json).toMatchObject({
      key_id: changedId,
      expires_at: null,
      models: null,
      cap_day_usd: "5.000000",
    });
    for (const [says, ...asked] of [
      ["--rpm must be a whole number", changedId, "--rpm", "many"],
      ["--cap-usd must be", changedId, "--cap-usd", "much"],
      ["there is no key key_none", "key_none", "--expires-at", "never"],
    ] as const) {
      const refused = await runCommand(["key", "change", ...asked, ...place], OPERATOR_ENV);
      expect(refused).toMatchObject({ code: 2, stdout: "" });
      expect(refused.stderr).toContain(says);
    }
  });

  test("key change sets a cap that is already spent only with --confirm", async () => {
    const asked = ["key", "change", keyId, "--cap-usd", "0.000001", ...place];
    const refused = await runCommand(asked, OPERATOR_ENV);
    expect(refused.code).toBe(2);
    expect(refused.stderr).toContain("Confirm to set it anyway with --confirm");
    const { json } = await jsonCommand([...asked, "--confirm"]);
    expect(json).toMatchObject({ key_id: keyId, cap_usd: "0.000001" });
  });

  test("key rotate makes a new secret, and the old secret works for the grace", async () => {
    const rotate = ["key", "rotate", keyId, "--grace-hours", "1", ...place];
    const { json } = await jsonCommand(rotate);
    const secret = String(json["secret"]);
    rawKeys.push(secret);
    expect(json).toMatchObject({ key: { key_id: keyId, label: secret.slice(0, 12) } });
    for (const raw of [secret, key]) {
      expect((await get(gatewayUrl(), { key: raw, path: "/v1/usage" })).status).toBe(200);
    }
    const long = await runCommand([...rotate, "--grace-hours", "73"], OPERATOR_ENV);
    expect(long).toMatchObject({ code: 2, stdout: "" });
    expect(long.stderr).toContain("--grace-hours must be a whole number of hours from 0 to 72");
  });

  test("key show prints aligned lines and a table of days", async () => {
    const { code, stdout } = await runCommand(["key", "show", keyId, ...place], OPERATOR_ENV);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^key\.key_id +key_\w+\nkey\.name +ci\n/);
    expect(stdout).toMatch(/\ndays:\nday +requests +spent_usd\n\d{4}-\d\d-\d\d +0 +0\.000000\n/);
    expect(stdout).not.toContain(key);
  });

  test("key disable ends a key permanently within seconds", async () => {
    const { json, code } = await jsonCommand(["key", "disable", keyId, ...place]);
    expect(code).toBe(0);
    expect(json).toMatchObject({ key_id: keyId, disabled_at: expect.stringMatching(/^20.*Z$/) });
    const refused = await until("the key is refused", async () => {
      const answer = await get(gatewayUrl(), { key, path: "/v1/usage" });
      return answer.status === 401 ? answer : undefined;
    });
    expect(at(refused.json, "error", "code")).toBe("auth");
  });

  test("ledger audit, ledger recover and doctor answer while the server runs", async () => {
    const [audit, recover, doctor] = await Promise.all([
      jsonCommand(["ledger", "audit", ...place]),
      jsonCommand(["ledger", "recover", ...place]),
      jsonCommand(["doctor", ...place, "--manifests", folder.manifestsDir]),
    ]);
    expect(audit.code).toBe(0);
    expect(audit.json["ok"]).toBe(true);
    const checks = audit.json["checks"] as readonly unknown[];
    expect(checks.length).toBeGreaterThan(5);
    for (const check of checks) {
      expect(check).toEqual({
        id: expect.any(String),
        title: expect.any(String),
        violations: 0,
      });
    }
    expect(recover.code).toBe(0);
    expect(recover.json).toMatchObject({ recovered: 0 });
    expect(doctor.json).toMatchObject({ ok: true, checks: expect.any(Array) });
    expect(doctor.code).toBe(0);
  });
});

describe("the catalog of a running server", () => {
  async function models(): Promise<readonly unknown[]> {
    const { key } = await customer();
    const { json } = await get(gatewayUrl(), { key, path: "/v1/models" });
    return (at(json, "data") as readonly unknown[]).map((model) => at(model, "id"));
  }

  let known: { readonly key: string } | undefined;
  async function customer(): Promise<{ readonly key: string }> {
    known ??= await openAccountByCommands(place, "1.00");
    rawKeys.push(known.key);
    return known;
  }

  test("follows a changed manifest file", async () => {
    expect(await models()).toEqual(["op/model"]);
    folder.writeManifest("first.json", operatorManifest(simulator.url, ["op/model", "op/new"]));
    await until("the new model is listed", async () => (await models()).includes("op/new"));
  });

  test("stays the same when a manifest is invalid, and the log says why", async () => {
    folder.writeManifest("first.json", '{"manifest_version":"1","models":[]}');
    await until("it says so", () => server.stderr().includes("the old catalog stays in use"));
    const line = server
      .stderr()
      .split("\n")
      .find((one) => one.includes("the old catalog stays in use"));
    const { issues } = JSON.parse(line ?? "") as { issues: readonly Record<string, string>[] };
    expect(issues).toContainEqual(
      expect.objectContaining({
        file: "first.json",
        pointer: expect.any(String),
        message: expect.any(String),
      }),
    );
    expect(issues.map((issue) => issue["pointer"])).toContain("/models");
    expect(await models()).toEqual(["op/model", "op/new"]);
  });

  test("is rebuilt on SIGHUP", async () => {
    // A link whose target changes does not change the folder: only the signal does.
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
});

describe("a database of the operator's own", () => {
  let database: FreshDatabase;
  let env: Readonly<Record<string, string>>;

  beforeAll(async () => {
    database = await emptyDatabase();
    env = { DATABASE_URL: database.connectionString };
  });
  afterAll(() => database.drop());

  test("serves migrate and every command without a server or a data folder", async () => {
    const first = await jsonCommand(["migrate"], env);
    expect(first.code).toBe(0);
    expect(first.json).toMatchObject({ ok: true, left: [] });
    expect(first.json["migrated"]).not.toEqual([]);
    const again = await jsonCommand(["migrate"], env);
    expect(again.json).toEqual({ ok: true, migrated: [], left: [] });
    const made = await jsonCommand(["org", "create", "Own", "--email", "o@example.com"], env);
    const listed = await jsonCommand(["org", "list"], env);
    expect(listed.json["data"]).toEqual([
      expect.objectContaining({ org_id: made.json["org_id"], name: "Own" }),
    ]);
  });

  test("with broken books makes ledger audit and doctor exit with 1", async () => {
    await runOnce(
      database.connectionString,
      `alter table account disable trigger user;
      update account set credits = credits + 9, reserved = reserved + 5 where org_id is not null`,
    );
    const [audit, doctor] = await Promise.all([
      jsonCommand(["ledger", "audit"], env),
      jsonCommand(["doctor", "--manifests", folder.manifestsDir], env),
    ]);
    expect(audit.code).toBe(1);
    expect(audit.json["ok"]).toBe(false);
    expect(audit.json["checks"]).toContainEqual(
      expect.objectContaining({ id: "I3", violations: 1 }),
    );
    expect(doctor.code).toBe(1);
    expect(doctor.json["ok"]).toBe(false);
  });

  test("that is unreachable exits with 2, without its password on standard error", async () => {
    const nowhere = { DATABASE_URL: "postgres://me:hunter2hunter2@127.0.0.1:1/nothing" };
    const result = await runCommand(["org", "list", "--json"], { ...OPERATOR_ENV, ...nowhere });
    expect(result.code).toBe(2);
    expect(result.stdout).toBe("");
    expect(result.stderr).not.toBe("");
    expect(result.stderr).not.toContain("hunter2");
  });
});

describe("manifests", () => {
  test("manifest check finds an environment variable that two origins want as their key", async () => {
    const [first, second] = ["https://one.example", "https://two.example"].map((origin, number) =>
      JSON.stringify(operatorManifest(origin, [`op/${number}`])).replace(
        '"operated"',
        `"op-${number}"`,
      ),
    );
    const both = operatorFolder(simulator.url);
    both.writeManifest("first.json", String(first));
    both.writeManifest("second.json", String(second));
    const checked = await jsonCommand(["manifest", "check", both.manifestsDir]);
    both.remove();
    expect(checked.code).toBe(1);
    expect(checked.json["issues"]).toMatchObject([
      { file: expect.stringContaining("second.json"), pointer: "/endpoint/api_key_env" },
    ]);
  });

  test("manifest check notes a price that looks a million times too high", async () => {
    const text = JSON.stringify(operatorManifest(simulator.url, ["x/y"]));
    const dear = text.replace(/("cost_usd_per_million":")\d+[^"]*/, "$1150000");
    const { json } = await jsonCommand([
      "manifest",
      "check",
      folder.writeManifest("dear.txt", dear),
    ]);
    expect(json["notes"]).toMatchObject([{ message: expect.stringContaining("above $10000 per") }]);
  });

  test("manifest check names every problem with its pointer, and exits with 1", async () => {
    const good = folder.writeManifest("good.txt", operatorManifest(simulator.url, ["x/y"]));
    const bad = folder.writeManifest("bad.txt", {
      ...operatorManifest(simulator.url, ["x/y"]),
      manifest_version: "2",
      settlement: { mode: "sometimes", interval: "daily" },
    });
    const [valid, invalid] = await Promise.all([
      jsonCommand(["manifest", "check", good]),
      jsonCommand(["manifest", "check", good, bad]),
    ]);
    expect(valid.code).toBe(0);
    expect(valid.json).toEqual({ ok: true, issues: [], notes: [] });
    expect(invalid.code).toBe(1);
    expect(invalid.json["ok"]).toBe(false);
    const issues = invalid.json["issues"] as readonly Record<string, unknown>[];
    expect(issues.map((issue) => issue["pointer"])).toEqual([
      "/manifest_version",
      "/settlement/mode",
    ]);
    for (const issue of issues) {
      expect(issue).toEqual({
        file: bad,
        pointer: expect.any(String),
        rule: expect.any(String),
        message: expect.any(String),
      });
    }
  });

  test("manifest schema prints the published schema", async () => {
    const { code, json } = await jsonCommand(["manifest", "schema"]);
    expect(code).toBe(0);
    const published = new URL("../../../schema/provider-manifest.schema.json", import.meta.url);
    expect(json).toEqual(JSON.parse(readFileSync(published, "utf8")));
  });

  test("catalog build writes the models that the server would route", async () => {
    const out = join(folder.root, "catalog.json");
    const built = ["catalog", "build", "--manifests", folder.manifestsDir, "--out", out];
    const { code, json } = await jsonCommand(built);
    expect(code).toBe(0);
    expect(json).toMatchObject({ ok: true, models: 2 });
    const written: unknown = JSON.parse(readFileSync(out, "utf8"));
    expect(at(written, "models", 0, "id")).toMatch(/^op\//);
  });
});

describe("simulate", () => {
  test("plays a provider of one wire with one fault until it is stopped", async () => {
    const program = await startProgram(
      ["simulate", "--port", "0", "--wire", "wire_a", "--fault", "status:503", "--json"],
      OPERATOR_ENV,
    );
    const url = String(program.ready["url"]);
    const post = (path: string): Promise<Response> =>
      fetch(url + path, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: '{"model":"m","messages":[{"role":"user","content":"hi"}]}',
      });
    expect((await post("/v1/chat/completions")).status).toBe(503);
    expect((await post("/v1/messages")).status).toBe(404);
    expect(await program.end("SIGTERM")).toBe(0);
  });
});

test("a wrong call exits with 2, a sentence on standard error and nothing on standard output", async () => {
  const wrong: readonly (readonly string[])[] = [
    ["frobnicate"],
    ["org", "create", "x"],
    ["org", "create", "x", "--email", "nobody", ...place],
    ["credit", "grant", "--org", "org_x", "--amount-usd", "0", "--ref", "z", ...place],
    ["credit", "ledger", "--org", "org_none", ...place],
    ["key", "create", "--org", "org_none", "--name", "x", ...place],
    ["key", "disable", "key_none", ...place],
    ["manifest", "check", "nowhere.json"],
    ["simulate", "--port", "0", "--fault", "explode"],
    ["simulate", "--port", "0", "--wire", "wire_c"],
    ["serve", "--port", "many"],
    ["doctor", "--config", "nowhere.yaml"],
  ];
  const results = await Promise.all(
    wrong.map((args) => runCommand([...args, "--json"], OPERATOR_ENV)),
  );
  for (const [n, { code, stdout, stderr }] of results.entries()) {
    const call = wrong[n]?.join(" ");
    const said = stderr.trim().split("\n").at(-1);
    expect({ call, code, stdout, said }).toEqual({
      call,
      code: 2,
      stdout: "",
      said: expect.stringMatching(/\w+ \w+/),
    });
  }
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
