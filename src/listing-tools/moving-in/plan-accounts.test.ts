import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { describe, expect, test } from "vitest";

import { parseBudget, remainingUsd } from "./plan-accounts.ts";
import { accountCommands, renderScript } from "./commands.ts";
import { moveText, parsed } from "../../../test/fixtures/moving-in/move-text.ts";
import { newFolder } from "../../../test/support/run-folder.ts";
import type { MovedConfig } from "./move-litellm.ts";

function moved(keys: unknown, teams: unknown = []): MovedConfig {
  return moveText("model_list: []", {
    keys: parsed(JSON.stringify(keys)),
    teams: parsed(JSON.stringify(teams)),
  });
}

function fateOf({ notes }: MovedConfig, path: string): string {
  const note = notes.find((each) => each.path === path);
  return note === undefined ? "no note" : `${note.fate}: ${note.why}`;
}

describe("budgets", () => {
  test.each([
    ["10.50", "30d", { kind: "monthly", usd: "10.5" }],
    ["0.1234567", "30d", { kind: "monthly", usd: "0.123456" }],
    ["25", undefined, { kind: "lasting", usd: "25" }],
    ["25", "7d", { kind: "other" }],
    ["0", "30d", { kind: "other" }],
    [undefined, "30d", { kind: "absent" }],
  ])("a max_budget of %s for the duration %s is classified", (amount, duration, budget) => {
    expect(parseBudget(amount, duration)).toEqual(budget);
  });

  test("the rest of a budget is exact, rounded down to a micro-dollar", () => {
    expect(remainingUsd("100", "12.3456789")).toBe("87.654321");
    expect(remainingUsd("100", "12.345678")).toBe("87.654322");
    expect(remainingUsd("0.3", "0.1")).toBe("0.200000");
    expect(remainingUsd("100", "1e-7")).toBe("99.999999");
    expect(remainingUsd("100", undefined)).toBe("100.000000");
    expect(remainingUsd("100", "100")).toBeUndefined();
    expect(remainingUsd("100", "many")).toBeUndefined();
  });
});

describe("teams and keys of LiteLLM", () => {
  const teams = [
    { team_id: "t1", team_alias: "Acme", max_budget: 50, budget_duration: "30d", rpm_limit: 900 },
    { team_id: "t2", max_budget: 100, spend: 12.5 },
    { team_id: "t3", team_alias: "Gone", blocked: true },
  ];

  test("become organizations with caps, credit and limits, and keys with theirs", () => {
    const { orgs } = moved(
      [
        { key_alias: "web", team_id: "t1", max_budget: 5, budget_duration: "30d", rpm_limit: 60 },
        { key_alias: "own", user_id: "u1", tpm_limit: 1000 },
        { token: "h" },
        { key_alias: "late", team_id: "t9" },
      ],
      teams,
    );
    const unlimited = (name: string): object => ({ name, limits: {} });
    expect(orgs).toEqual([
      {
        name: "Acme",
        ref: "litellm-t1",
        capUsd: "50",
        limits: { rpm: 900 },
        keys: [{ name: "web", capUsd: "5", limits: { rpm: 60 } }],
      },
      { name: "t2", ref: "litellm-t2", creditUsd: "87.500000", limits: {}, keys: [] },
      { name: "u1", ref: "litellm-u1", limits: {}, keys: [{ name: "own", limits: { tpm: 1000 } }] },
      { name: "Keys without a team", ref: "litellm-keys", limits: {}, keys: [unlimited("key 1")] },
      { name: "t9", ref: "litellm-t9", limits: {}, keys: [unlimited("late")] },
    ]);
  });

  test("a key that is blocked, expired or of a blocked team gets no new key, and is named", () => {
    const result = moved(
      [
        { key_alias: "a", blocked: true },
        { key_alias: "b", expires: "2026-11-22T00:00:00Z" },
        { key_alias: "c", team_id: "t3" },
        { key_alias: "d", expires: "2027-01-01T00:00:00Z" },
      ],
      teams,
    );
    expect(result.orgs.flatMap(({ keys }) => keys.map(({ name }) => name))).toEqual(["d"]);
    expect(fateOf(result, "keys_file.keys[0]")).toMatch(/^ignored: it is blocked/);
    expect(fateOf(result, "keys_file.keys[1]")).toMatch(/^ignored: it has expired/);
    expect(fateOf(result, "keys_file.keys[2]")).toMatch(/^ignored: its team is blocked/);
    expect(fateOf(result, "keys_file.keys[3].expires")).toMatch(/^not_carried: .*no end date/);
  });

  test("a model list, a budget that is not monthly and a hashed key are not carried", () => {
    const result = moved([
      { token: "hash", models: ["gpt-4.1"], max_budget: 5, budget_duration: "1d" },
      { models: ["all-team-models"], max_budget: 5 },
      "0123456789abcdef",
    ]);
    const fates = (at: number, field: string): string =>
      fateOf(result, `keys_file.keys[${at}].${field}`);
    expect(fates(0, "token")).toMatch(/^not_carried: a hash/);
    expect(fates(0, "models")).toMatch(/^not_carried: it allows 1 models/);
    expect(fates(0, "max_budget")).toMatch(/^not_carried: .*another period/);
    expect(fates(1, "models")).toMatch(/^carried/);
    expect(fates(1, "max_budget")).toMatch(/^not_carried: .*no period/);
    expect(fateOf(result, "keys_file.keys[2]")).toMatch(/^not_carried: .*only its hash/);
  });
});

