import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { appendFileSync } from "node:fs";
import { Agent } from "node:http";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";

import { systemClock } from "../../src/kernel/core/time.ts";
import { identifyProcess } from "../../src/kernel/storage/process-identity.ts";
import { PROVIDER_KEY } from "../support/gateway.ts";

/** The settings with which every gateway of a run is started. */
export interface SlotSettings {
  readonly mainFile: string;
  readonly folder: string;
  readonly databaseUrl: string;
  readonly manifestsDir: string;
}

/** One life of a gateway, from its ready line to its end. */
export interface GatewayLife {
  readonly url: string;
  readonly pid: number;
  /** How the ledger's table of instances knows the process. */
  readonly identity: string;
  /** Connections of its clients. */
  readonly agent: Agent;
  /** Whole answers that its clients had from it. */
  answers: number;
  /** When it ended, by the monotonic clock; Infinity while it lives. */
  endedMs: number;
}

/** A gateway that ended before it was ready; monotonic milliseconds. */
interface FailedStart {
  readonly startMs: number;
  readonly endMs: number;
  readonly words: string;
}

const LAST_LINES = 20;
const LAST_CHARS = 120;
const RESTART_PAUSE_MS = 200;
const READY_WAIT_MS = 60_000;

/** A place where a gateway process runs; whatever ends it, the next one is started at once. */
export class GatewaySlot {
  readonly number: number;
  /** Lives that ended although they were not killed. */
  readonly ownEnds: string[] = [];
  /** Starts in vain, as they are bound to be while the database is away. */
  readonly failedStarts: FailedStart[] = [];
  readonly #settings: SlotSettings;
  #child: ChildProcess | undefined;
  #life: GatewayLife | undefined;
  #isWanted = true;
  #lastLines: string[] = [];
  #running: Promise<void> = Promise.resolve();

  constructor(number: number, settings: SlotSettings) {
    this.number = number;
    this.#settings = settings;
  }

  /** The gateway that takes traffic now; undefined while the next one is starting. */
  get life(): GatewayLife | undefined {
    return this.#life;
  }

  /** False once it was killed for good. */
  get isWanted(): boolean {
    return this.#isWanted;
  }

  /** Keeps a gateway running from now on. */
  open(): void {
    this.#running = this.#keepRunning();
  }

  /** `SIGKILL` without a next life when `last` is set. */
  kill(last = false): void {
    if (last) this.#isWanted = false;
    this.#child?.kill("SIGKILL");
    // At once, so that the same life is not struck twice.
    this.#bury();
  }

  /** Pauses the process, as a machine that hangs, or resumes it. */
  freeze(isFrozen: boolean): void {
    this.#child?.kill(isFrozen ? "SIGSTOP" : "SIGCONT");
  }

  /** Asks the gateway to end and returns its exit code, null when it had to be killed. */
  async close(graceMs: number): Promise<number | null> {
    this.#isWanted = false;
    const child = this.#child;
    child?.kill("SIGTERM");
    const inTime = await Promise.race([
      this.#running.then(() => true),
      sleep(graceMs, false, { ref: false }),
    ]);
    if (!inTime) child?.kill("SIGKILL");
    await this.#running;
    return child?.exitCode ?? null;
  }

  async #keepRunning(): Promise<void> {
    while (this.#isWanted) {
      const startMs = systemClock.monotonicMs();
      const child = this.#spawn();
      this.#child = child;
      const exited = once(child, "exit");
      this.#life = await this.#ready(child);
      const wasReady = this.#life !== undefined;
      const [code] = (await exited) as [number | null];
      // A killed one is buried already, and has no code.
      this.#bury();
      if (wasReady && code !== null && this.#isWanted) this.#noteOwnEnd(`exit ${code}`);
      if (wasReady) continue;
      const endMs = systemClock.monotonicMs();
      if (code !== null) this.failedStarts.push({ startMs, endMs, words: this.#lastOutput() });
      await sleep(RESTART_PAUSE_MS);
    }
  }

  #spawn(): ChildProcess {
    const { mainFile, databaseUrl, manifestsDir, folder } = this.#settings;
    const ports = ["--port", "0", "--console-port", "0", "--internal-port", "0"];
    const places = ["--data", join(folder, "data"), "--manifests", manifestsDir];
    const child = spawn(process.execPath, [mainFile, "serve", ...ports, ...places], {
      cwd: folder,
      env: { ...process.env, ...ENV, DATABASE_URL: databaseUrl },
      stdio: ["ignore", "ignore", "pipe"],
    });
    // For the clean-up after a killed run.
    appendFileSync(join(folder, "pids"), `${child.pid}\n`);
    return child;
  }

  #bury(): void {
    // Its connections stay open, because sent data may still be on its way.
    if (this.#life !== undefined) this.#life.endedMs = systemClock.monotonicMs();
    this.#life = undefined;
  }

  #noteOwnEnd(how: string): void {
    this.ownEnds.push(`${how}, its last output: ${this.#lastOutput()}`);
  }

  #lastOutput(): string {
    return this.#lastLines.map((line) => line.slice(0, LAST_CHARS)).join(" | ");
  }

  /** Undefined when it ended before it was ready. */
  async #ready(child: ChildProcess): Promise<GatewayLife | undefined> {
    const { stderr, pid } = child;
    if (stderr === null || pid === undefined) throw new Error("a gateway could not be spawned");
    return await new Promise((done) => {
      const timer = setTimeout(() => {
        this.#noteOwnEnd(`not ready within ${READY_WAIT_MS} ms`);
        child.kill("SIGKILL");
      }, READY_WAIT_MS);
      const answer = (life: GatewayLife | undefined): void => {
        clearTimeout(timer);
        done(life);
      };
      child.once("exit", () => answer(undefined));
      createInterface({ input: stderr }).on("line", (line) => {
        this.#lastLines = [...this.#lastLines.slice(1 - LAST_LINES), line];
        if (line.includes('"msg":"ready"')) answer(lifeOf(line, pid));
      });
    });
  }
}

function lifeOf(readyLine: string, pid: number): GatewayLife {
  const ready = JSON.parse(readyLine) as { readonly gateway_url: string };
  return {
    url: ready.gateway_url,
    pid,
    identity: identifyProcess(pid),
    agent: new Agent({ keepAlive: true }),
    answers: 0,
    endedMs: Number.POSITIVE_INFINITY,
  };
}

/** Money is what binds here, not the limits. */
const ENV: Readonly<Record<string, string>> = {
  LOG_LEVEL: "warn",
  TM_ALLOW_PRIVATE_UPSTREAMS: "1",
  TEST_PROVIDER_KEY: PROVIDER_KEY,
  TM_LIMITS_CONCURRENT_REQUESTS: "100000",
  TM_LIMITS_ORG_REQUESTS_PER_MINUTE: "10000000",
  TM_LIMITS_KEY_REQUESTS_PER_MINUTE: "10000000",
  TM_LIMITS_TOKENS_PER_MINUTE: "2000000000",
};
