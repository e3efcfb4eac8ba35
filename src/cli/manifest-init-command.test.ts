import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { describe, expect, test } from "vitest";

import { listenLocally } from "../../test/support/local-server.ts";
import {
  llamaCpp,
  lmStudio,
  modelServer,
  ollama,
  type PlayedAnswer,
  type PlayedRequest,
  vllm,
} from "../../test/support/model-servers.ts";
import { pricing } from "../../test/fixtures/manifest/samples.ts";
import { runCommand, type CommandResult } from "../../test/support/program.ts";
import { newFolder } from "../../test/support/run-folder.ts";
import { runAtTerminal } from "../../test/support/terminal.ts";
import { type Manifest, validateManifest } from "../catalog/index.ts";

const PRIVATE = { TM_ALLOW_PRIVATE_UPSTREAMS: "1", OPENAI_API_KEY: "", NO_SUCH_KEY: "" };
const SECRET = "sk-provider-secret-1";

function freshFolder(): string {
  return join(newFolder("init"), "manifests");
}

interface Initialized extends CommandResult {
  readonly seen: readonly PlayedRequest[];
  readonly folder: string;
  /** The one manifest that was written; undefined if none was. */
  readonly manifest: Manifest | undefined;
}

/** Runs `manifest init` against a server that gives `answer`. */
async function init(
  answer: PlayedAnswer,
  flags: readonly string[],
  env: Readonly<Record<string, string>> = {},
  folder = freshFolder(),
): Promise<Initialized> {
  const seen: PlayedRequest[] = [];
  const server = await listenLocally(modelServer(answer, seen));
  const base = ["manifest", "init", "--base-url", `${server.url}/v1`, "--manifests", folder];
  try {
    const result = await runCommand([...base, ...flags], { ...PRIVATE, ...env });
    return { ...result, seen, folder, manifest: written(folder) };
  } finally {
    await server.close();
  }
}

function written(folder: string): Manifest | undefined {
  const [file] = existsSync(folder) ? readdirSync(folder) : [];
  if (file === undefined) return undefined;
  const verdict = validateManifest(readFileSync(join(folder, file), "utf8"));
  expect(verdict).toMatchObject({ ok: true });
  return verdict.ok ? verdict.manifest : undefined;
}

function shippedModels(): Manifest["models"] {
  const shipped = readFileSync(new URL("../../manifests/openai.json", import.meta.url), "utf8");
  return (JSON.parse(shipped) as Manifest).models;
}

const SAID = ["--privacy-url", "https://own.example/privacy", "--yes"];
const WITH_KEY = [...SAID, "--free", "--api-key-env", "GPU_KEY"];
const OPENAI = ["--provider", "openai", "--yes"];

