import { execFile, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { systemClock } from "../src/core/time.ts";
import type { Wire } from "./chat-bodies.ts";
import { awaitReady, startProgram, type TetheredProgram } from "./children.ts";
import { UPSTREAM_MODEL_ID } from "./mock-answers.ts";

const COMMAND_TIMEOUT_MS = 1_800_000;
const COMMAND_FILE = fileURLToPath(new URL("../dist/cli/main.js", import.meta.url));

// The default limits would refuse the load, and what is measured is the cost of checking them.
const CONFIG = `limits:
  org_requests_per_minute: 100000000
  key_requests_per_minute: 100000000
  tokens_per_minute: 100000000000
  concurrent_requests: 100000
`;

/** The folder of one gateway: its data, its manifests and its settings. */
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

/** Writes what a gateway is started with: limits out of the way, priced models on the mock. */
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
      streaming: true,
      pricing: [
        { type: "prompt", unit: "token", cost_usd_per_million: "1.00" },
        { type: "cached_prompt", unit: "token", cost_usd_per_million: "0.10" },
        { type: "completion", unit: "token", cost_usd_per_million: "2.00" },
      ],
    })),
  };
}

/** A `serve` process with its embedded PostgreSQL, everything on. */
export interface RunningServe {
  readonly port: number;
  readonly internalUrl: string;
  readonly processId: number;
  /** From the start of the process to its ready line. */
  readonly startMs: number;
  stop(): Promise<void>;
}

export async function startServe(
  installation: Installation,
  env: Readonly<Record<string, string>> = {},
): Promise<RunningServe> {
  if (!existsSync(COMMAND_FILE))
    throw new Error(`${COMMAND_FILE} is not built; run: npm run build`);
  const { dataFolder, manifestFolder, configFile, logFile } = installation;
  const ports = ["--port", "0", "--console-port", "0", "--internal-port", "0"];
  const folders = ["--data", dataFolder, "--manifests", manifestFolder, "--config", configFile];
  const fromMs = systemClock.monotonicMs();
  const program = await startProgram({
    command: process.execPath,
    args: [COMMAND_FILE, "serve", ...ports, ...folders],
    logFile,
    env: { TM_ALLOW_PRIVATE_UPSTREAMS: "1", NODE_ENV: "production", ...env },
  });
  try {
    const ready = await awaitReady(program, () => readyLine(program));
    return {
      port: Number(new URL(ready.gateway_url).port),
      internalUrl: ready.internal_url,
      processId: program.processId,
      startMs: systemClock.monotonicMs() - fromMs,
      stop: () => program.stop(),
    };
  } catch (error) {
    await program.stop();
    throw error;
  }
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

/** Runs a command beside the gateway; its JSON, also when it ends with 1: the audit found something. */
export function runCommand(
  dataFolder: string,
  command: readonly string[],
): Readonly<Record<string, unknown>> {
  const args = [COMMAND_FILE, ...command, "--json", "--data", dataFolder];
  const ended = spawnSync(process.execPath, args, {
    encoding: "utf8",
    timeout: COMMAND_TIMEOUT_MS,
    maxBuffer: 16 * 1_024 * 1_024,
  });
  if (ended.stdout === "") throw new Error(`tokenmarket ${command.join(" ")}: ${ended.stderr}`);
  return JSON.parse(ended.stdout) as Readonly<Record<string, unknown>>;
}

/** The same for any database, without holding this process up. */
export async function commandAnswer(
  command: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<Readonly<Record<string, unknown>>> {
  const args = [COMMAND_FILE, ...command, "--json"];
  const options = { env: { ...process.env, ...env }, timeout: COMMAND_TIMEOUT_MS };
  const { stdout, stderr } = await new Promise<{ stdout: string; stderr: string }>((resolve) => {
    execFile(process.execPath, args, options, (_, out, err) =>
      resolve({ stdout: out, stderr: err }),
    );
  });
  if (stdout === "") throw new Error(`tokenmarket ${command.join(" ")}: ${stderr}`);
  return JSON.parse(stdout) as Readonly<Record<string, unknown>>;
}

/** A key of a new organization with more credit than any run uses. */
export function createFundedKey(dataFolder: string): string {
  const created = runCommand(dataFolder, ["org", "create", "bench", "--email", "b@example.com"]);
  const org = String(created["org_id"]);
  const credit = ["--org", org, "--usd", "1000000", "--ref", "bench"];
  runCommand(dataFolder, ["credit", "grant", ...credit]);
  return String(runCommand(dataFolder, ["key", "create", "--org", org, "--name", "bench"])["key"]);
}
