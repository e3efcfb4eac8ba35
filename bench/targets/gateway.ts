import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { awaitReady, startProgram, type TetheredProgram } from "../children.ts";
import { descendantsOf } from "../process-cost.ts";
import { MODEL_ID, writeGatewayFiles, type GatewayFiles } from "./gateway-files.ts";
import { TargetAbsent, chatPath, clientHeaders, type Target, type TargetStart } from "./target.ts";

const COMMAND_FILE = fileURLToPath(new URL("../../dist/cli/main.js", import.meta.url));
const COMMAND_TIMEOUT_MS = 60_000;

/** This gateway as it is built, with everything on: keys, limits, durable holds, bills, records. */
export async function startGateway(start: TargetStart): Promise<Target> {
  if (!existsSync(COMMAND_FILE)) throw new TargetAbsent(`${COMMAND_FILE} is not built`);
  const files = writeGatewayFiles(start);
  const program = await startProgram({
    command: process.execPath,
    args: [...profileArgs(start), ...serveArgs(files)],
    logFile: join(start.folder, "gateway.log"),
    env: { TM_ALLOW_PRIVATE_UPSTREAMS: "1", NODE_ENV: "production" },
  });
  try {
    const port = await awaitReady(program, () => readyPort(program));
    return gatewayTarget(program, port, createFundedKey(files.dataFolder));
  } catch (error) {
    await program.stop();
    throw error;
  }
}

function profileArgs({ profileFolder }: TargetStart): readonly string[] {
  return profileFolder === undefined ? [] : ["--cpu-prof", `--cpu-prof-dir=${profileFolder}`];
}

function serveArgs(files: GatewayFiles): readonly string[] {
  const { dataFolder, manifestFolder, configFile } = files;
  const ports = ["--port", "0", "--console-port", "0", "--internal-port", "0"];
  const folders = ["--data", dataFolder, "--manifests", manifestFolder, "--config", configFile];
  return [COMMAND_FILE, "serve", ...ports, ...folders];
}

function readyPort(program: TetheredProgram): number | undefined {
  const line = program
    .log()
    .split("\n")
    .find((text) => text.includes('"msg":"ready"'));
  if (line === undefined) return undefined;
  const { gateway_url: url } = JSON.parse(line) as { readonly gateway_url: string };
  return Number(new URL(url).port);
}

function createFundedKey(dataFolder: string): string {
  const created = command(dataFolder, ["org", "create", "bench", "--email", "b@example.com"]);
  const org = String(created["org_id"]);
  command(dataFolder, ["credit", "grant", "--org", org, "--usd", "1000000", "--ref", "bench"]);
  return String(command(dataFolder, ["key", "create", "--org", org, "--name", "bench"])["key"]);
}

function command(dataFolder: string, words: readonly string[]): Readonly<Record<string, unknown>> {
  const args = [COMMAND_FILE, ...words, "--json", "--data", dataFolder];
  const ended = spawnSync(process.execPath, args, {
    encoding: "utf8",
    timeout: COMMAND_TIMEOUT_MS,
  });
  if (ended.status !== 0) throw new Error(`tokenmarket ${words.join(" ")}: ${ended.stderr}`);
  return JSON.parse(ended.stdout) as Readonly<Record<string, unknown>>;
}

function gatewayTarget(program: TetheredProgram, port: number, key: string): Target {
  return {
    id: "gateway",
    version: "",
    endpoint: ({ client }) => ({
      port,
      path: chatPath(client),
      headers: clientHeaders(client, key),
    }),
    modelId: ({ upstream }) => MODEL_ID[upstream],
    processIds: () => [program.processId],
    helperProcessIds: () => descendantsOf(program.processId),
    stop: () => program.stop(),
  };
}
