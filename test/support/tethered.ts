import { spawn } from "node:child_process";
import { once } from "node:events";

export interface Tethered {
  readonly pid: number;
  /** Kills the program with SIGKILL, and resolves when it has ended. */
  kill(): Promise<void>;
}

// A shell that starts the program, prints its process id, and kills it when its own input closes.
// That happens however this process ends, even by a kill.
const TETHER = '"$@" </dev/null >/dev/null 2>&1 & echo $!; read -r _; kill -9 $!; wait';

/** Starts a program that ends with this process at the latest. */
export async function startTethered(command: readonly string[]): Promise<Tethered> {
  const shell = spawn("/bin/sh", ["-c", TETHER, "tether", ...command], {
    stdio: ["pipe", "pipe", "ignore"],
  });
  const [line] = (await once(shell.stdout, "data")) as [Buffer];
  return {
    pid: Number(line.toString()),
    kill: async () => {
      const ended = once(shell, "exit");
      shell.stdin.end();
      await ended;
    },
  };
}
