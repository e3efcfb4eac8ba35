import { createVirtualKey } from "../../src/gateway/index.ts";
import { openPostgresBackend, type PostgresBackend } from "../../src/app/open-postgres-backend.ts";
import { microUsd } from "../../src/kernel/index.ts";
import { testOperator } from "../../test/support/test-operator.ts";
import {
  type TargetId,
  TargetAbsent,
  chatPath,
  clientHeaders,
  type Target,
  type TargetStart,
} from "./target.ts";
import { mkdirSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import {
  hasOwnPostgres,
  startOwnPostgres,
  type OwnPostgres,
} from "../../test/support/own-postgres.ts";
import { redisProgram, startRedis, type TestRedis } from "../../test/support/redis.ts";
import { inSession } from "../../test/support/sql.ts";
import { UPSTREAM_MODEL_ID } from "../mock-answers.ts";
import { fillBooks, grownProviders } from "../fill-books.ts";
import {
  startServe,
  writeInstallation,
  type Installation,
  type RunningServe,
} from "../installation.ts";
import { defined } from "../../src/kernel/core/defined.ts";
import { descendantsOf } from "../../test/support/process-cost.ts";
import { activeOf } from "../sizes.ts";
import { QUIET_LOG, serverProcessIds, startDatabase, type BenchDatabase } from "../books.ts";
import { makeKey } from "../../src/cli/first-run/open-account.ts";

/** A way in which operators run this gateway. In each of them, Redis counts the limits. */
export interface Deployment {
  readonly id: TargetId;
  readonly title: string;
  /** Settings of a separate PostgreSQL server. Default: the embedded server is used. */
  readonly server?: "defaults" | "jit off";
  /** Default: one. */
  readonly instances?: number;
  /** Default: one process. */
  readonly workers?: 2;
}

export const DEPLOYMENTS = [
  { id: "gateway-redis", title: "the embedded PostgreSQL, limits in Redis" },
  { id: "gateway-workers", title: "the same as two processes that share the port", workers: 2 },
  {
    id: "gateway-own",
    title: "a distribution's PostgreSQL with its defaults, limits in Redis",
    server: "defaults",
  },
  { id: "gateway-own-jit-off", title: "the same with `jit` off", server: "jit off" },
  {
    id: "gateway-pair",
    title: "two instances on a distribution's PostgreSQL, as many in flight each",
    server: "defaults",
    instances: 2,
  },
] as const satisfies readonly Deployment[];

const MODEL_ID = { wire_a: "bench/wire-a", wire_b: "bench/wire-b" } as const;

/** Starts the built program, with keys, limits, durable holds, bills and records. */
export function startGateway(start: TargetStart): Promise<Target> {
  return startServing(install(start), { id: "gateway" });
}

/** Starts this gateway in one of the ways in which operators deploy it. */
export async function startDeployment(
  start: TargetStart,
  { id, server, workers, instances = 1 }: Deployment,
): Promise<Target> {
  if (server !== undefined && !hasOwnPostgres) throw new TargetAbsent("no PostgreSQL is installed");
  if (redisProgram === undefined) throw new TargetAbsent("neither redis-server nor valkey-server");
  const own = server === undefined ? undefined : await startOwnPostgres();
  if (server === "jit off" && own !== undefined) await turnJitOff(own);
  const redis = await startRedis();
  const variant: Variant = { id, redis, ...defined({ own, workers }) };
  const targets: ServingTarget[] = [];
  const closeStores = async (): Promise<void> => {
    await redis.close();
    await own?.close();
  };
  try {
    for (let at = 1; at <= instances; at += 1) {
      const folder = join(start.folder, String(at));
      mkdirSync(folder);
      targets.push(await startServing(install({ ...start, folder }), variant, targets[0]?.made));
    }
  } catch (error) {
    for (const target of targets) await target.stop();
    await closeStores();
    throw error;
  }
  return together(targets, closeStores);
}

async function turnJitOff(own: OwnPostgres): Promise<void> {
  await inSession(own.adminConnectionString, async (admin) => {
    await admin.query("alter system set jit = off");
    await admin.query("select pg_reload_conf()");
  });
}

/** Combines several instances into one target. `close` ends the databases that they share. */
function together(targets: readonly Target[], close: () => Promise<void>): Target {
  const [first] = targets;
  if (first === undefined) throw new TargetAbsent("no instance");
  return {
    ...first,
    ports: targets.flatMap((each) => each.ports ?? []),
    processes: () => ({
      ...first.processes(),
      own: targets.flatMap((each) => each.processes().own),
    }),
    stop: async () => {
      for (const each of targets) await each.stop();
      await close();
    },
  };
}

/** Starts this gateway on a database filled to `sizes`. Its callers have earlier attempts. */
export async function startGrownGateway(start: TargetStart): Promise<Target> {
  const { sizes } = start;
  const installation = install(start, grownProviders(sizes, start.mockPort));
  await fillBooks(installation.dataFolder, sizes, (line) => process.stderr.write(`${line}\n`));
  // The first start stores the prices of all listings. That work must not be measured.
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
  readonly id: TargetId;
  readonly redis?: TestRedis;
  readonly workers?: 2;
  /** Used instead of the embedded server. */
  readonly own?: OwnPostgres;
  /** Used instead of the keys of new organizations. */
  readonly keys?: Partial<GatewayKeys>;
}

/** Starts an instance. Makes new keys, unless `known` has the keys of an earlier instance. */
async function startServing(
  installation: Installation,
  variant: Variant,
  known?: GatewayKeys,
): Promise<ServingTarget> {
  const { redis, own, workers } = variant;
  const env = {
    ...(redis && { REDIS_URL: redis.url }),
    ...(own && { DATABASE_URL: own.connectionString }),
  };
  const more = workers === undefined ? [] : ["--workers", String(workers)];
  const serve = await startServe(installation, env, more);
  try {
    const database = await databaseOf(installation, own);
    const made = known ?? (await makeGatewayKeys(database.connectionString));
    return gatewayTarget(variant, serve, database, { ...made, ...variant.keys });
  } catch (error) {
    await serve.stop();
    throw error;
  }
}

/** The operator's server if given, else the embedded server that the gateway has started. */
async function databaseOf(installation: Installation, own?: OwnPostgres): Promise<BenchDatabase> {
  if (own === undefined) return await startDatabase(installation.dataFolder);
  const { connectionString, data } = own;
  return { connectionString, processIds: () => serverProcessIds(data), stop: async () => {} };
}

interface ServingTarget extends Target {
  readonly made: GatewayKeys;
}

function gatewayTarget(
  { id, redis }: Variant,
  serve: RunningServe,
  database: BenchDatabase,
  keys: GatewayKeys,
): ServingTarget {
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
    made: keys,
    ports: [serve.port],
    processes: () => ({
      own: [
        processId,
        ...descendantsOf(processId).filter((each) => isSameProgram(each, processId)),
      ],
      helpers: database.processIds(),
      redis: [redis?.pid()].filter((pid) => pid !== undefined),
    }),
    stop: async () => {
      await database.stop();
      await serve.stop();
    },
  };
}

