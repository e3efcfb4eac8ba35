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

/** One gateway process, from its ready line to its end. */
export interface GatewayLife {
  readonly url: string;
  readonly pid: number;
  /** Identifies the process in the ledger's table of instances. */
  readonly identity: string;
  /** The connections of its clients. */
  readonly agent: Agent;
  /** Number of whole answers that its clients got from it. */
  answers: number;
  /** When it ended, in monotonic milliseconds; Infinity while it lives. */
  endedMs: number;
}

/** A gateway process that ended before it was ready; times in monotonic milliseconds. */
interface FailedStart {
  readonly startMs: number;
  readonly endMs: number;
  readonly words: string;
}

const LAST_LINES = 20;
const LAST_CHARS = 120;
const RESTART_PAUSE_MS = 200;
const READY_WAIT_MS = 60_000;

/** Runs one gateway process at a time; whatever ends it, the next one is started. */
export class GatewaySlot {
  readonly number: number;
  /** One line for each gateway that exited by itself or was not ready in time. */
  readonly ownEnds: string[] = [];
  /** Starts that failed, as they must while the database is down. */
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

  /** False once no further gateway is to be started. */
  get isWanted(): boolean {
    return this.#isWanted;
  }

  /** Keeps a gateway running from now on. */
  open(): void {
    this.#running = this.#keepRunning();
  }

  /** Kills the gateway with `SIGKILL`; if `last` is true, no other is started. */
  kill(last = false): void {
    if (last) this.#isWanted = false;
    this.#child?.kill("SIGKILL");
    // Marks it as ended at once, so that the same process is not chosen for a second kill.
    this.#bury();
  }

  /** Pauses the process, as if its machine hung, or resumes it. */
  freeze(isFrozen: boolean): void {
    this.#child?.kill(isFrozen ? "SIGSTOP" : "SIGCONT");
  }

  /** Asks the gateway to shut down. Returns its exit code, or null if it had to be killed. */
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
      this.#lastLines = [];
      const exited = once(child, "exit");
      this.#life = await this.#ready(child);
      const wasReady = this.#life !== undefined;
      const [code] = (await exited) as [number | null];
      // `kill` has already marked its gateway as ended. A killed process has no exit code.
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
    // If the run itself is killed, `guardAgainstOrphans` kills the processes with these ids.
    appendFileSync(join(folder, "pids"), `${child.pid}\n`);
    return child;
  }

  #bury(): void {
    // The clients' connections stay open, because sent data may still be on its way.
    if (this.#life !== undefined) this.#life.endedMs = systemClock.monotonicMs();
    this.#life = undefined;
  }

  #noteOwnEnd(how: string): void {
    this.ownEnds.push(`${how}, its last output: ${this.#lastOutput()}`);
  }

  #lastOutput(): string {
    return this.#lastLines.map((line) => line.slice(0, LAST_CHARS)).join(" | ");
  }

  /** Returns undefined if the process ended before it was ready. */
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

/** Limits this high never bind, so that only balances and caps refuse requests. */
const ENV: Readonly<Record<string, string>> = {
  LOG_LEVEL: "warn",
  TM_ALLOW_PRIVATE_UPSTREAMS: "1",
  TEST_PROVIDER_KEY: PROVIDER_KEY,
  TM_LIMITS_CONCURRENT_REQUESTS: "100000",
  TM_LIMITS_ORG_REQUESTS_PER_MINUTE: "10000000",
  TM_LIMITS_KEY_REQUESTS_PER_MINUTE: "10000000",
  TM_LIMITS_TOKENS_PER_MINUTE: "2000000000",
};
