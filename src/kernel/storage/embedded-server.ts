import { existsSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

import type { Logger } from "../core/log.ts";
import { findEmbeddedBinaries } from "./embedded-binaries.ts";
import {
  answers,
  DATABASE_NAME,
  ensureDatabase,
  type ServerAddress,
  toAdminConnectionString,
  toConnectionString,
} from "./embedded-database.ts";
import {
  addUser,
  type EmbeddedHome,
  hasCluster,
  openEmbeddedHome,
  readOrMakePasswords,
  removeUser,
} from "./embedded-home.ts";
import { choosePort, rememberPort } from "./embedded-port.ts";
import { findServer, initialize, interruptServer, launch, stopServer } from "./embedded-process.ts";
import { withStartLock } from "./start-lock.ts";

export interface EmbeddedPostgres {
  /** Connects as the program's role. Contains the password: never print it. */
  readonly connectionString: string;
  /** Connects as the superuser, for backups and tests. Contains its password: never print it. */
  readonly adminConnectionString: string;
  /** The subfolder `postgres` of the requested folder, or a folder in `/var/lib/tokenmarket`. */
  readonly dataDir: string;
  readonly cluster: string;
  /** False if the server was already running; it is then shared with other processes. */
  readonly started: boolean;
  /**
   * Ends this process's use of the server. If no other living process uses it, stops the server and
   * waits for its end.
   */
  stop(): Promise<void>;
}

export interface EmbeddedPostgresOptions {
  readonly dataDir: string;
  readonly log: Logger;
  /** If true, the server is started again whenever it ends while this process uses it. */
  readonly isKeptUp?: boolean;
}

const START_TRIES = 5;
const START_RETRY_MS = 200;
const START_RETRY_MAX_MS = 1_000;
/** Sessions of a killed server block a new server for up to the statement timeout (30 s). */
const LEAVING_WAIT_MS = 35_000;
const ANSWER_WAIT_MS = 60_000;
const POLL_MS = 25;

/**
 * Starts the embedded PostgreSQL of a data folder, or shares the running one, whichever process
 * started it. The server listens on loopback only, and survives a kill of this process.
 */
export async function startEmbeddedPostgres(
  options: EmbeddedPostgresOptions,
): Promise<EmbeddedPostgres> {
  const home = openEmbeddedHome(options.dataDir);
  return await withStartLock(home.folder, async () => {
    const starter: Starter = { home, passwords: readOrMakePasswords(home), log: options.log };
    if (!hasCluster(home.folder)) {
      const binaries = findEmbeddedBinaries(home.user, home.binariesRoot);
      initialize(home, binaries, starter.passwords.adminPassword);
    }
    const { port, started } = await shareOrStart(starter, NEVER);
    const user = addUser(home);
    const supervisor = options.isKeptUp === true ? superviseServer(starter, port) : undefined;
    return {
      connectionString: toConnectionString({ ...starter.passwords, port }),
      adminConnectionString: toAdminConnectionString({ ...starter.passwords, port }, DATABASE_NAME),
      dataDir: home.folder,
      cluster: home.cluster,
      started,
      stop: async () => {
        await supervisor?.stop();
        if (!existsSync(home.folder)) {
          // PostgreSQL ends by itself when its files are gone, so there is nothing to stop.
          options.log.error({ dataDir: home.folder }, "the folder of the database was removed");
          return;
        }
        await withStartLock(home.folder, async () => {
          if (removeUser(home, user)) await stopServer(home);
        });
      },
    };
  });
}

interface Starter {
  readonly home: EmbeddedHome;
  readonly passwords: Pick<ServerAddress, "adminPassword" | "programPassword">;
  readonly log: Logger;
}

interface FoundServer {
  readonly port: number;
  readonly started: boolean;
}

const NEVER: AbortSignal = new AbortController().signal;

function superviseServer(starter: Starter, port: number): ServerSupervisor {
  const { home, log } = starter;
  return new ServerSupervisor({
    log,
    detail: { dataDir: home.folder, port },
    isUp: () => {
      const server = findServer(home);
      return server !== undefined && server.state !== "stopping";
    },
    // The lock lets one of several programs on this folder start the server; the others share it.
    bringBack: (signal) =>
      withStartLock(home.folder, () => bringBack(starter, port, signal), signal),
  });
}

async function bringBack(
  starter: Starter,
  port: number,
  signal: AbortSignal,
): Promise<FoundServer> {
  const { folder } = starter.home;
  // Fails instead of creating a new, empty database, which would look as if all data were lost.
  if (!hasCluster(folder)) throw new Error(`the database in ${folder} was removed`);
  const found = await shareOrStart(starter, signal);
  if (found.port === port) return found;
  throw new Error(`it runs on port ${found.port} now, unknown to this program: restart it`);
}

async function shareOrStart(starter: Starter, signal: AbortSignal): Promise<FoundServer> {
  const running = await findAnswering(starter, signal);
  if (running !== undefined) return { port: running, started: false };
  return { port: await startServer(starter, signal), started: true };
}

/** Waits until a login succeeds, and returns the server's port. Undefined if no server runs. */
async function findAnswering(starter: Starter, signal: AbortSignal): Promise<number | undefined> {
  const { home, passwords } = starter;
  for (let waitedMs = 0; waitedMs < ANSWER_WAIT_MS; waitedMs += POLL_MS) {
    const server = findServer(home);
    if (server === undefined) return undefined;
    const address = { port: server.port, ...passwords };
    // A server that is not ready may be replaying its write-ahead log after a crash.
    if (server.state === "ready" && (await answers(address))) {
      await ensureDatabase(address);
      return server.port;
    }
    // Another program's "smart" shutdown would wait for the last session, so request a fast one.
    if (server.state === "stopping") interruptServer(server);
    signal.throwIfAborted();
    await sleep(POLL_MS);
  }
  throw new Error(`the PostgreSQL in ${home.cluster} runs but does not answer; see postgres.log`);
}

async function startServer(starter: Starter, signal: AbortSignal): Promise<number> {
  const { home, passwords, log } = starter;
  const binaries = findEmbeddedBinaries(home.user, home.binariesRoot);
  let waitedMs = 0;
  for (let tries = 1; ; tries++) {
    signal.throwIfAborted();
    const port = await choosePort(home, log);
    const failure = await launch(home, { binaries, port, signal });
    if (failure === undefined) {
      rememberPort(home, port);
      await ensureDatabase({ port, ...passwords });
      log.info({ dataDir: home.folder, port }, "embedded PostgreSQL started");
      return port;
    }
    // The port was taken meanwhile, or sessions of a killed server are still ending.
    const isLeaving = /pre-existing shared memory block/.test(failure);
    if (isLeaving ? waitedMs >= LEAVING_WAIT_MS : tries >= START_TRIES) {
      throw new Error(`the embedded PostgreSQL did not start: ${failure}`);
    }
    const pauseMs = Math.min(tries * START_RETRY_MS, START_RETRY_MAX_MS);
    await sleep(pauseMs);
    waitedMs += pauseMs;
  }
}

const WATCH_MS = 250;
const RETRY_FIRST_MS = 250;
const RETRY_MAX_MS = 10_000;

export interface SupervisorOptions {
  /** Called four times per second, so it must be cheap. */
  readonly isUp: () => boolean;
  /** Starts the server, or shares one that another process started. Rejects if neither works. */
  readonly bringBack: (signal: AbortSignal) => Promise<{ readonly started: boolean }>;
  readonly log: Logger;
  readonly detail: object;
}

/** Watches a server that a long-running program uses, and starts it again when it has ended. */
export class ServerSupervisor {
  readonly #options: SupervisorOptions;
  readonly #stopping = new AbortController();
  #timer: NodeJS.Timeout | undefined;
  #work: Promise<void> | undefined;

  constructor(options: SupervisorOptions) {
    this.#options = options;
    this.#scheduleCheck(WATCH_MS, () => this.#check());
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    clearTimeout(this.#timer);
    await this.#work;
  }

  #check(): void {
    if (this.#options.isUp()) return this.#scheduleCheck(WATCH_MS, () => this.#check());
    const { log, detail } = this.#options;
    log.warn(detail, "the embedded PostgreSQL has ended; it is restarted");
    this.#work = this.#bringBack(RETRY_FIRST_MS);
  }

  async #bringBack(retryMs: number): Promise<void> {
    const { log, detail } = this.#options;
    const { signal } = this.#stopping;
    try {
      const { started } = await this.#options.bringBack(signal);
      log.info({ ...detail, started }, "the embedded PostgreSQL is available again");
      this.#scheduleCheck(WATCH_MS, () => this.#check());
    } catch (error) {
      if (signal.aborted) return;
      log.error({ ...detail, err: error, retryMs }, "the embedded PostgreSQL could not be started");
      this.#scheduleCheck(retryMs, () => {
        this.#work = this.#bringBack(Math.min(retryMs * 2, RETRY_MAX_MS));
      });
    }
  }

  #scheduleCheck(delayMs: number, check: () => void): void {
    if (!this.#stopping.signal.aborted) this.#timer = setTimeout(check, delayMs).unref();
  }
}
