import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

import { systemClock } from "../../src/kernel/core/time.ts";
import { descendantsOf, isRunning } from "./process-cost.ts";

const READY_TIMEOUT_MS = 60_000;
const STOP_TIMEOUT_MS = 15_000;

// A shell that starts the program, prints its process id, and kills it when its own input closes.
// That happens however this process ends, even by a kill.
const TETHER = `"$@" >"$TETHER_LOG" 2>&1 </dev/null & echo $!
  read -r _; kill -"$TETHER_SIGNAL" $! 2>/dev/null; wait`;

/** An external program that ends with this process. */
export interface TetheredProgram {
  readonly processId: number;
  log(): string;
  stop(): Promise<void>;
}

interface ProgramStart {
  readonly command: string;
  readonly args: readonly string[];
  readonly logFile: string;
  readonly env?: Readonly<Record<string, string>>;
}

export async function startProgram(start: ProgramStart): Promise<TetheredProgram> {
  writeFileSync(start.logFile, "");
  const env = { ...start.env, TETHER_LOG: start.logFile, TETHER_SIGNAL: "TERM" };
  const { shell, pid: processId } = await tether([start.command, ...start.args], env);
  return {
    processId,
    log: () => readFileSync(start.logFile, "utf8"),
    stop: () => stopTethered(shell, processId),
  };
}

/** A program without a log that ends with this process at the latest. */
export interface Tethered {
  readonly pid: number;
  /** Kills the program with SIGKILL, and resolves when it has ended. */
  kill(): Promise<void>;
}

export async function startTethered(command: readonly string[]): Promise<Tethered> {
  const env = { TETHER_LOG: "/dev/null", TETHER_SIGNAL: "KILL" };
  const { shell, pid } = await tether(command, env);
  return {
    pid,
    kill: async () => {
      const ended = once(shell, "exit");
      shell.stdin.end();
      await ended;
    },
  };
}

async function tether(command: readonly string[], env: Readonly<Record<string, string>>) {
  const shell = spawn("/bin/sh", ["-c", TETHER, "tether", ...command], {
    stdio: ["pipe", "pipe", "ignore"],
    env: { ...process.env, ...env },
  });
  const [line] = (await once(shell.stdout, "data")) as [Buffer];
  return { shell, pid: Number(line.toString()) };
}

async function stopTethered(shell: ChildProcess, processId: number): Promise<void> {
  const family = [processId, ...descendantsOf(processId)];
  shell.stdin?.end();
  const endMs = systemClock.monotonicMs() + STOP_TIMEOUT_MS;
  while (family.some(isRunning) && systemClock.monotonicMs() < endMs) await sleep(20);
  for (const member of family.filter(isRunning)) process.kill(member, "SIGKILL");
}

/** Starts a server, and waits until it accepts connections, or until `isReady`. */
export async function startServer(
  start: ProgramStart & { readonly port: number },
  isReady = (): Promise<true | undefined> => acceptsConnections(start.port),
): Promise<TetheredProgram> {
  const program = await startProgram(start);
  await awaitReady(program, isReady);
  return program;
}

/** Waits for a value; stops a program that ends first or takes a minute, and shows its output. */
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
  await program.stop();
  throw new Error(`the program did not get ready; it said:\n${program.log().slice(-2_000)}`);
}

/** Resolves with true if something accepts connections on the port, otherwise with undefined. */
export async function acceptsConnections(port: number): Promise<true | undefined> {
  const socket = connect({ port, host: "127.0.0.1" });
  const isAccepted = await once(socket, "connect").then(
    () => true as const,
    () => undefined,
  );
  socket.destroy();
  return isAccepted;
}

/** Resolves with true if a GET of the address is answered with 2xx, otherwise with undefined. */
export async function answersOk(url: string, key = ""): Promise<true | undefined> {
  const headers = { authorization: `Bearer ${key}` };
  return await fetch(url, { headers }).then(
    ({ ok }) => ok || undefined,
    () => undefined,
  );
}
