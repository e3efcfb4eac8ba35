import { existsSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { awaitReady, startProgram, type TetheredProgram } from "../children.ts";
import { descendantsOf } from "../process-cost.ts";
import { startDatabase, type BenchDatabase } from "./bench-database.ts";
import { startRedis } from "./bench-redis.ts";
import { makeGatewayKeys, type GatewayKeys } from "./gateway-keys.ts";
import { MODEL_ID, writeGatewayFiles, type GatewayFiles } from "./gateway-files.ts";
import { TargetAbsent, chatPath, clientHeaders, type Target, type TargetStart } from "./target.ts";

const COMMAND_FILE = fileURLToPath(new URL("../../dist/cli/main.js", import.meta.url));

/** This gateway as it is built, with everything on: keys, limits, durable holds, bills, records. */
export function startGateway(start: TargetStart): Promise<Target> {
  return startServing(start, { id: "gateway", args: [], env: {} });
}

/** The same as two processes that share the port, and their limits in a Redis. */
export async function startGatewayWorkers(start: TargetStart): Promise<Target> {
  const redis = await startRedis(start.folder);
  try {
    const env = { REDIS_URL: redis.url };
    return await startServing(start, {
      id: "gateway-workers",
      args: ["--workers", "2"],
      env,
      redis: redis.program,
    });
  } catch (error) {
    await redis.program.stop();
    throw error;
  }
}

interface Variant {
  readonly id: "gateway" | "gateway-workers";
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly redis?: TetheredProgram;
}

async function startServing(start: TargetStart, variant: Variant): Promise<Target> {
  if (!existsSync(COMMAND_FILE)) throw new TargetAbsent(`${COMMAND_FILE} is not built`);
  const files = writeGatewayFiles(start);
  const program = await startProgram({
    command: process.execPath,
    args: [...profileArgs(start), ...serveArgs(files), ...variant.args],
    logFile: join(start.folder, "gateway.log"),
    env: { TM_ALLOW_PRIVATE_UPSTREAMS: "1", NODE_ENV: "production", ...variant.env },
  });
  try {
    const ready = await awaitReady(program, () => readyLine(program));
    // The gateway has started its database: this shares it.
    const database = await startDatabase(files.dataFolder);
    const keys = await makeGatewayKeys(database.connectionString);
    return gatewayTarget({ variant, program, database, ready, keys });
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

interface Ready {
  readonly port: number;
  readonly metricsUrls: readonly string[];
}

interface ReadyLine {
  readonly gateway_url: string;
  readonly internal_url: string;
  /** Of several workers. */
  readonly internal_urls?: readonly string[];
}

function readyLine(program: TetheredProgram): Ready | undefined {
  const lines = program.log().split("\n");
  const line = lines.find((text) => text.includes('"msg":"ready"'));
  if (line === undefined) return undefined;
  const {
    gateway_url,
    internal_url,
    internal_urls = [internal_url],
  } = JSON.parse(line) as ReadyLine;
  return {
    port: Number(new URL(gateway_url).port),
    metricsUrls: internal_urls.map((url) => new URL("/metrics", url).href),
  };
}

interface RunningGateway {
  readonly variant: Variant;
  readonly program: TetheredProgram;
  readonly database: BenchDatabase;
  readonly ready: Ready;
  readonly keys: GatewayKeys;
}

function gatewayTarget(running: RunningGateway): Target {
  const { variant, program, database, ready, keys } = running;
  const { redis } = variant;
  return {
    id: variant.id,
    version: "",
    endpoint: ({ client }) => ({
      port: ready.port,
      path: chatPath(client),
      headers: clientHeaders(client, keys.funded),
    }),
    modelId: ({ upstream }) => MODEL_ID[upstream],
    keys: { many: keys.many, bad_key: [keys.unknown], no_credit: [keys.unfunded] },
    metricsUrls: ready.metricsUrls,
    processIds: () => [
      program.processId,
      ...descendantsOf(program.processId).filter((id) => isSameProgram(id, program.processId)),
    ],
    helperProcessIds: () => [
      ...database.processIds(),
      ...(redis === undefined ? [] : [redis.processId]),
    ],
    stop: async () => {
      await database.stop();
      await program.stop();
      await redis?.stop();
    },
  };
}

/** Its workers run what it runs; its database does not. */
function isSameProgram(one: number, other: number): boolean {
  try {
    return readlinkSync(`/proc/${one}/exe`) === readlinkSync(`/proc/${other}/exe`);
  } catch {
    return false;
  }
}
