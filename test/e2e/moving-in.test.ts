import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { describe, expect, test } from "vitest";

import { loadConfig } from "../../src/kernel/config/load-config.ts";
import { openrouterFields } from "../../src/listing-tools/moving-in/match-openrouter.ts";
import type { PlannedCommand } from "../../src/listing-tools/moving-in/commands.ts";
import type { MovedConfig } from "../../src/listing-tools/moving-in/move-litellm.ts";
import { chatBody } from "../support/chat-bodies.ts";
import { withGateway, withSimulator } from "../support/gateway.ts";
import { at, bearer, httpCall, listAt, textAt, type HttpAnswer } from "../support/http-call.ts";
import { runCommand } from "../support/program.ts";
import { withResource } from "../support/with-resource.ts";
import { newFolder } from "../support/run-folder.ts";

const folder = newFolder("moving");
const written = join(folder, "moved");

const simulator = withSimulator();

/** A LiteLLM configuration: servers of both wires, prices, an alias and an unpriced model. */
function configText(): string {
  const price = "input_cost_per_token: 1e-06, output_cost_per_token: 0.00001";
  const limit = "model_info: {max_input_tokens: 200000}";
  const key = "api_key: os.environ/TEST_PROVIDER_KEY";
  return `
model_list:
  - model_name: team-chat
    litellm_params: {model: openai/up-a, api_base: "${simulator.url}/a/v1", ${key}, ${price}, rpm: 500}
    ${limit}
  - model_name: team-claude
    litellm_params: {model: anthropic/up-b, api_base: "${simulator.url}/b", ${key}, ${price}}
    ${limit}
  - model_name: unpriced
    litellm_params: {model: openai/up-c, api_base: "${simulator.url}/a/v1", ${key}}
router_settings: {model_group_alias: {fast: team-chat}, timeout: 120}
general_settings: {master_key: sk-master-canary-1}
`;
}

interface ImportAnswer extends MovedConfig {
  readonly ok: boolean;
  readonly written: readonly string[];
}

const moved = withResource(async (): Promise<ImportAnswer> => {
  const config = join(folder, "config.yaml");
  writeFileSync(config, configText());
  const teams = [{ team_id: "t1", team_alias: "Old team", max_budget: 20, spend: 0.5 }];
  writeFileSync(join(folder, "teams.json"), JSON.stringify(teams));
  const keys = {
    keys: [
      { key_alias: "k".repeat(65), team_id: "t1" },
      { key_alias: " ", team_id: "t1" },
      { key_alias: "web", team_id: "t1", rpm_limit: 120, token: "hash-canary-2" },
    ],
  };
  writeFileSync(join(folder, "keys.json"), JSON.stringify(keys));
  const files = ["--teams", join(folder, "teams.json"), "--keys", join(folder, "keys.json")];
  const args = ["import", "litellm", config, "--write", written, "--json", ...files];
  return JSON.parse(await answerOf(args)) as ImportAnswer;
});

const gateway = withGateway(() => {
  const manifests = readdirSync(join(written, "manifests"));
  return {
    manifests: manifests.map(
      (name) => JSON.parse(readFileSync(join(written, "manifests", name), "utf8")) as object,
    ),
    settings: { poolsFile: join(written, "pools.yaml") },
  };
});

