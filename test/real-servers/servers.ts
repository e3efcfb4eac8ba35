import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { answersOk, startServer } from "../support/tethered-program.ts";
import { freePort } from "../support/free-port.ts";
import { npmFolder } from "../support/clients/client-folder.ts";
import { pythonWith } from "../support/clients/python.ts";
import { runToEnd } from "./run-to-end.ts";

export const KEY = "sk-real-server";

export interface RunningServer {
  readonly name: string;
  readonly port: number;
  stop(): Promise<void>;
}

const HERE = fileURLToPath(new URL(".", import.meta.url));
const LITELLM_REQUIREMENTS = join(HERE, "../peer/packages/litellm-requirements.txt");
const LLAMA_REQUIREMENTS = join(HERE, "llama-requirements.txt");
const AIMOCK = "@copilotkit/aimock";
const AIMOCK_VERSION = "1.43.0";
export const TINY_MODEL = "tiny-random";
export const MOCK_MODEL = "mock-chat";

/** Starts a real inference engine; in "…, set up" a new request waits for a running one (C12). */
export async function startLlama(
  folder: string,
  name: "llama-cpp-python" | "llama-cpp-python, set up",
): Promise<RunningServer> {
  const isSetUp = name !== "llama-cpp-python";
  const python = await pythonWith(requirements(LLAMA_REQUIREMENTS));
  const model = join(folder, "tiny.gguf");
  await runToEnd(python, [join(HERE, "tiny_model.py"), model]);
  const port = await freePort();
  const where = ["--host", "127.0.0.1", "--port", String(port), "--api_key", KEY];
  const what = ["--model", model, "--model_alias", TINY_MODEL, "--n_ctx", "8192"];
  const repair = isSetUp ? ["--interrupt_requests", "false"] : [];
  return await started({
    name,
    folder,
    port,
    command: python,
    args: ["-m", "llama_cpp.server", ...where, ...what, ...repair],
    path: "/v1/models",
  });
}

/** Starts a proxy without a database: two models with mock answers, and one that it relays. */
export async function startLiteLlm(
  folder: string,
  upstream: RunningServer,
): Promise<RunningServer> {
  const python = await pythonWith(requirements(LITELLM_REQUIREMENTS));
  const config = join(folder, "litellm.yaml");
  writeFileSync(config, liteLlmConfig(upstream.port));
  const port = await freePort();
  const where = ["--host", "127.0.0.1", "--port", String(port)];
  return await started({
    name: "LiteLLM",
    folder,
    port,
    command: python,
    args: ["-m", "litellm.proxy.proxy_cli", "--config", config, "--num_workers", "1", ...where],
    env: { LITELLM_MODE: "PRODUCTION", LITELLM_LOCAL_MODEL_COST_MAP: "True" },
    path: "/health/liveliness",
  });
}

export const LITELLM_MODELS = {
  mockChat: "mock-chat",
  mockMessages: "mock-messages",
  relayed: "relayed",
} as const;

function liteLlmConfig(upstreamPort: number): string {
  const { mockChat, mockMessages, relayed } = LITELLM_MODELS;
  return [
    "model_list:",
    ...mockLines(mockChat, "openai/gpt-4o-mini"),
    ...mockLines(mockMessages, "anthropic/claude-sonnet-4-5"),
    `  - model_name: ${relayed}`,
    "    litellm_params:",
    `      model: openai/${TINY_MODEL}`,
    `      api_base: http://127.0.0.1:${upstreamPort}/v1`,
    `      api_key: ${KEY}`,
    "litellm_settings:",
    // Else LiteLLM would call its upstream on a third wire, which llama-cpp-python does not have.
    "  use_chat_completions_url_for_anthropic_messages: true",
    "general_settings:",
    `  master_key: ${KEY}`,
    "",
  ].join("\n");
}

function mockLines(name: string, model: string): readonly string[] {
  return [
    `  - model_name: ${name}`,
    "    litellm_params:",
    `      model: ${model}`,
    "      api_key: none",
    "      mock_response: lemon",
  ];
}

/** Starts a mock whose answers fit the probes, so that every failure is the server's own. */
export async function startAimock(folder: string): Promise<RunningServer> {
  const made = await npmFolder({ name: "aimock", dependencies: { [AIMOCK]: AIMOCK_VERSION } });
  const port = await freePort();
  const program = join(made, "node_modules", AIMOCK, "dist", "cli.js");
  const fixtures = join(HERE, "aimock-fixtures.json");
  return await started({
    name: "aimock",
    folder,
    port,
    command: process.execPath,
    args: [program, "--port", String(port), "--fixtures", fixtures],
    env: { AIMOCK_API_KEYS: KEY },
    path: "/v1/models",
  });
}

/** Starts a server whose `path` answers 200 as soon as it is ready. */
async function started({
  name,
  folder,
  path,
  ...start
}: Omit<Parameters<typeof startServer>[0], "logFile"> & {
  readonly name: string;
  readonly folder: string;
  readonly path: string;
}): Promise<RunningServer> {
  const { port } = start;
  process.stderr.write(`${name}: starting\n`);
  const logFile = join(folder, `${name.replaceAll(/[^\w-]+/g, "-")}.log`);
  const program = await startServer({ ...start, logFile }, () =>
    answersOk(`http://127.0.0.1:${port}${path}`, KEY),
  );
  return { name, port, stop: () => program.stop() };
}

/** Returns the packages of a file, each with its version, so that all installations are equal. */
function requirements(file: string): readonly string[] {
  const lines = readFileSync(file, "utf8").split("\n");
  return ["--no-deps", ...lines.filter((line) => /^[\w-]/.test(line))];
}
