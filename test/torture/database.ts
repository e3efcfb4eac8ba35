import { readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { systemClock } from "../../src/kernel/core/time.ts";
import { startEmbeddedPostgres } from "../../src/kernel/storage/embedded-server.ts";
import { openPostgresBackend, type PostgresBackend } from "../../src/app/open-postgres-backend.ts";
import { openPool } from "../../src/kernel/storage/connection.ts";
import { silentLog } from "../support/silent-log.ts";

const START_TRIES = 10;
const ANSWERED_WITHIN_MS = 60_000;
const RETRY_MS = 100;

/** A running PostgreSQL server, embedded or started by other means. */
export interface TortureServer {
  readonly connectionString: string;
  readonly adminConnectionString: string;
  /** The server's data folder. */
  readonly cluster: string;
  stop(): Promise<void>;
}

/** The PostgreSQL of one run, which may be killed and started again on the same files. */
export class TortureDatabase {
  readonly backend: PostgresBackend;
  readonly connectionString: string;
  readonly #startServer: () => Promise<TortureServer>;
  readonly #servers: TortureServer[];
  readonly #pool: ReturnType<typeof openPool>;

  private constructor(startServer: () => Promise<TortureServer>, server: TortureServer) {
    this.#startServer = startServer;
    this.#servers = [server];
    this.connectionString = server.connectionString;
    this.backend = openPostgresBackend({ connectionString: this.connectionString, log: silentLog });
    this.#pool = openPool(this.connectionString, silentLog);
  }

  /** Starts an embedded server on an empty folder, and creates the schema. */
  static async start(dataDir: string): Promise<TortureDatabase> {
    return await TortureDatabase.on(() => startEmbeddedPostgres({ dataDir, log: silentLog }));
  }

  /** The same with any other server; `startServer` is called again after each kill. */
  static async on(startServer: () => Promise<TortureServer>): Promise<TortureDatabase> {
    const database = new TortureDatabase(startServer, await startServer());
    await database.backend.migrate();
    return database;
  }

  /**
   * Runs a query, for up to a minute if the database is unreachable; integers are returned as
   * bigint.
   */
  async query<Row extends object>(sql: string, values: readonly unknown[] = []): Promise<Row[]> {
    const lastMs = systemClock.monotonicMs() + ANSWERED_WITHIN_MS;
    for (;;) {
      try {
        const result = await this.#pool.query<Row & Record<string, unknown>>(sql, [...values]);
        return result.rows;
      } catch (fault) {
        if (systemClock.monotonicMs() > lastMs) throw fault;
        await sleep(RETRY_MS);
      }
    }
  }

  /** Kills the server like a power loss: nothing is flushed, and its clients are told nothing. */
  kill(): void {
    process.kill(this.#postmaster(), "SIGKILL");
  }

  /** Starts the server again on the same files and at the same address. */
  async restart(): Promise<void> {
    for (let tries = 1; ; tries++) {
      try {
        const server = await this.#startServer();
        this.#servers.push(server);
        if (server.connectionString !== this.connectionString) {
          throw new Error("the database came back under another address");
        }
        return;
      } catch (fault) {
        if (tries === START_TRIES) throw fault;
        await sleep(500);
      }
    }
  }

  /** Connects as the superuser, for actions that the program itself may not take. */
  get adminConnectionString(): string {
    return this.#server.adminConnectionString;
  }

  /** Kills the server and deletes all files of the database. */
  lose(): void {
    const { cluster } = this.#server;
    this.kill();
    for (const name of readdirSync(cluster)) {
      rmSync(join(cluster, name), { recursive: true, force: true });
    }
  }

  async stop(): Promise<void> {
    await this.backend.close();
    await this.#pool.end();
    for (const server of this.#servers) await server.stop();
  }

  get #server(): TortureServer {
    const server = this.#servers.at(-1);
    if (server === undefined) throw new Error("no server was started");
    return server;
  }

  #postmaster(): number {
    const text = readFileSync(join(this.#server.cluster, "postmaster.pid"), "utf8");
    return Number(text.split("\n")[0]);
  }
}