/** The output of a command that succeeded. */
async function answerOf(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<string> {
  const { code, stdout, stderr } = await runCommand(args, env);
  if (code !== 0) throw new Error(`${args.join(" ")}: exit ${code}: ${stderr}`);
  return stdout;
}

/** Runs the planned commands, as the written script would; returns the key that they make. */
const newKey = withResource(async (): Promise<{ readonly key: string; readonly orgId: string }> => {
  const saved = new Map([["EMAIL", "ops@example.com"]]);
  let key = "";
  for (const command of moved.commands) {
    const answer = await runPlanned(command, saved);
    if (command.newKeyOf !== undefined) key = textAt(answer, "secret");
  }
  return { key, orgId: saved.get("ORG_1") ?? "" };
});

async function runPlanned(command: PlannedCommand, saved: Map<string, string>): Promise<unknown> {
  const args = command.args.map((each) =>
    typeof each === "string" ? each : (saved.get(each.saved) ?? ""),
  );
  const env = { DATABASE_URL: gateway.config.databaseUrl };
  const stdout = await answerOf(args, env);
  const answer: unknown = command.saves === undefined ? undefined : JSON.parse(stdout);
  if (command.saves !== undefined) {
    saved.set(command.saves.as, textAt(answer, command.saves.field));
  }
  return answer;
}

async function balanceMicroUsd(): Promise<bigint> {
  const org = await gateway.backend.accountStore.findOrg(newKey.orgId);
  return org?.balanceMicroUsd ?? 0n;
}

async function call(path: string, body: object): Promise<HttpAnswer> {
  return await httpCall(`${gateway.url}${path}`, { body, headers: bearer(newKey.key) });
}

describe("an installation imported from LiteLLM", () => {
  test("is written as files that the program accepts unchanged", () => {
    expect(moved.written.map((path) => path.slice(written.length + 1)).toSorted()).toEqual([
      "accounts.sh",
      ...readdirSync(join(written, "manifests")).map((name) => `manifests/${name}`),
      "moving-in.json",
      "pools.yaml",
      "tokenmarket.yaml",
    ]);
    const yamlText = readFileSync(join(written, "tokenmarket.yaml"), "utf8");
    const loaded = loadConfig({ flags: {}, env: {}, yamlText });
    expect(loaded).toMatchObject({
      kind: "loaded",
      config: {
        poolsFile: "pools.yaml",
        allowPrivateUpstreams: true,
        generationTimeoutMs: 120_000,
      },
    });
    const everything = moved.written.map((path) => readFileSync(path, "utf8")).join("\n");
    expect(everything).not.toMatch(/canary/);
    expect(existsSync(join(written, "accounts.sh"))).toBe(true);
  });

  test("has the old team as an organization with the rest of its budget", async () => {
    const org = await gateway.backend.accountStore.findOrg(newKey.orgId);
    expect(org?.name).toBe("Old team");
    expect(await balanceMicroUsd()).toBeLessThanOrEqual(19_500_000n);
  });

  test("has a key for each old one, also where its alias is too long for a name, or blank", async () => {
    const env = { DATABASE_URL: gateway.config.databaseUrl };
    const args = ["key", "list", "--org", newKey.orgId, "--json"];
    const listed: unknown = JSON.parse(await answerOf(args, env));
    const names = listAt(listed, "data").map((key) => textAt(key, "name"));
    expect(names.toSorted()).toEqual(["key 2", `${"k".repeat(63)}…`, "web"]);
  });

  test.each([
    ["team-chat", "/v1/chat/completions"],
    ["fast", "/v1/messages"],
    ["team-claude", "/v1/messages"],
  ])("serves the old model name %s on %s and debits its exact price", async (model, path) => {
    const before = await balanceMicroUsd();
    const answer = await call(path, { ...chatBody(model), max_tokens: 64 });
    expect(answer.status).toBe(200);
    const isChat = path.endsWith("completions");
    const prompt = Number(at(answer.json, isChat ? "usage.prompt_tokens" : "usage.input_tokens"));
    const output = Number(
      at(answer.json, isChat ? "usage.completion_tokens" : "usage.output_tokens"),
    );
    expect(prompt).toBeGreaterThan(0);
    // $1 per million input tokens, $10 per million output tokens.
    expect(before - (await balanceMicroUsd())).toBe(BigInt(prompt + 10 * output));
  });

  test("calls providers with their own model ids", () => {
    const asked = simulator.calls().map(({ body }) => textAt(body, "model"));
    expect([...new Set(asked)].toSorted()).toEqual(["up-a", "up-b"]);
  });

  test("answers 404 for a model that had no price", async () => {
    const answer = await call("/v1/chat/completions", chatBody("unpriced"));
    expect([answer.status, answer.headers["x-tm-error-code"]]).toEqual([404, "model_unavailable"]);
  });
});

describe("fields of OpenRouter's requests", () => {
  test.each(openrouterFields)(
    "the $in field $name is handled as documented: $fate",
    async ({ in: place, name, fate, example }) => {
      const [own = ""] = moved.manifests.map(({ provider }) => provider.id);
      const value: unknown = JSON.parse(JSON.stringify(example).replaceAll("prov-a", own));
      const more = place === "provider" ? { provider: { [name]: value } } : { [name]: value };
      const answer = await call("/v1/chat/completions", chatBody("team-chat", more));
      const dropped = String(answer.headers["x-tm-dropped-params"] ?? "")
        .split(/, ?/)
        .includes(name);
      const named = place === "provider" ? `provider.${name}` : name;
      const isTaken = fate === "as_sent" || fate === "dropped";
      expect([answer.status, dropped]).toEqual([isTaken ? 200 : 400, fate === "dropped"]);
      expect(isTaken || textAt(answer.json, "error.message").includes(named)).toBe(true);
    },
  );
});
