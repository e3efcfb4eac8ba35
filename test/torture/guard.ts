import { spawn } from "node:child_process";

/** Waits for the end of this process and then does what it would have done. */
export interface OrphanGuard {
  dismiss(): void;
}

// The pids are those that the slots noted; the database's is in its own file, wherever that is.
const SCRIPT = `while kill -0 "$1" 2>/dev/null; do sleep 1; done
  xargs -r kill -9 < "$2/pids"
  for file in "$2"/database/postgres/cluster/postmaster.pid; do
    kill -INT "$(head -n 1 "$file")"
  done
  sleep 2; rm -rf "$2"`;

/** A run that is killed cannot clean up: a process of its own ends what it left and its folder. */
export function guardAgainstOrphans(folder: string): OrphanGuard {
  const args = ["-c", SCRIPT, "sh", String(process.pid), folder];
  const guard = spawn("/bin/sh", args, { cwd: "/", detached: true, stdio: "ignore" });
  guard.unref();
  return { dismiss: () => void guard.kill() };
}
