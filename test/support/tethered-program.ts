import { spawn, type ChildProcess } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

import { systemClock } from "../../src/kernel/core/time.ts";
import { descendantsOf, isRunning } from "./process-cost.ts";

const READY_TIMEOUT_MS = 60_000;
const STOP_TIMEOUT_MS = 15_000;

// A shell that starts the program, prints its process id, and kills it when its own input closes.
// That happens however this process ends, even by a kill.
const TETHER =
  '"$@" >"$TETHER_LOG" 2>&1 </dev/null & echo $!; read -r _; kill $! 2>/dev/null; wait';

/** An external program that ends with this process. */
export interface TetheredProgram {
  readonly processId: number;
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
 * Waits until `found` returns a value. Stops a program that ends first or takes a minute; the error
 * then has its last output.
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
  await program.stop();
  throw new Error(`the program did not get ready; it said:\n${program.log().slice(-2_000)}`);
}

/** Resolves with true if something accepts connections on the port, otherwise with undefined. */
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
