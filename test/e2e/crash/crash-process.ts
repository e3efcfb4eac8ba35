import { spawn, type ChildProcess } from "node:child_process";
import { createInterface } from "node:readline";

import type { Command, FailPoint, Order, Report } from "./fail-points.ts";

const READY_WAIT_MS = 60_000;

/** How a process ended: with a code, or by a signal. */
export interface Ending {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** One gateway that can be ordered to die or to wait at a fail point. */
export interface CrashProcess {
  readonly url: string;
  readonly ended: Promise<Ending>;
  readonly isRunning: boolean;
  /** Resolves when the process has taken the order. */
  order(order: Order): Promise<void>;
  /** Resolves when the process waits at the point. */
  waitsAt(point: FailPoint): Promise<void>;
  goOn(): Promise<void>;
  signal(signal: NodeJS.Signals): void;
}

export interface LoadInput {
  readonly file: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/** A process that has loaded the program and waits to begin. */
export interface LoadedProcess {
  /** Begins, once. With an order, the process may die before it is ready. */
  begin(firstOrder?: Order): StartingProcess;
  kill(): Promise<void>;
}

/** A process that has begun: it becomes ready, or it dies before that. */
export interface StartingProcess {
  readonly ready: Promise<CrashProcess>;
  readonly ended: Promise<Ending>;
}

/** Loads the program with fail points. */
export function loadProcess(input: LoadInput): LoadedProcess {
  const { child, ended } = spawnProcess(input);
  return {
    begin: (firstOrder) => {
      const reports = new Reports(child);
      const begin = async (): Promise<CrashProcess> => {
        if (firstOrder !== undefined) await reports.reported({ order: firstOrder });
        const ready = readyProcess(child, { ended, reports });
        ready.catch(() => undefined);
        await reports.reported({ begin: true });
        return await ready;
      };
      return starting(begin(), ended);
    },
    kill: async () => {
      child.kill("SIGKILL");
      await ended;
    },
  };
}

/** Starts the program as it is shipped: it has no fail points and takes no `Order`. */
export function startShipped(input: LoadInput): StartingProcess {
  const { child, ended } = spawnProcess(input);
  return starting(readyProcess(child, { ended, reports: new Reports(child) }), ended);
}

function starting(ready: Promise<CrashProcess>, ended: Promise<Ending>): StartingProcess {
  // A caller that expects the start to fail does not await `ready`, which then rejects.
  ready.catch(() => undefined);
  return { ready, ended };
}

interface Spawned {
  readonly child: ChildProcess;
  readonly ended: Promise<Ending>;
}

function spawnProcess({ file, args, env }: LoadInput): Spawned {
  const child = spawn(process.execPath, [file, ...args], {
    env: { ...process.env, ...env },
    stdio: ["ignore", "ignore", "pipe", "ipc"],
  });
  const ended = new Promise<Ending>((resolve) => {
    child.once("exit", (code, signal) => resolve({ code, signal }));
  });
  return { child, ended };
}

async function readyProcess(
  child: ChildProcess,
  known: { readonly ended: Promise<Ending>; readonly reports: Reports },
): Promise<CrashProcess> {
  const { ended, reports } = known;
  let stderr = "";
  const url = await new Promise<string>((resolve, reject) => {
    const give = (reason: string): void => reject(new Error(`${reason}: ${stderr}`));
    const timer = setTimeout(() => give("not ready"), READY_WAIT_MS);
    void ended.then(() => give("ended before it was ready"));
    if (child.stderr === null) throw new Error("standard error is piped");
    createInterface({ input: child.stderr }).on("line", (line) => {
      stderr += `${line}\n`;
      if (!line.includes('"msg":"ready"')) return;
      clearTimeout(timer);
      resolve(String((JSON.parse(line) as Record<string, unknown>)["gateway_url"]));
    });
  });
  return {
    url,
    ended,
    get isRunning() {
      return child.exitCode === null && child.signalCode === null;
    },
    order: (order) => reports.reported({ order }),
    waitsAt: (point) =>
      reports.next((report) => "waitingAt" in report && report.waitingAt === point),
    goOn: () => reports.reported({ goOn: true }),
    signal: (signal) => void child.kill(signal),
  };
}

/** The reports of the process, kept until a caller asks for them. */
class Reports {
  readonly #child: ChildProcess;
  readonly #unread: Report[] = [];
  #wake: () => void = () => undefined;

  constructor(child: ChildProcess) {
    this.#child = child;
    child.on("message", (report: Report) => {
      this.#unread.push(report);
      this.#wake();
    });
    child.on("exit", () => this.#wake());
  }

  async reported(command: Command): Promise<void> {
    this.#child.send(command);
    await this.next((report) => "done" in report);
  }

  async next(isMeant: (report: Report) => boolean): Promise<void> {
    for (;;) {
      const found = this.#unread.findIndex(isMeant);
      if (found !== -1) {
        this.#unread.splice(found, 1);
        return;
      }
      if (!this.#child.connected) throw new Error("the process ended instead of answering");
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }
}
