import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";

import { afterAll } from "vitest";

const ROOT = resolve(import.meta.dirname, "../..");
const READY_WAIT_MS = 60_000;

/** The program as its own process, as an operator runs it. */
export interface RunningProgram {
  readonly process: ChildProcess;
  /** The ready line of `serve`, `dev` or `simulate`. */
  readonly ready: Readonly<Record<string, unknown>>;
  stderr(): string;
  stdout(): string;
  /** Sends the signal and resolves with the exit code (null when killed). */
  end(signal: NodeJS.Signals): Promise<number | null>;
}

/** Starts `tokenmarket <args>` and waits for its ready line. */
export async function startProgram(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<RunningProgram> {
  const child = spawnProgram(args, env);
  let stderr = "";
  let stdout = "";
  child.stdout?.on("data", (chunk: Buffer) => (stdout += chunk.toString()));
  const ready = await new Promise<Record<string, unknown>>((done, failed) => {
    const timer = setTimeout(() => failed(new Error(`not ready: ${stderr}`)), READY_WAIT_MS);
    child.once("exit", (code) => failed(new Error(`exit ${code} before ready: ${stderr}`)));
    if (child.stderr === null) throw new Error("standard error is piped");
    createInterface({ input: child.stderr }).on("line", (line) => {
      stderr += `${line}\n`;
      if (!line.includes('"msg":"ready"')) return;
      clearTimeout(timer);
      done(JSON.parse(line) as Record<string, unknown>);
    });
  });
  child.removeAllListeners("exit");
  const exited = new Promise<number | null>((done) => child.once("exit", done));
  return {
    process: child,
    ready,
    stderr: () => stderr,
    stdout: () => stdout,
    end: async (signal) => {
      child.kill(signal);
      return await exited;
    },
  };
}

export interface CommandResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs `tokenmarket <args>` to its end. */
export async function runCommand(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<CommandResult> {
  const child = spawnProgram(args, env);
  let stdout = "";
  let stderr = "";
  child.stdout?.on("data", (chunk: Buffer) => (stdout += chunk.toString()));
  child.stderr?.on("data", (chunk: Buffer) => (stderr += chunk.toString()));
  const code = await new Promise<number | null>((done) => child.once("close", done));
  return { code, stdout, stderr };
}

function spawnProgram(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): ChildProcess {
  return spawn(process.execPath, [builtProgram(), ...args], {
    cwd: ROOT,
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
}

let built: string | undefined;
const builds: string[] = [];
afterAll(() => {
  for (const folder of builds) rmSync(folder, { recursive: true, force: true });
});

/** The program compiled as it is shipped: it starts in half the time of its sources. */
function builtProgram(): string {
  if (built !== undefined) return built;
  // Below node_modules, so that the compiled modules find their dependencies.
  const cache = join(ROOT, "node_modules", ".cache");
  mkdirSync(cache, { recursive: true });
  const folder = mkdtempSync(join(cache, "tokenmarket-"));
  builds.push(folder);
  copyFileSync(join(ROOT, "package.json"), join(folder, "package.json"));
  const outDir = join(folder, "dist");
  const compiler = join(ROOT, "node_modules", ".bin", "tsc");
  const result = spawnSync(compiler, ["-p", "tsconfig.build.json", "--outDir", outDir], {
    cwd: ROOT,
    encoding: "utf8",
  });
  built = join(outDir, "cli", "main.js");
  // Wrong types are the business of another check; here only what runs counts.
  if (!existsSync(built)) throw new Error(`not built: ${result.stdout} ${result.stderr}`);
  return built;
}
