import { spawn } from "node:child_process";

/** A separate process that cleans up once this process has ended. */
export interface OrphanGuard {
  dismiss(): void;
}

// `GatewaySlot` wrote the gateways' process ids to `pids`; the database's is in its own pid file.
const SCRIPT = `while kill -0 "$1" 2>/dev/null; do sleep 1; done
  xargs -r kill -9 < "$2/pids"
  for file in "$2"/database/postgres/cluster/postmaster.pid; do
    kill -INT "$(head -n 1 "$file")"
  done
  sleep 2; rm -rf "$2"`;

/** If this run is killed, the guard ends the processes that it left and deletes its folder. */
export function guardAgainstOrphans(folder: string): OrphanGuard {
  const args = ["-c", SCRIPT, "sh", String(process.pid), folder];
  const guard = spawn("/bin/sh", args, { cwd: "/", detached: true, stdio: "ignore" });
  guard.unref();
  return { dismiss: () => void guard.kill() };
}
