import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, realpathSync } from "node:fs";
import { join } from "node:path";

import { findWorkingFolder } from "../../src/kernel/storage/process-identity.ts";

export function postmasterPid(dataDir: string): number | undefined {
  const file = join(dataDir, "cluster", "postmaster.pid");
  return existsSync(file) ? Number.parseInt(readFileSync(file, "utf8"), 10) : undefined;
}

/** Kills the server like a machine fault: no client is notified, and its sessions keep running. */
export function killPostmaster(dataDir: string, signal: NodeJS.Signals = "SIGKILL"): number {
  const pid = postmasterPid(dataDir);
  if (pid === undefined) throw new Error(`no server runs in ${dataDir}`);
  process.kill(pid, signal);
  return pid;
}

/** Ends what a test may have left running; a process that has ended in the meantime is no fault. */
export function endIfRunning(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (fault) {
    if ((fault as { readonly code?: string }).code !== "ESRCH") throw fault;
  }
}

export function postgresServers(dataDir: string): number[] {
  const cluster = realpathSync(join(dataDir, "cluster"));
  // Root in a container may not see another user's working folder, so the arguments count.
  const called = runningProcesses().filter(({ call }) => call.includes(` -D ${cluster} `));
  // A session's process has the arguments of its server until it sets its own title.
  const pids = new Set(called.map(({ pid }) => pid));
  return called.filter(({ parent }) => !pids.has(parent)).map(({ pid }) => pid);
}

/** Returns all processes of this folder's embedded PostgreSQL, including orphaned sessions. */
export function postgresProcesses(dataDir: string): number[] {
  const cluster = realpathSync(join(dataDir, "cluster"));
  const servers = postgresServers(dataDir);
  return runningProcesses()
    .map(({ pid }) => pid)
    .filter((pid) => servers.includes(pid) || findWorkingFolder(pid) === cluster);
}

interface RunningProcess {
  readonly pid: number;
  readonly parent: number;
  /** The arguments of the process, each with a space after it. */
  readonly call: string;
}

function runningProcesses(): RunningProcess[] {
  if (!existsSync("/proc/self/stat")) return listedProcesses();
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        const stat = readFileSync(`/proc/${name}/stat`, "utf8");
        const parent = Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]);
        const call = readFileSync(`/proc/${name}/cmdline`, "utf8").replaceAll("\0", " ");
        return { pid: Number(name), parent, call };
      } catch {
        return []; // the process has just ended
      }
    });
}

function listedProcesses(): RunningProcess[] {
  const text = execFileSync("ps", ["-A", "-ww", "-o", "pid=,ppid=,args="], { encoding: "utf8" });
  return text.split("\n").flatMap((line) => {
    const [, pid, parent, call] = /^\s*(\d+)\s+(\d+)\s+(.*)$/.exec(line) ?? [];
    return call === undefined ? [] : { pid: Number(pid), parent: Number(parent), call: `${call} ` };
  });
}
