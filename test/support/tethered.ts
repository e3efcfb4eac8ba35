import { spawn } from "node:child_process";
import { once } from "node:events";

export interface Tethered {
  readonly pid: number;
  /** Kills it with SIGKILL, and resolves when it has ended. */
  kill(): Promise<void>;
}

// The shell holds the program on a tether: when our end of its input closes, for whatever reason, a
// killed test run included, the program ends.
const TETHER = '"$@" </dev/null >/dev/null 2>&1 & echo $!; read -r _; kill -9 $!; wait';

/** Starts a program that no test run leaves behind. */
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
