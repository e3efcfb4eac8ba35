import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";

import type { LimitOrder, LimitTally } from "./limit-child.ts";

export interface LimitProcess {
  obey(order: LimitOrder): Promise<LimitTally>;
  /** Kills it with SIGKILL, with all its leases. */
  kill(): Promise<void>;
}

/**
 * Starts a process. `storeNowMs` fixes the time of its store; without it, the server's clock
 * counts.
 */
export async function startLimitProcess(url: string, storeNowMs?: number): Promise<LimitProcess> {
  const file = join(import.meta.dirname, "limit-child.ts");
  const words = storeNowMs === undefined ? [url] : [url, String(storeNowMs)];
  const child = fork(file, words, { execArgv: ["--import", "tsx"] });
  await nextMessage(child);
  return {
    obey: async (order) => {
      const reported = nextMessage(child);
      child.send(order);
      return (await reported) as LimitTally;
    },
    kill: async () => {
      const exited = once(child, "exit");
      child.kill("SIGKILL");
      await exited;
    },
  };
}

function nextMessage(child: ChildProcess): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const onExit = (code: number | null): void => reject(new Error(`the process ended: ${code}`));
    child.once("exit", onExit);
    child.once("message", (message) => {
      child.off("exit", onExit);
      resolve(message);
    });
  });
}