test("a key export that is one page of several is reported as incomplete", () => {
  const result = moved({ keys: [], total_pages: 3, current_page: 1 });
  expect(fateOf(result, "keys_file.total_pages")).toMatch(/^not_carried: the export has 3 pages/);
  const only = moved({ keys: [], total_pages: 1 });
  expect(fateOf(only, "keys_file.total_pages")).toMatch(/^ignored/);
});

describe("the script that creates the accounts", () => {
  const folder = newFolder("script");
  const fileOf = (name: string): string => join(folder, name);

  /** Runs the script with a program that notes its arguments and answers like the real one. */
  function run(script: string, failsAt = ""): { status: number | null; output: string } {
    writeFileSync(
      fileOf("program.mjs"),
      `import { appendFileSync } from "node:fs";
       const args = process.argv.slice(2);
       if (args.join(" ").includes(process.env["FAILS_AT"] || "\\0")) process.exit(1);
       appendFileSync(${JSON.stringify(fileOf("log"))}, JSON.stringify(args) + "\\n");
       console.log(JSON.stringify({ org_id: "org_1", secret: "tm_vk_new", key: { key_id: "key_1" } }));`,
    );
    writeFileSync(fileOf("accounts.sh"), script);
    const ran = spawnSync("sh", [fileOf("accounts.sh")], {
      cwd: folder,
      encoding: "utf8",
      env: {
        PATH: process.env["PATH"] ?? "",
        EMAIL: "ops@example.com",
        FAILS_AT: failsAt,
        KEYS_FILE: fileOf("keys.tsv"),
        TOKENMARKET: `${process.execPath} ${fileOf("program.mjs")}`,
      },
    });
    return { status: ran.status, output: `${ran.stderr}${ran.stdout}` };
  }

  test("passes every name as one argument, runs nothing of it, prints no key, and stops if its file of keys exists", () => {
    const name = `a'; touch owned; echo "$(id)" \`id\` --json \\`;
    const keys = [{ name: `-${name}`, capUsd: "1", limits: { rpm: 2_000_000, tpm: 3 } }];
    const ref = `litellm-${name}`;
    const limits = { rpm: 10 };
    const org = { name, ref, creditUsd: "5", capUsd: "7", limits, keys };
    const script = renderScript(accountCommands([org]));
    const { status, output } = run(script);
    expect(status).toBe(0);
    expect(output).not.toContain("tm_vk_new");
    const log = readFileSync(fileOf("log"), "utf8");
    const key = ["--scope=key", "--key-id", "key_1"];
    const calls = log
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as unknown);
    expect(calls).toEqual([
      ["org", "create", "--email", "ops@example.com", "--json", "--", name],
      ["credit", "grant", "--org", "org_1", "--amount-usd=5", `--ref=litellm-${name}`],
      ["org", "cap", "org_1", "--cap-usd=7"],
      ["limits", "contract", "--org", "org_1", "--scope=org", "--rpm=10"],
      ["key", "create", "--org", "org_1", `--name=-${name}`, "--cap-usd=1", "--json"],
      ["limits", "contract", "--org", "org_1", ...key, "--tpm=3", "--rpm=2000000"],
    ]);
    expect(readdirSync(folder)).not.toContain("owned");
    const written = `${name} / -${name}\tkey_1\ttm_vk_new\n`;
    expect(readFileSync(fileOf("keys.tsv"), "utf8")).toBe(written);
    expect(statSync(fileOf("keys.tsv")).mode & 0o777).toBe(0o600);
    expect(run(script).status).not.toBe(0);
    expect(readFileSync(fileOf("log"), "utf8")).toBe(log);
    expect(readFileSync(fileOf("keys.tsv"), "utf8")).toBe(written);
  });

  test("goes on where it stopped when it is run again, and makes no organization or key twice", () => {
    for (const name of ["log", "keys.tsv"]) rmSync(fileOf(name), { force: true });
    const keys = ["web", "late"].map((name) => ({ name, limits: {} }));
    const org = { name: "Acme", ref: "litellm-t1", limits: {}, keys };
    const script = renderScript(accountCommands([org, { ...org, name: "Beta", keys: [] }]));
    expect(run(script, "--name=late").status).not.toBe(0);
    expect(run(script, "Beta").status).not.toBe(0);
    expect(run(script).status).toBe(0);
    const calls = readFileSync(fileOf("log"), "utf8").trim().split("\n");
    expect(calls.map((line) => (JSON.parse(line) as string[]).slice(0, 2).join(" "))).toEqual([
      "org create",
      "key create",
      "key create",
      "org create",
    ]);
    const line = (name: string): string => `Acme / ${name}\tkey_1\ttm_vk_new\n`;
    expect(readFileSync(fileOf("keys.tsv"), "utf8")).toBe(line("web") + line("late"));
    expect(run(script).status).not.toBe(0);
    expect(readdirSync(folder)).not.toContain("keys.tsv.made");
  });
});
