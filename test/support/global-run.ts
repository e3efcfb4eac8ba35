import { spawn, type ChildProcess } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { startEmbeddedPostgres } from "../../src/kernel/storage/embedded-server.ts";
import { newProgramFolder, removeProgramFolder } from "./compile-program.ts";
import { newRunFolder } from "./run-folder.ts";
import { silentLog } from "./silent-log.ts";

declare module "vitest" {
  interface ProvidedContext {
    readonly postgresDataDir: string;
    readonly programFolder: string;
  }
}

interface Run {
  users: number;
  readonly folder: string;
  readonly dataDir: string;
  readonly programFolder: string;
  readonly watcher: ChildProcess;
}

declare global {
  /** Each project of a run loads this file again; the first one starts the run for all of them. */
  var runOfAllProjects: Run | undefined;
}

/** Provides what all workers of a run share: one PostgreSQL and one compiled program, on demand. */
export default function setUp(project: TestProject): () => Promise<void> {
  globalThis.runOfAllProjects ??= beginRun();
  const run = globalThis.runOfAllProjects;
  run.users += 1;
  project.provide("postgresDataDir", run.dataDir);
  project.provide("programFolder", run.programFolder);
  return async () => {
    run.users -= 1;
    if (run.users === 0) await endRun(run);
  };
}

function beginRun(): Run {
  const folder = newRunFolder();
  const dataDir = join(folder, "shared");
  mkdirSync(dataDir, { mode: 0o755 });
  const watcher = stopAfterKill(folder, dataDir);
  return { users: 0, folder, dataDir, programFolder: newProgramFolder(), watcher };
}

async function endRun({ folder, dataDir, programFolder, watcher }: Run): Promise<void> {
  removeProgramFolder(programFolder);
  if (existsSync(join(dataDir, "postgres"))) await stopServer(dataDir);
  rmSync(folder, { recursive: true, force: true });
  // The watcher ends last: if the run is killed while it cleans up, the watcher cleans up.
  watcher.kill();
}

/** Starts a process that cleans up if this run is killed, because a killed run cannot. */
function stopAfterKill(folder: string, dataDir: string): ChildProcess {
  const script = `while kill -0 "$1" 2>/dev/null; do sleep 1; done
    kill -INT "$(head -n 1 "$3/postgres/cluster/postmaster.pid")"; sleep 2; rm -rf "$2"`;
  const args = ["-c", script, "sh", String(process.pid), folder, dataDir];
  const watcher = spawn("/bin/sh", args, { cwd: "/", detached: true, stdio: "ignore" });
  watcher.unref();
  return watcher;
}

async function stopServer(dataDir: string): Promise<void> {
  // The workers left files that mark the server as in use. Without these, `stop` ends it.
  const users = join(dataDir, "postgres", "users");
  for (const name of readdirSync(users)) rmSync(join(users, name));
  const server = await startEmbeddedPostgres({ dataDir, log: silentLog });
  await server.stop();
}
