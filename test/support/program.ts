import { spawn, type ChildProcess, type ChildProcessWithoutNullStreams } from "node:child_process";
import { resolve } from "node:path";
import { createInterface } from "node:readline";
import { Readable, Writable } from "node:stream";

import { runCli } from "../../src/cli/run-cli.ts";
import { withDirectAddress } from "./pooled-addresses.ts";
import { builtProgram } from "./build-program.ts";

const ROOT = resolve(import.meta.dirname, "../..");
/** Far more than a start takes, so that a busy machine causes no failure. */
const READY_WAIT_MS = 110_000;

export interface RunningProgram {
  readonly process: ChildProcess;
  readonly ready: Readonly<Record<string, unknown>>;
  stderr(): string;
  stdout(): string;
  /** Sends a signal. Resolves with the exit code, or null if a signal killed the process. */
  end(signal: NodeJS.Signals): Promise<number | null>;
}

/** A command in place of this run's program, and its working directory. */
export interface ProgramPlace {
  readonly command: readonly [string, ...string[]];
  readonly cwd: string;
}

export async function startProgram(
  args: readonly string[],
  env: Environment = {},
  place?: ProgramPlace,
): Promise<RunningProgram> {
  const child = await spawnProgram(args, env, place);
  child.stdin.end();
  let stderr = "";
  let stdout = "";
  child.stdout.on("data", (chunk: Buffer) => (stdout += chunk.toString()));
  const ready = await new Promise<Record<string, unknown>>((done, failed) => {
    const timer = setTimeout(() => {
      failed(new Error(`not ready: ${stderr}`));
      // Nothing else knows the process, so it must be killed; its workers end with it.
      child.kill("SIGKILL");
    }, READY_WAIT_MS);
    child.once("exit", (code) => failed(new Error(`exit ${code} before ready: ${stderr}`)));
    createInterface({ input: child.stderr }).on("line", (line) => {
      stderr += `${line}\n`;
      if (!line.includes('"msg":"ready"')) return;
      clearTimeout(timer);
      done(JSON.parse(line) as Record<string, unknown>);
    });
  });
  child.removeAllListeners("exit");
  // With `place` the command is npx: `close` comes when no process of its group holds a pipe.
  const over = place === undefined ? "exit" : "close";
  const exited = new Promise<number | null>((done) => child.once(over, done));
  return {
    process: child,
    ready,
    stderr: () => stderr,
    stdout: () => stdout,
    end: async (signal) => {
      // npx does not pass signals on to the program, so its whole process group gets them.
      if (place !== undefined && child.pid !== undefined) process.kill(-child.pid, signal);
      else child.kill(signal);
      return await exited;
    },
  };
}

export interface CommandResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

type Environment = Readonly<Record<string, string>>;

/** Runs `tokenmarket <args>` to its end in this process. For servers there is `startProgram`. */
export async function runCommand(
  args: readonly string[],
  env: Environment = {},
): Promise<CommandResult> {
  const [stdout, stderr] = [new CollectedText(), new CollectedText()];
  const code = await runCli(args, {
    env: { ...process.env, ...withDirectAddress(env) },
    stdin: () => Readable.from([]),
    stdout,
    stderr,
    exit: () => undefined,
  });
  return { code, stdout: stdout.text, stderr: stderr.text };
}

/** Runs `tokenmarket <args>` to its end as its own process, with `input` on standard input. */
export async function runProgram(
  args: readonly string[],
  env: Environment = {},
  { input = "", place }: { readonly input?: string; readonly place?: ProgramPlace } = {},
): Promise<CommandResult> {
  const child = await spawnProgram(args, env, place);
  // A command that refuses its arguments ends without reading its input.
  child.stdin.on("error", () => undefined);
  child.stdin.end(input);
  const { said, closed } = listenTo(child);
  return { code: await closed, ...said };
}

/** Starts a `tokenmarket <args>` that has no ready line and runs until a signal ends it. */
export async function spawnCommand(
  args: readonly string[],
  env: Environment = {},
): Promise<Pick<RunningProgram, "stderr" | "stdout" | "end">> {
  const child = await spawnProgram(args, env);
  child.stdin.end();
  const { said, closed } = listenTo(child);
  return {
    stdout: () => said.stdout,
    stderr: () => said.stderr,
    end: async (signal) => {
      child.kill(signal);
      return await closed;
    },
  };
}

export async function killCommand(args: readonly string[], env: Environment, word: string) {
  const child = await spawnProgram(args, env);
  const { said, closed } = listenTo(child);
  child.stderr.on("data", () => {
    if (said.stderr.includes(word)) child.kill("SIGKILL");
  });
  return { code: await closed, ...said };
}

export class CollectedText extends Writable {
  text = "";

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.text += chunk.toString();
    done();
  }
}

/** Returns the output so far, which grows, and the exit code once the program has ended. */
function listenTo(child: ChildProcessWithoutNullStreams): {
  readonly said: { stdout: string; stderr: string };
  readonly closed: Promise<number | null>;
} {
  const said = { stdout: "", stderr: "" };
  child.stdout.on("data", (chunk: Buffer) => (said.stdout += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (said.stderr += chunk.toString()));
  return { said, closed: new Promise((done) => child.once("close", done)) };
}

async function spawnProgram(
  args: readonly string[],
  env: Environment,
  place?: ProgramPlace,
): Promise<ChildProcessWithoutNullStreams> {
  const { command, cwd } = place ?? (await programOfRun());
  const [file, ...first] = command;
  return spawn(file, [...first, ...args], {
    cwd,
    env: { ...process.env, ...withDirectAddress(env) },
    stdio: "pipe",
    detached: place !== undefined,
  });
}

async function programOfRun(): Promise<ProgramPlace> {
  const { mainFile } = await builtProgram();
  return { command: [process.execPath, mainFile], cwd: ROOT };
}
