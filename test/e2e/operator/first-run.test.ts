import { chmodSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { describe, expect, test } from "vitest";

import { startSimulator } from "../../../src/dev/simulator/simulator.ts";
import { openPool } from "../../../src/kernel/storage/connection.ts";
import { until } from "../../support/books.ts";
import { freePort } from "../../support/free-port.ts";
import { emptyDatabase } from "../../support/postgres.ts";
import { silentLog } from "../../support/silent-log.ts";
import { listenLocally } from "../../support/local-server.ts";
import { modelServer } from "../../support/model-servers.ts";
import { runCommand, runProgram, spawnCommand, startProgram } from "../../support/program.ts";
import { ANY_PORTS } from "../../support/operator.ts";
import { runAtTerminal } from "../../support/terminal.ts";
import { newFolder } from "../../support/run-folder.ts";
import { withResource } from "../../support/with-resource.ts";

const SECRET = "sk-provider-secret-3";
/** The models that a shipped manifest lists and the simulated provider serves. */
const MODELS = ["gpt-4.1", "gpt-4.1-mini", "gpt-4o-mini", "gpt-5", "gpt-5-mini"];

const database = withResource(emptyDatabase, (opened) => opened.drop());
const root = newFolder("first-run");
// Under root the database runs as another user, who needs access to the folder.
chmodSync(root, 0o755);
const provider = withResource(() => startSimulator({ wire: "wire_a", models: MODELS }));

/** The option that replaces the real provider's address by the simulator's. */
function elsewhere(): string {
  return `openai=${provider.url}/v1`;
}

/** Sends the request of a printed curl command, whose words are split as a shell does. */
async function curled(printed: string) {
  const words = printed.replaceAll("\\\n", " ").match(/'[^']*'|\S+/g) ?? [];
  const plain = words.map((word) => word.replace(/^'(.*)'$/s, "$1"));
  expect(plain.slice(0, 2)).toEqual(["curl", "-s"]);
  const valuesOf = (flag: string): string[] =>
    plain.flatMap((word, at) => (word === flag ? [plain[at + 1] ?? ""] : []));
  const headers = valuesOf("-H").map((line) => line.split(": ") as [string, string]);
  const [body = ""] = valuesOf("-d");
  const answer = await fetch(plain[2] ?? "", { method: "POST", headers, body });
  return { status: answer.status, body: (await answer.json()) as object };
}

test("an empty folder and one provider key are enough for init and serve, and the curl that init prints is answered with 200", async () => {
  const folder = join(root, "one");
  const places = ["--data", join(folder, "data"), "--manifests", join(folder, "manifests")];
  const port = String(await freePort());
  const env = { TM_ALLOW_PRIVATE_UPSTREAMS: "1", OPENAI_API_KEY: SECRET };
  const said = ["--yes", "--email", "a@example.com", "--base-url", elsewhere(), "--margin", "20"];
  const init = ["init", ...places, "--port", port, ...said, "--json"];
  const made = await runProgram(init, env);
  expect(made.code, made.stdout + made.stderr).toBe(0);
  const json = JSON.parse(made.stdout) as Readonly<Record<string, string>>;
  expect(json).toMatchObject({ ok: true, balance_usd: "10.000000" });
  const ports = ["--port", port, "--console-port", "0", "--internal-port", "0"];
  const server = await startProgram(["serve", ...places, ...ports], env);
  try {
    const { status, body } = await curled(json["curl"] ?? "");
    expect(status).toBe(200);
    expect(body).toMatchObject({ model: json["model"], usage: { cost: expect.any(Number) } });
  } finally {
    await server.end("SIGTERM");
  }
  // The provider's key is in no output and no file.
  const manifests = readdirSync(join(folder, "manifests")).map((file) =>
    readFileSync(join(folder, "manifests", file), "utf8"),
  );
  expect(made.stdout + made.stderr + manifests.join("")).not.toContain(SECRET);
});

describe("a first run", () => {
  /** Arguments and variables for a separate installation on the shared database. */
  function surroundings(name: string) {
    const manifests = join(root, name);
    const args = ["init", "--manifests", manifests];
    const env = { DATABASE_URL: database.connectionString, TM_ALLOW_PRIVATE_UPSTREAMS: "1" };
    return { manifests, args, env };
  }

  test("at a terminal asks for every setting, tests a model and prints how to start serve", async () => {
    const { args, env } = surroundings("terminal");
    const file = join(root, "keys.env");
    writeFileSync(file, `OPENAI_API_KEY=${SECRET}\n`, { mode: 0o644 });
    const typed = ["", "7.5", "Acme", "not an address", "ops@acme.example", "25", "0.20", "n"];
    const flags = ["--keys-file", file, "--base-url", elsewhere()];
    const run = await runAtTerminal([...args, ...flags], env, typed);
    expect(run.code, run.stdout + run.stderr).toBe(0);
    expect(run.stderr).toMatch(/Keys were found for: openai\n/);
    expect(run.stderr).toMatch(/not an address is not an e-mail address/);
    expect(run.stdout).toMatch(/openai\/\S+: (pass|fail|warn)\w* \(\$0\.\d+ spent\)/);
    expect(run.stdout).toMatch(/Acme, \$25\.000000 of credit/);
    expect(run.stdout).toMatch(/keys\.env can be read by other users .*chmod 600/);
    expect(run.stdout).toMatch(/set -a; \. \S+keys\.env; exec tokenmarket serve/);
    expect(run.stdout + run.stderr).not.toContain(SECRET);
  });

  test("that is repeated keeps the manifests, grants no second credit and makes another key", async () => {
    const { args, env } = surroundings("again");
    const flags = ["--yes", "--email", "b@example.com", "--org", "Twice", "--json"];
    const all = [...args, ...flags, "--base-url", elsewhere()];
    const runs: Readonly<Record<string, unknown>>[] = [];
    for (const usd of ["10.00", "25.00"]) {
      const init = [...all, "--credit-usd", usd];
      const { stdout } = await runCommand(init, { ...env, OPENAI_API_KEY: SECRET });
      runs.push(JSON.parse(stdout) as Readonly<Record<string, unknown>>);
    }
    const [first, second] = runs;
    expect(second).toMatchObject({
      org_id: first?.["org_id"],
      balance_usd: "10.000000",
      providers: [{ provider: "openai", kept: true }],
    });
    expect(second?.["key"]).not.toBe(first?.["key"]);
  });

  test("with a key that the provider refuses writes no listing and opens no account", async () => {
    const { args, env, manifests } = surroundings("refused");
    const refusing = await listenLocally(modelServer(() => ({ status: 401, body: {} })));
    const flags = ["--yes", "--email", "c@example.com", "--org", "Refused", "--json"];
    const address = ["--base-url", `openai=${refusing.url}/v1`];
    const keyed = { ...env, OPENAI_API_KEY: SECRET };
    const run = await runCommand([...args, ...flags, ...address], keyed);
    await refusing.close();
    expect(run.code).toBe(1);
    const issues = [expect.stringMatching(/refuses the key \(status 401\)/)];
    const providers = [{ file: null, listed: 0, issues }];
    expect(JSON.parse(run.stdout)).toMatchObject({ ok: false, providers });
    expect(readdirSync(manifests)).toEqual([]);
    const orgs = await runCommand(["org", "list", "--json"], env);
    expect(orgs.stdout).not.toContain("Refused");
  });

  test("without a terminal exits with 2, and names the missing provider key or flags", async () => {
    const { args, env } = surroundings("missing");
    const none = await runCommand(args, { ...env, OPENAI_API_KEY: "" });
    expect(none.code).toBe(2);
    expect(none.stderr).toMatch(/no provider key was found; set one of OPENAI_API_KEY, /);
    const found = await runCommand(args, { ...env, OPENAI_API_KEY: SECRET });
    expect(found.code).toBe(2);
    expect(found.stderr).toMatch(/give --providers, or --yes for all with a key, --email/);
  });
});

test("dev prints at most 25 lines, logs to a file, and on a restart keeps its key or replaces a lost one", async () => {
  const books = await emptyDatabase();
  const data = join(root, "dev");
  const env = { DATABASE_URL: books.connectionString };
  const args = ["dev", ...ANY_PORTS, "--data", data];
  const pool = openPool(books.connectionString, silentLog);
  try {
    const program = await spawnCommand(args, env);
    await until("it is up", () => program.stdout().includes("Stop with Ctrl-C."));
    await program.end("SIGTERM");
    const lines = program.stdout().trimEnd().split("\n");
    expect(lines.length).toBeLessThanOrEqual(25);
    expect(lines.filter((line) => line.startsWith("{"))).toEqual([]);
    expect(program.stderr()).toBe("");
    expect(readFileSync(join(data, "dev.log"), "utf8")).toContain('"msg":"ready"');

    const keyOf = (): string => readFileSync(join(data, "dev-key"), "utf8");
    const key = keyOf();
    const startAgain = async (): Promise<void> => {
      await (await startProgram([...args, "--log", "json"], env)).end("SIGTERM");
    };
    await pool.query("update org set name = 'Ours'");
    await startAgain();
    expect(keyOf()).toBe(key);
    rmSync(join(data, "dev-key"));
    await startAgain();
    expect(keyOf()).not.toBe(key);
    const { rows } = await pool.query(
      "select name, credits from org join account using (org_id) order by 1",
    );
    expect(rows).toEqual([{ name: "Ours", credits: 25_000_000n }]);
  } finally {
    await pool.end();
    await books.drop();
  }
});

test("dev says that no link signs in where the console is not on loopback", async () => {
  const books = await emptyDatabase();
  try {
    const args = ["dev", ...ANY_PORTS, "--data", join(root, "reachable"), "--host", "0.0.0.0"];
    const program = await spawnCommand(args, { DATABASE_URL: books.connectionString });
    await until("it is up", () => program.stdout().includes("Stop with Ctrl-C."));
    await program.end("SIGTERM");
    expect(program.stdout()).toMatch(/No link signs in: .*:\n\n {2}http\S+\/sign-in\n/);
    expect(program.stdout()).not.toContain("Open this once");
  } finally {
    await books.drop();
  }
});
