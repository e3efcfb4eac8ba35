import { fork, type ChildProcess } from "node:child_process";
import { fileURLToPath } from "node:url";

const READY_TIMEOUT_MS = 60_000;

/** A process of this folder, reached over IPC; it ends by itself when this process ends. */
export interface Helper {
  readonly processId: number;
  send(message: object): void;
  /** The next message; rejects when the helper ends first or the time is over. */
  receive(timeoutMs: number): Promise<unknown>;
  stop(): void;
}

/** The file is one of this folder, or absolute. */
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

function nextMessage(child: ChildProcess, timeoutMs: number): Promise<unknown> {
  if (!child.connected) return Promise.reject(new Error("a helper process has ended"));
  return new Promise((resolve, reject) => {
    const settle = (finish: () => void): void => {
      clearTimeout(timer);
      child.off("message", onMessage);
      child.off("exit", onExit);
      finish();
    };
    const onMessage = (message: unknown): void => settle(() => resolve(message));
    const onExit = (): void => settle(() => reject(new Error("a helper process ended")));
    const timer = setTimeout(() => {
      settle(() => reject(new Error(`a helper process was silent for ${timeoutMs} ms`)));
    }, timeoutMs);
    child.on("message", onMessage);
    child.on("exit", onExit);
  });
}

/** Fields of a helper's first message that says where it listens. */
export async function receivePort(helper: Helper): Promise<number> {
  const message = await helper.receive(READY_TIMEOUT_MS);
  const port = (message as { readonly port?: unknown }).port;
  if (typeof port !== "number") throw new Error("a helper process named no port");
  return port;
}
