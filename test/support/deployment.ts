import { setTimeout as sleep } from "node:timers/promises";
import type { DisposalStack } from "../../src/app/disposal-stack.ts";
import { OPEN_HOLDS_SQL, until } from "./books.ts";
import { hasNginx, startNginx } from "./nginx.ts";
import { hasOwnPostgres, startOwnPostgres, type OwnPostgres } from "./own-postgres.ts";
import { hasPgBouncer, startPgBouncer } from "./pgbouncer.ts";
import { redisProgram } from "./redis.ts";
import { MASTER, startSentinels } from "./sentinels.ts";
import { inSession } from "./sql.ts";
import { startTcpProxy } from "./tcp-proxy.ts";
import {
  commandAnswer,
  startServe,
  writeInstallation,
  type MockProvider,
  type RunningServe,
} from "../../bench/installation.ts";
import { isRunning } from "./process-cost.ts";

/** Milliseconds from SIGTERM until the balancer stops using the instance, which still serves. */
const NOTICED_MS = 3_000;
const DELAY_MS = 6_000;
const GRACE_MS = 60_000;
const ENDED_MS_MAX = DELAY_MS + GRACE_MS + 10_000;
/** A lease ends after ten seconds, but a busy machine starts a command slowly. */
const REOPEN_MS_MAX = 120_000;
const REOPEN_EVERY_MS = 500;
const SETTLED_MS_MAX = 120_000;
const SHOWN_MAX = 5;
const INSTANCES = ["a", "b"];

type Environment = Readonly<Record<string, string>>;

type Parts = Awaited<ReturnType<typeof startParts>>;

/**
 * Starts two instances behind nginx; PgBouncer in transaction mode before a PostgreSQL with a
 * synchronous standby; a Redis with a replica, watched by three sentinels. Everything is added to
 * `resources`.
 */
export async function startDeployment(
  resources: DisposalStack,
  { folder, providers }: { readonly folder: string; readonly providers: readonly MockProvider[] },
): Promise<SoakDeployment> {
  refuseWhatIsMissing();
  return new SoakDeployment(await startParts(resources, folder, providers));
}

async function startParts(
  resources: DisposalStack,
  folder: string,
  providers: readonly MockProvider[],
) {
  const sentinels = resources.use(await startSentinels());
  const { primary, standby } = await startPostgresPair(resources);
  const { connectionString } = primary;
  const pooler = resources.use(await startPgBouncer({ connectionString }));
  // A proxy to the present primary, without a pooler.
  const direct = resources.use(await startTcpProxy(targetOf(primary)));
  const directUrl = new URL(connectionString);
  directUrl.hostname = "127.0.0.1";
  directUrl.port = String(direct.port);
  const env = {
    DATABASE_URL: pooler.through(connectionString, "transaction"),
    DATABASE_DIRECT_URL: directUrl.href,
    REDIS_URL: sentinels.url,
    TM_REDIS_MODE: "sentinel",
    TM_REDIS_MASTER: MASTER,
    TM_SHUTDOWN_DELAY_MS: String(DELAY_MS),
    TM_SHUTDOWN_GRACE_MS: String(GRACE_MS),
    // Refusals during a failover must not count as misuse.
    TM_LIMITS_REFUSALS_RPM: "100000000",
  };
  await sentinels.whole();
  await commandAnswer(["migrate"], env);
  const whole = writeInstallation(folder, providers);
  const installations = INSTANCES.map((name) => ({ ...whole, logFile: `${folder}/${name}.log` }));
  const instances: RunningServe[] = [];
  resources.defer(async () => void (await Promise.all(instances.map((each) => each.stop()))));
  for (const installation of installations) instances.push(await startServe(installation, env));
  const balancer = resources.use(await startNginx(instances.map(urlOf)));
  const servers = { sentinels, primary, standby, pooler, direct, balancer };
  return { ...servers, installations, instances, env };
}

