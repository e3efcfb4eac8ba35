import { execFile } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { fileURLToPath } from "node:url";
import type { Wire } from "./chat-bodies.ts";
import {
  awaitReady,
  startProgram,
  type TetheredProgram,
} from "../test/support/tethered-program.ts";
import { UPSTREAM_MODEL_ID } from "./mock-answers.ts";

const COMMAND_TIMEOUT_MS = 1_800_000;
const COMMAND_FILE = fileURLToPath(new URL("../dist/cli/main.js", import.meta.url));

// The default limits would refuse the load. The cost of checking high limits is still measured.
const CONFIG = `limits:
  org_requests_per_minute: 100000000
  key_requests_per_minute: 100000000
  tokens_per_minute: 100000000000
  concurrent_requests: 100000
  refusals_rpm: 1000000
  unfunded_requests_per_minute: 1000000
unusual_use:
  refused_requests: 0
  error_percent: 0
`;

export interface Installation {
  readonly dataFolder: string;
  readonly manifestFolder: string;
  readonly configFile: string;
  readonly logFile: string;
}

export interface MockProvider {
  readonly id: string;
  readonly wire: Wire;
  readonly mockPort: number;
  readonly modelIds: readonly string[];
}

/** Writes the files of a gateway with high limits and with priced models on the mock provider. */
export function writeInstallation(
  folder: string,
  providers: readonly MockProvider[],
): Installation {
  const dataFolder = join(folder, "data");
  const manifestFolder = join(folder, "manifests");
  const configFile = join(folder, "tokenmarket.yaml");
  for (const each of [folder, dataFolder, manifestFolder]) mkdirSync(each, { recursive: true });
  writeFileSync(configFile, CONFIG);
  for (const provider of providers) {
    const text = JSON.stringify(manifestOf(provider));
    writeFileSync(join(manifestFolder, `${provider.id}.json`), text);
  }
  return { dataFolder, manifestFolder, configFile, logFile: join(folder, "gateway.log") };
}

function manifestOf({ id, wire, mockPort, modelIds }: MockProvider): object {
  return {
    manifest_version: "1",
    provider: {
      id,
      name: `Bench mock ${id}`,
      privacy_policy_url: "http://127.0.0.1/privacy",
      prompt_logging: "none",
    },
    endpoint: { base_url: `http://127.0.0.1:${mockPort}/v1`, dialect: wire },
    settlement: { mode: "prepaid", interval: "monthly" },
    models: modelIds.map((modelId) => ({
      id: modelId,
      upstream_id: UPSTREAM_MODEL_ID[wire],
      display_name: `Bench model ${modelId}`,
      context_length: 1_000_000,
      max_output_tokens: 8_192,
      input_modalities: ["text", "image"],
      streaming: true,
      pricing: [
        { type: "prompt", unit: "token", cost_usd_per_million: "1.00" },
        { type: "cached_prompt", unit: "token", cost_usd_per_million: "0.10" },
        { type: "completion", unit: "token", cost_usd_per_million: "2.00" },
      ],
    })),
  };
}

export interface RunningServe {
  readonly port: number;
  readonly internalUrl: string;
  readonly processId: number;
  stop(): Promise<void>;
}

export async function startServe(
  installation: Installation,
  env: Readonly<Record<string, string>> = {},
  more: readonly string[] = [],
): Promise<RunningServe> {
  if (!existsSync(COMMAND_FILE))
    throw new Error(`${COMMAND_FILE} is not built; run: npm run build`);
  const { dataFolder, manifestFolder, configFile, logFile } = installation;
  const ports = ["--port", "0", "--console-port", "0", "--internal-port", "0"];
  const folders = ["--data", dataFolder, "--manifests", manifestFolder, "--config", configFile];
  const program = await startProgram({
    command: process.execPath,
    // Both container images set this flag.
    args: ["--max-semi-space-size=16", COMMAND_FILE, "serve", ...ports, ...folders, ...more],
    logFile,
    env: { TM_ALLOW_PRIVATE_UPSTREAMS: "1", NODE_ENV: "production", ...env },
  });
  const ready = await awaitReady(program, () => readyLine(program));
  return {
    port: Number(new URL(ready.gateway_url).port),
    internalUrl: ready.internal_url,
    processId: program.processId,
    stop: () => program.stop(),
  };
}

interface ReadyLine {
  readonly gateway_url: string;
  readonly internal_url: string;
}

function readyLine(program: TetheredProgram): ReadyLine | undefined {
  const lines = program.log().split("\n");
  const line = lines.find((text) => text.includes('"msg":"ready"') && text.endsWith("}"));
  return line === undefined ? undefined : (JSON.parse(line) as ReadyLine);
}

/** Returns a command's JSON answer, even if it exits with 1, as an audit with violations does. */
export async function commandAnswer(
  command: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<Readonly<Record<string, unknown>>> {
  const args = [COMMAND_FILE, ...command, "--json"];
  const options = { env: { ...process.env, ...env }, timeout: COMMAND_TIMEOUT_MS };
  const run = promisify(execFile)(process.execPath, args, options);
  // The error of a failed command also carries its output.
  const { stdout, stderr } = await run.catch((failed: Awaited<typeof run>) => failed);
  if (stdout === "") throw new Error(`tokenmarket ${command.join(" ")}: ${stderr}`);
  return JSON.parse(stdout) as Readonly<Record<string, unknown>>;
}
