import { fork, spawn, type ChildProcess } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { systemClock } from "../src/core/time.ts";
import { descendantsOf, isRunning } from "./process-cost.ts";

const READY_TIMEOUT_MS = 60_000;
const STOP_TIMEOUT_MS = 15_000;

// The shell holds the program on a tether: when our end of its input closes, for whatever reason,
// a killed bench included, it ends the program. The program's own id comes back on the first line.
const TETHER =
  '"$@" >"$TETHER_LOG" 2>&1 </dev/null & echo $!; read -r _; kill $! 2>/dev/null; wait';

/** An external program that ends with this process. */
export interface TetheredProgram {
  readonly processId: number;
  /** What the program has printed so far. */
  log(): string;
  stop(): Promise<void>;
}

export interface ProgramStart {
  readonly command: string;
  readonly args: readonly string[];
  readonly logFile: string;
  readonly env?: Readonly<Record<string, string>>;
}

export async function startProgram(start: ProgramStart): Promise<TetheredProgram> {
  writeFileSync(start.logFile, "");
  const shell = spawn("/bin/sh", ["-c", TETHER, "tether", start.command, ...start.args], {
    stdio: ["pipe", "pipe", "inherit"],
    env: { ...process.env, ...start.env, TETHER_LOG: start.logFile },
  });
  const firstLine = await new Promise<string>((resolve, reject) => {
    shell.stdout.once("data", (bytes: Buffer) => resolve(bytes.toString("latin1")));
    shell.once("error", reject);
  });
  const processId = Number(firstLine.trim());
  return {
    processId,
    log: () => readFileSync(start.logFile, "utf8"),
    stop: () => stopTethered(shell, processId),
  };
}

async function stopTethered(shell: ChildProcess, processId: number): Promise<void> {
  const family = [processId, ...descendantsOf(processId)];
  shell.stdin?.end();
  const endMs = systemClock.monotonicMs() + STOP_TIMEOUT_MS;
  while (family.some(isRunning) && systemClock.monotonicMs() < endMs) await sleep(20);
  for (const member of family.filter(isRunning)) process.kill(member, "SIGKILL");
}

/**
 * Waits for `found` to give a value; a program that ends first is an error with its last output.
 */
export async function awaitReady<T>(
  program: TetheredProgram,
  found: () => T | undefined | Promise<T | undefined>,
): Promise<T> {
  const endMs = systemClock.monotonicMs() + READY_TIMEOUT_MS;
  while (systemClock.monotonicMs() < endMs) {
    const value = await found();
    if (value !== undefined) return value;
    if (!isRunning(program.processId)) break;
    await sleep(50);
  }
  throw new Error(`the program did not get ready; it said:\n${program.log().slice(-2_000)}`);
}

/** True when something accepts connections there, undefined when not yet. */
export async function acceptsConnections(port: number): Promise<true | undefined> {
  const socket = connect({ port, host: "127.0.0.1" });
  return new Promise((resolve) => {
    socket.once("connect", () => resolve(true));
    socket.once("error", () => resolve(undefined));
  }).then((answer) => {
    socket.destroy();
    return answer === true ? true : undefined;
  });
}

/** A process of this folder, reached over IPC; it ends by itself when this process ends. */
export interface Helper {
  readonly processId: number;
  send(message: object): void;
  /** The next message; rejects when the helper ends first or the time is over. */
  receive(timeoutMs: number): Promise<unknown>;
  stop(): void;
}

export function startHelper(file: string, args: readonly string[] = []): Helper {
  const path = fileURLToPath(new URL(file, import.meta.url));
  const child = fork(path, args, { execArgv: ["--import", "tsx"] });
  const { pid } = child;
  if (pid === undefined) throw new Error(`${file} did not start`);
  return {
    processId: pid,
    send: (message) => void (child.connected && child.send(message)),
    receive: (timeoutMs) => nextMessage(child, timeoutMs),
    stop: () => void child.kill("SIGKILL"),
  };
}

function nextMessage(child: ChildProcess, timeoutMs: number): Promise<unknown> {
  if (!child.connected) return Promise.reject(new Error("a helper process has ended"));
  return new Promise((resolve, reject) => {
    const settle = (finish: () => void): void => {
      clearTimeout(timer);
      child.off("message", onMessage);
      child.off("exit", onExit);
      finish();
    };
    const onMessage = (message: unknown): void => settle(() => resolve(message));
    const onExit = (): void => settle(() => reject(new Error("a helper process ended")));
    const timer = setTimeout(() => {
      settle(() => reject(new Error(`a helper process was silent for ${timeoutMs} ms`)));
    }, timeoutMs);
    child.on("message", onMessage);
    child.on("exit", onExit);
  });
}

/** Fields of a helper's first message that says where it listens. */
export async function receivePort(helper: Helper): Promise<number> {
  const message = await helper.receive(READY_TIMEOUT_MS);
  const port = (message as { readonly port?: unknown }).port;
  if (typeof port !== "number") throw new Error("a helper process named no port");
  return port;
}