export class SoakDeployment {
  readonly #parts: Parts;
  #database: OwnPostgres;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#database = parts.primary;
  }

  get port(): number {
    return Number(new URL(this.#parts.balancer.url).port);
  }

  /** During a restart this contains the old instance until the new one is ready. */
  get instances(): readonly RunningServe[] {
    return this.#parts.instances;
  }

  async createFundedKey(): Promise<string> {
    const { env } = this.#parts;
    const email = ["--email", "soak@example.com"];
    const created = await commandAnswer(["org", "create", "soak", ...email], env);
    const org = String(created["org_id"]);
    const credit = ["--org", org, "--amount-usd", "1000000", "--ref", "soak"];
    await commandAnswer(["credit", "grant", ...credit], env);
    const key = await commandAnswer(["key", "create", "--org", org, "--name", "soak"], env);
    return String(key["secret"]);
  }

  async restartInTurn(): Promise<void> {
    for (const at of INSTANCES.keys()) await this.#restart(at);
  }

  async #restart(at: number): Promise<void> {
    const { instances, installations, balancer, env } = this.#parts;
    const [old, installation] = [instances[at], installations[at]];
    if (old === undefined || installation === undefined) throw new Error(`no instance ${at}`);
    process.kill(old.processId, "SIGTERM");
    await sleep(NOTICED_MS);
    balancer.balance(instances.filter((each) => each !== old).map(urlOf));
    await until("the instance has ended", () => !isRunning(old.processId), ENDED_MS_MAX);
    await old.stop();
    instances[at] = await startServe(installation, env);
    balancer.balance(instances.map(urlOf));
  }

  async failOverRedis(): Promise<void> {
    const { sentinels } = this.#parts;
    const dead = await sentinels.master();
    await dead.kill();
    await until("another server is master", async () => (await sentinels.master()) !== dead);
    await dead.restart();
    await sentinels.whole();
  }

  /** Kills the primary, promotes its standby, and reopens the books there. */
  async failOverPostgres(): Promise<void> {
    const { primary, standby, pooler, direct, env } = this.#parts;
    await primary.kill();
    await queryAsAdmin(standby, "select pg_promote()");
    const there = {
      ...env,
      DATABASE_URL: standby.connectionString,
      DATABASE_DIRECT_URL: standby.connectionString,
    };
    await reopenBooks(there);
    this.#database = standby;
    pooler.leadTo(standby.connectionString);
    direct.leadTo(targetOf(standby));
  }

  async databaseConnections(): Promise<number | undefined> {
    const counted = queryAsAdmin(
      this.#database,
      `select count(*)::int as count from pg_stat_activity
       where backend_type = 'client backend' and pid <> pg_backend_pid()`,
    );
    // No server answers between the death of the primary and the move to the standby.
    return await counted.then(
      ([row]) => Number(row?.["count"]),
      () => undefined,
    );
  }

  async holdsLeft(say: (line: string) => void): Promise<number> {
    const left = () => queryAsAdmin(this.#database, OPEN_HOLDS_SQL);
    const nothing = async (): Promise<boolean> => (await left()).length === 0;
    await until("no hold is left", nothing, SETTLED_MS_MAX).catch(() => undefined);
    const rows = await left();
    for (const { hold, at } of rows.slice(0, SHOWN_MAX)) {
      say(`  left at ${String(at)}: ${String(hold)}`);
    }
    return rows.length;
  }

  async audit(): Promise<Readonly<Record<string, unknown>>> {
    return await commandAnswer(["ledger", "audit"], this.#parts.env);
  }
}

async function startPostgresPair(resources: DisposalStack) {
  const primary = resources.use(await startOwnPostgres());
  const standby = resources.use(await primary.replica());
  // Set only after the standby was copied: with this setting, a promoted standby would wait for its
  // own standby.
  await queryAsAdmin(primary, "alter system set synchronous_standby_names = '*'");
  await queryAsAdmin(primary, "select pg_reload_conf()");
  await until("the standby has every commit", async () => {
    const [row] = await queryAsAdmin(primary, "select sync_state from pg_stat_replication");
    return row?.["sync_state"] === "sync";
  });
  return { primary, standby };
}

/** Repeats `ledger reopen`, which refuses while a lease from the old primary may be valid. */
async function reopenBooks(env: Environment): Promise<void> {
  const reason = "the primary died; its synchronous standby was promoted";
  let refusal = "";
  const reopened = async (): Promise<boolean> => {
    try {
      await commandAnswer(["ledger", "reopen", "--nothing-lost", "--reason", reason], env);
      return true;
    } catch (error) {
      refusal = String(error);
      await sleep(REOPEN_EVERY_MS);
      return false;
    }
  };
  await until("the books are reopened", reopened, REOPEN_MS_MAX).catch((error: unknown) => {
    throw new Error(`${String(error)}: ${refusal}`);
  });
}

async function queryAsAdmin(
  server: OwnPostgres,
  text: string,
): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const url = new URL(server.adminConnectionString);
  url.pathname = new URL(server.connectionString).pathname;
  return await inSession(
    url.href,
    async (client) => (await client.query<Record<string, unknown>>(text)).rows,
  );
}

function targetOf({ port }: OwnPostgres) {
  return { host: "localhost", port };
}

function urlOf({ port }: RunningServe): string {
  return `http://127.0.0.1:${port}`;
}

function refuseWhatIsMissing(): void {
  const missing = [
    ...(hasNginx ? [] : ["nginx"]),
    ...(hasPgBouncer ? [] : ["pgbouncer"]),
    ...(hasOwnPostgres ? [] : ["a PostgreSQL in /usr/lib/postgresql"]),
    ...(redisProgram === undefined ? ["redis-server or valkey-server"] : []),
  ];
  if (missing.length > 0)
    throw new Error(`not installed: ${missing.join(", ")}; install and run again`);
}
