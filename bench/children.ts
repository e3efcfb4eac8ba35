import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { fork, type ChildProcess } from "node:child_process";
import { fileURLToPath } from "node:url";

const READY_TIMEOUT_MS = 60_000;

/** A child process with an IPC channel, which ends by itself when this process ends. */
export interface Helper {
  readonly processId: number;
  send(message: object): void;
  /** Resolves with the next message; rejects if the helper ends first or the time is over. */
  receive(timeoutMs: number): Promise<unknown>;
  stop(): void;
}

/** Starts a TypeScript file, which is given by its path from this folder or by an absolute path. */
export function startHelper(file: string, args: readonly string[] = []): Helper {
  const path = fileURLToPath(new URL(file, import.meta.url));
  const child = fork(path, args, { execArgv: ["--import", "tsx"] });
  const { pid } = child;
  if (pid === undefined) throw new Error(`${file} did not start`);
  return {
    processId: pid,
    send: (message) => void (child.connected && child.send(message)),
    receive: (timeoutMs) => nextMessage(child, timeoutMs),
    stop: () => void child.kill("SIGKILL"),
  };
}

async function nextMessage(child: ChildProcess, timeoutMs: number): Promise<unknown> {
  if (!child.connected) throw new Error("a helper process has ended");
  const done = new AbortController();
  const { signal } = done;
  const failed = (why: string) => (): never => {
    throw new Error(`a helper process ${why}`);
  };
  try {
    return await Promise.race([
      once(child, "message", { signal }).then(([message]: unknown[]) => message),
      once(child, "exit", { signal }).then(failed("ended")),
      sleep(timeoutMs, undefined, { signal }).then(failed(`was silent for ${timeoutMs} ms`)),
    ]);
  } finally {
    done.abort();
  }
}

/**
 * Calls `run` for each job that arrives over IPC, and sends its result or its error back. This
 * process ends when its parent ends.
 */
export function takeJobs(run: (job: never) => Promise<object>): void {
  process.on("disconnect", () => process.exit(0));
  process.on("message", (job) => {
    const failed = (error: unknown): object => ({ error: String(error) });
    void run(job as never)
      .catch(failed)
      .then((answer) => process.send?.(answer));
  });
}

/** Returns the port that a helper's first message names. Waits at most 60 seconds for it. */
export async function receivePort(helper: Helper): Promise<number> {
  const message = await helper.receive(READY_TIMEOUT_MS);
  const port = (message as { readonly port?: unknown }).port;
  if (typeof port !== "number") throw new Error("a helper process named no port");
  return port;
}