/** True if both processes run the same executable, as workers do and the database does not. */
function isSameProgram(one: number, other: number): boolean {
  try {
    return readlinkSync(`/proc/${one}/exe`) === readlinkSync(`/proc/${other}/exe`);
  } catch {
    return false;
  }
}

/** Raw keys, named by the outcome of a request with them. */
interface GatewayKeys {
  readonly funded: string;
  readonly unfunded: string;
  /** A well-formed key that is not stored. */
  readonly unknown: string;
  /** Each of these keys belongs to a different funded organization. */
  readonly many: readonly string[];
}

const ORGANIZATIONS = 50;
const CREDIT = microUsd(1_000_000_000_000n);

async function makeGatewayKeys(connectionString: string): Promise<GatewayKeys> {
  const backend = openPostgresBackend({ connectionString, log: QUIET_LOG });
  try {
    const many: string[] = [];
    for (let at = 1; at <= ORGANIZATIONS; at += 1) {
      many.push(await makeOrgKey(backend, `bench-${at}`, true));
    }
    return {
      funded: await makeOrgKey(backend, "bench", true),
      unfunded: await makeOrgKey(backend, "bench-unfunded", false),
      unknown: createVirtualKey().raw,
      many,
    };
  } finally {
    await backend.close();
  }
}

async function makeOrgKey(
  { accountStore, creditStore }: PostgresBackend,
  name: string,
  isFunded: boolean,
): Promise<string> {
  const email = "bench@example.com";
  const { orgId } = await accountStore.createOrg({ name, email }, testOperator);
  const credit = { orgId, amountMicroUsd: CREDIT, ref: name, isTrial: false };
  if (isFunded) await creditStore.grant(credit, testOperator);
  return (await makeKey(accountStore, { orgId, name }, testOperator)).key;
}
