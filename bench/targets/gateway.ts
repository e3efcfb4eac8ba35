import { readlinkSync } from "node:fs";
import { redisProgram, startRedis, type TestRedis } from "../../test/support/redis.ts";
import { UPSTREAM_MODEL_ID } from "../mock-answers.ts";
import { fillBooks, grownProviders } from "../grown-books.ts";
import {
  startServe,
  writeInstallation,
  type Installation,
  type RunningServe,
} from "../installation.ts";
import { descendantsOf } from "../../test/support/process-cost.ts";
import { activeOf } from "../sizes.ts";
import { startDatabase, type BenchDatabase } from "./bench-database.ts";
import { ORGANIZATIONS, makeGatewayKeys, type GatewayKeys } from "./gateway-keys.ts";
import { TargetAbsent, chatPath, clientHeaders, type Target, type TargetStart } from "./target.ts";

const MODEL_ID = { wire_a: "bench/wire-a", wire_b: "bench/wire-b" } as const;

/** This gateway as it is built, with everything on: keys, limits, durable holds, bills, records. */
export function startGateway(start: TargetStart): Promise<Target> {
  return startServing(install(start), { id: "gateway" });
}

/** The same as two processes that share the port, and their limits in a Redis. */
export async function startGatewayWorkers(start: TargetStart): Promise<Target> {
  if (redisProgram === undefined) throw new TargetAbsent("neither redis-server nor valkey-server");
  const redis = await startRedis();
  try {
    return await startServing(install(start), { id: "gateway-workers", redis });
  } catch (error) {
    await redis.close();
    throw error;
  }
}

/** The same on grown books, with all of their listings, called by organizations with a history. */
export async function startGrownGateway(start: TargetStart): Promise<Target> {
  const { sizes } = start;
  const installation = install(start, grownProviders(sizes, start.mockPort));
  await fillBooks(installation.dataFolder, sizes, (line) => process.stderr.write(`${line}\n`));
  // The first start of all notes the prices of the listings, which is not what is measured.
  await (await startServe(installation)).stop();
  const many = activeOf(sizes, ORGANIZATIONS).map(({ rawKey }) => rawKey);
  const [funded = ""] = many;
  return await startServing(installation, { id: "gateway-grown", keys: { funded, many } });
}

function install(
  { folder, mockPort }: TargetStart,
  more: Parameters<typeof writeInstallation>[1] = [],
): Installation {
  const own = (["wire_a", "wire_b"] as const).map((wire) => ({
    id: `bench-${UPSTREAM_MODEL_ID[wire]}`,
    wire,
    mockPort,
    modelIds: [MODEL_ID[wire]],
  }));
  return writeInstallation(folder, [...own, ...more]);
}

interface Variant {
  readonly id: "gateway" | "gateway-workers" | "gateway-grown";
  readonly redis?: TestRedis;
  /** In place of those of new organizations. */
  readonly keys?: Partial<GatewayKeys>;
}

async function startServing(installation: Installation, variant: Variant): Promise<Target> {
  const { redis } = variant;
  const serve = await (redis === undefined
    ? startServe(installation)
    : startServe(installation, { REDIS_URL: redis.url }, ["--workers", "2"]));
  try {
    // The gateway has started its database: this shares it.
    const database = await startDatabase(installation.dataFolder);
    const made = await makeGatewayKeys(database.connectionString);
    return gatewayTarget(variant, { serve, database, keys: { ...made, ...variant.keys } });
  } catch (error) {
    await serve.stop();
    throw error;
  }
}

interface RunningGateway {
  readonly serve: RunningServe;
  readonly database: BenchDatabase;
  readonly keys: GatewayKeys;
}

function gatewayTarget({ id, redis }: Variant, running: RunningGateway): Target {
  const { serve, database, keys } = running;
  const { processId } = serve;
  return {
    id,
    version: "",
    endpoint: ({ client }) => ({
      port: serve.port,
      path: chatPath(client),
      headers: clientHeaders(client, keys.funded),
    }),
    modelId: ({ upstream }) => MODEL_ID[upstream],
    keys: { many: keys.many, bad_key: [keys.unknown], no_credit: [keys.unfunded] },
    processIds: () => [
      processId,
      ...descendantsOf(processId).filter((each) => isSameProgram(each, processId)),
    ],
    helperProcessIds: () => [
      ...database.processIds(),
      ...[redis?.pid()].filter((pid) => pid !== undefined),
    ],
    stop: async () => {
      await database.stop();
      await serve.stop();
      await redis?.close();
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