describe("a self-hosted endpoint", () => {
  const lmStudioIds = ["lmstudio/qwen2-vl-7b-instruct", "lmstudio/meta-llama-3.1-8b-instruct"];
  test.each([
    ["vllm", vllm, ["vllm/Qwen/Qwen3-8B"], 40_960],
    ["llama-cpp", llamaCpp, ["llama-cpp/qwen3-4b"], 65_536],
    ["ollama", ollama, ["ollama/qwen3-8b", "ollama/llava"], 4_096],
    ["lmstudio", lmStudio, lmStudioIds, 32_768],
  ])("%s is listed with the models and context it reports", async (id, server, models, context) => {
    const { code, folder, manifest, stdout } = await init(server, [...SAID, "--free"]);
    expect(code).toBe(0);
    expect(stdout).toContain(`tokenmarket conformance run ${join(folder, `${id}.json`)}`);
    expect(manifest).toMatchObject({
      provider: { id, priority: 0, prompt_logging: "none", listing: "public" },
      endpoint: { dialect: "wire_a" },
    });
    expect(manifest?.models.map((model) => model.id)).toEqual(models);
    expect(manifest?.models[0]).toMatchObject({ context_length: context });
    expect(manifest?.models[0]).not.toHaveProperty("capacity");
  });

  const zero = ["--price-prompt", "0", "--price-completion", "0.000"];
  const unknown = ["--free", "--models", "qwen3*", "llma*"];
  const refusingKey: PlayedAnswer = () => ({ status: 401, body: {} });
  test.each<[string, PlayedAnswer, readonly string[], RegExp]>([
    ["no price is given", vllm, [], /--price-prompt and --price-completion, or --free/],
    ["no privacy policy is given", vllm, [], /--privacy-url/],
    ["a price is 0", vllm, [...SAID, ...zero], /0 gives the model away; say so with --free/],
    ["a named model does not exist", ollama, [...SAID, ...unknown], /no model is named llma\*/],
    ["it refuses the key", refusingKey, WITH_KEY, /it refuses the key \(status 401\)/],
  ])("is refused with the reason if %s, and nothing is written", async (...row) => {
    const [, server, flags, message] = row;
    const { code, stderr, manifest } = await init(server, flags, { GPU_KEY: SECRET });
    expect(code).toBe(2);
    expect(stderr).toMatch(message);
    expect(manifest).toBeUndefined();
  });

  const ownKey = { TM_ENCRYPTION_KEY: Buffer.alloc(32).toString("base64") };
  test.each<[string, readonly string[], Readonly<Record<string, string>>, RegExp]>([
    [
      "it is at a private address that the operator does not allow",
      [...SAID, "--free"],
      { TM_ALLOW_PRIVATE_UPSTREAMS: "0" },
      /set TM_ALLOW_PRIVATE_UPSTREAMS=1 to use it, here and for the server/,
    ],
    [
      "its key is a secret of the gateway itself",
      [...SAID, "--free", "--api-key-env", "TM_ENCRYPTION_KEY"],
      ownKey,
      /TM_ENCRYPTION_KEY is a variable of this program/,
    ],
    [
      "it is a built-in provider whose key is not set",
      OPENAI,
      {},
      /the environment variable OPENAI_API_KEY holds no key/,
    ],
  ])("is refused without being asked if %s", async (_what, flags, env, message) => {
    const { code, stderr, seen } = await init(vllm, flags, env);
    expect(code).toBe(2);
    expect(stderr).toMatch(message);
    expect(seen).toEqual([]);
  });

  test("needs --context if it does not report a context length", async () => {
    const silent: PlayedAnswer = (request) =>
      request.path === "/v1/models" ? { body: { data: [{ id: "m" }] } } : vllm(request);
    const missing = await init(silent, [...SAID, "--free"]);
    expect(missing.stderr).toMatch(/--context \(the endpoint does not say it of m\)/);
    const { manifest } = await init(silent, [...SAID, "--free", "--context", "8192"]);
    expect(manifest?.models).toMatchObject([{ id: "own/m", context_length: 8_192 }]);
  });

  test("that serves Qwen 3.5 or newer gets system texts only at the front, and no role developer", async () => {
    const name = "Qwen3.6-27B";
    const server: PlayedAnswer = (request) =>
      request.path === "/v1/models" ? { body: { data: [{ id: name }] } } : vllm(request);
    const { manifest } = await init(server, [...SAID, "--free", "--context", "8192"]);
    expect(manifest?.listing_terms).toEqual({
      [`own/${name}`]: { history: ["system-for-developer", "system-first"] },
    });
  });

  test("--context can only shorten what the endpoint says", async () => {
    const longer = await init(vllm, [...SAID, "--free", "--context", "1000000"]);
    expect(longer.manifest?.models[0]?.context_length).toBe(40_960);
    const shorter = await init(vllm, [...SAID, "--free", "--context", "8192"]);
    const bounds = { context_length: 8_192, max_output_tokens: 8_192 };
    expect(shorter.manifest?.models[0]).toMatchObject(bounds);
  });

  test("a tag that a manifest cannot hold is named with the command that renames it", async () => {
    const { stdout } = await init(ollama, [...SAID, "--free"]);
    expect(stdout).toMatch(/not listed: qwen3:0\.6b: .*ollama cp qwen3:0\.6b qwen3-0\.6b/);
  });

  test("a margin raises hand-set prices, and the provider is owed the price itself", async () => {
    const prices = ["--price-prompt", "0.25", "--price-completion", "1"];
    const { manifest } = await init(vllm, [...SAID, ...prices, "--margin", "10"]);
    expect(manifest?.models[0]?.pricing).toEqual(pricing({ prompt: "0.275", completion: "1.1" }));
    const terms = manifest?.listing_terms?.["vllm/Qwen/Qwen3-8B"];
    expect(terms?.purchase_pricing).toEqual(pricing({ prompt: "0.25", completion: "1" }));
  });

  test("an endpoint that answers no token is not listed", async () => {
    const silent: PlayedAnswer = (request) =>
      request.path === "/v1/models" ? vllm(request) : undefined;
    const { code, stdout, manifest } = await init(silent, [...SAID, "--free"]);
    expect(code).toBe(1);
    expect(stdout).toMatch(/no answer to one token of Qwen\/Qwen3-8B \(wire_a: status 404/);
    expect(manifest).toBeUndefined();
  });

  test("an existing manifest is replaced only with --force", async () => {
    const folder = freshFolder();
    await init(vllm, [...SAID, "--free"], {}, folder);
    const again = await init(vllm, [...SAID, "--free"], {}, folder);
    expect(again.code).toBe(2);
    expect(again.stderr).toMatch(/vllm\.json exists; give --force/);
    expect((await init(vllm, [...SAID, "--free", "--force"], {}, folder)).code).toBe(0);
  });
});

describe("the key of an endpoint", () => {
  test("is named in the manifest, and its value is nowhere", async () => {
    const run = await init(vllm, [...WITH_KEY, "--json"], { GPU_KEY: SECRET });
    expect(run.manifest?.endpoint.api_key_env).toBe("GPU_KEY");
    expect(run.seen[0]?.headers["authorization"]).toBe(`Bearer ${SECRET}`);
    expect(run.stdout + run.stderr + JSON.stringify(run.manifest)).not.toContain(SECRET);
  });

  test("that belongs to another provider is not sent to this address", async () => {
    const folder = freshFolder();
    const first = await init(vllm, WITH_KEY, { GPU_KEY: SECRET }, folder);
    expect(first.code).toBe(0);
    const second = await init(llamaCpp, WITH_KEY, { GPU_KEY: SECRET }, folder);
    expect(second.code).toBe(2);
    expect(second.stderr).toMatch(/GPU_KEY belongs to http:\/\/127\.0\.0\.1:\d+/);
    expect(second.seen).toEqual([]);
  });
});

describe("a built-in provider", () => {
  const served =
    (...ids: readonly string[]): PlayedAnswer =>
    ({ path }) =>
      path === "/v1/models" ? { body: { data: ids.map((id) => ({ id })) } } : undefined;

  test("is listed with those of the shipped models that it serves to this key", async () => {
    const [first] = shippedModels();
    const upstream = first?.upstream_id ?? "";
    const run = await init(served(`${upstream}-2026-01-01`), OPENAI, { OPENAI_API_KEY: SECRET });
    expect(run.code).toBe(0);
    expect(run.manifest?.models).toEqual([first]);
    expect(run.stdout).toMatch(/not listed: openai\/\S+: the provider does not list it/);
    expect(run.stdout + run.stderr).not.toContain(SECRET);
  });

  test("can be listed without its key with --offline", async () => {
    const offline = await init(served("gpt"), [...OPENAI, "--offline"]);
    expect(offline.code).toBe(0);
    expect(offline.seen).toEqual([]);
  });

  test("with an unknown id is refused with those that are known", async () => {
    const result = await runCommand(["manifest", "init", "--provider", "nope"], PRIVATE);
    expect(result.code).toBe(2);
    expect(result.stderr).toMatch(/nope is not one of openai, anthropic, /);
  });

  test("Azure has the deployment's name as upstream_id and the model's own in resolves_to", async () => {
    const folder = freshFolder();
    const [model] = shippedModels();
    const azure = ["manifest", "init", "--provider", "azure", "--manifests", folder];
    const deployed = ["--resource", "acme", "--deployments", `my-gpt=${model?.id}`];
    const result = await runCommand([...azure, ...deployed], PRIVATE);
    expect(result.code).toBe(0);
    const resolvesTo = expect.arrayContaining([model?.upstream_id]);
    expect(written(folder)).toMatchObject({
      endpoint: { base_url: "https://acme.openai.azure.com/openai/v1" },
      models: [{ id: model?.id, upstream_id: "my-gpt", resolves_to: resolvesTo }],
    });
  });

  test.each(["evil.example/#", "a.b", "", "-a", "a@b"])(
    "Azure with the resource '%s' is refused",
    async (resource) => {
      const azure = ["manifest", "init", "--provider", "azure", "--resource", resource];
      const deployed = ["--deployments", "d=openai/gpt-4.1", "--manifests", freshFolder()];
      const result = await runCommand([...azure, ...deployed], PRIVATE);
      expect(result.code).toBe(2);
      expect(result.stderr).toMatch(/--resource must be one part of a host name/);
    },
  );

  test("Azure or Bedrock without a terminal is refused, and the missing flags are named", async () => {
    const azure = await runCommand(["manifest", "init", "--provider", "azure"], PRIVATE);
    expect(azure.code).toBe(2);
    expect(azure.stderr).toMatch(/give --resource, --deployments NAME=MODEL/);
    const bedrock = await runCommand(["manifest", "init", "--provider", "bedrock"], PRIVATE);
    expect(bedrock.stderr).toMatch(/give --region, --deployments NAME=MODEL/);
  });
});

describe("a person at a terminal", () => {
  async function typed(answers: (url: string) => readonly string[], ...flags: readonly string[]) {
    const folder = freshFolder();
    const server = await listenLocally(modelServer(vllm));
    const url = `${server.url}/v1`;
    const named = flags.map((flag) => (flag === "URL" ? url : flag));
    const args = ["manifest", "init", "--manifests", folder, ...named];
    const run = await runAtTerminal(args, PRIVATE, answers(url)).finally(() => void server.close());
    return { ...run, folder };
  }

  test("is asked for missing values, and asked again after an invalid answer", async () => {
    const privacy = "https://own.example/privacy";
    const run = await typed((url) => [url, "*", "free", "0.5", "2", "gpu-one", "", privacy]);
    expect(run.stderr).toMatch(/--price-prompt must be USD per million tokens/);
    expect(run.code).toBe(0);
    expect(written(run.folder)).toMatchObject({
      provider: { id: "gpu-one", name: "gpu-one" },
      models: [{ id: "gpu-one/Qwen/Qwen3-8B" }],
    });
  });

  test("who closes the terminal ends the command, and nothing is written", async () => {
    const run = await typed(() => ["*"], "--base-url", "URL");
    expect(run.code).toBe(2);
    expect(run.stderr).toMatch(/the terminal was closed before the last answer/);
    expect(existsSync(run.folder)).toBe(false);
  });

  test("is not asked with --json", async () => {
    const run = await typed(() => [], "--base-url", "URL", "--json");
    expect(run.code).toBe(2);
    expect(run.stderr).toMatch(/there is no terminal to ask at/);
  });
});

test("an invalid manifest in the folder does not stop manifest init for another endpoint", async () => {
  const folder = freshFolder();
  await init(vllm, [...SAID, "--free"], {}, folder);
  writeFileSync(join(folder, "zz-broken.json"), "{");
  expect((await init(llamaCpp, [...SAID, "--free"], {}, folder)).code).toBe(0);
});
