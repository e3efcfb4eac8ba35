import { spawn, type ChildProcess } from "node:child_process";
import { chmodSync, existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { startEmbeddedPostgres } from "../../src/storage/postgres/embedded-server.ts";
import { newProgramFolder, removeProgramFolder } from "./compile-program.ts";
import { silentLog } from "./silent-log.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** Data folder of the one PostgreSQL of this run; the first test that needs it starts it. */
    readonly postgresDataDir: string;
    /** Folder of the one compiled program of this run; the first test that needs it compiles. */
    readonly programFolder: string;
  }
}

/** What all workers of a run share: one PostgreSQL and one compiled program, each made on demand. */
export default function setUp(project: TestProject): () => Promise<void> {
  const dataDir = mkdtempSync(join(tmpdir(), "tokenmarket-test-"));
  // As root the database runs as another user, who has to get in.
  chmodSync(dataDir, 0o755);
  project.provide("postgresDataDir", dataDir);
  const programFolder = newProgramFolder();
  project.provide("programFolder", programFolder);
  const watcher = stopAfterKill(dataDir);
  return async () => {
    removeProgramFolder(programFolder);
    if (existsSync(join(dataDir, "postgres"))) await stopServer(dataDir);
    rmSync(dataDir, { recursive: true, force: true });
    // Last: should the run be killed while it cleans up, the watcher finishes the work.
    watcher.kill();
  };
}

/** A killed run cannot clean up: this waits for its end and does it. */
function stopAfterKill(dataDir: string): ChildProcess {
  const script = `while kill -0 "$1" 2>/dev/null; do sleep 1; done
    kill -INT "$(head -n 1 "$2/postgres/cluster/postmaster.pid")"; sleep 2; rm -rf "$2"`;
  const args = ["-c", script, "sh", String(process.pid), dataDir];
  const watcher = spawn("/bin/sh", args, { cwd: "/", detached: true, stdio: "ignore" });
  watcher.unref();
  return watcher;
}

async function stopServer(dataDir: string): Promise<void> {
  // The workers leave the server to this moment: their notes no longer count.
  const users = join(dataDir, "postgres", "users");
  for (const name of readdirSync(users)) rmSync(join(users, name));
  const server = await startEmbeddedPostgres({ dataDir, log: silentLog });
  await server.stop();
}
