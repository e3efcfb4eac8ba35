import cluster, { type Worker } from "node:cluster";

import type { Logger } from "pino";

import { type ExitCode, makeStopListener } from "./command-context.ts";

/** A worker's report that it accepts traffic. */
export interface ReadyLine {
  readonly gateway_url: string;
  readonly console_url: string;
  readonly internal_url: string;
  readonly models: number;
}

type Order = "stop" | "reload";

const RESTART_MS_MIN = 1_000;
const RESTART_MS_MAX = 30_000;
/** A worker that ran this long did not fail at its start, so the wait for a restart is reset. */
const HEALTHY_MS = 60_000;

/** The number of this process among the workers, from 0; undefined if this process is no worker. */
export function workerNumber(): number | undefined {
  return cluster.isWorker ? Number(process.env[NUMBER_ENV] ?? 0) : undefined;
}

const NUMBER_ENV = "TM_WORKER_NUMBER";

export function announceReady(line: ReadyLine): void {
  process.send?.(line);
}

/** Calls `stop` or `reload` when the supervisor asks for it, and `stop` if the supervisor dies. */
export function followSupervisor(listener: {
  readonly stop: () => void;
  readonly reload: () => void;
}): void {
  process.on("message", (order: Order) => {
    if (order === "stop") listener.stop();
    if (order === "reload") listener.reload();
  });
  process.on("disconnect", listener.stop);
  // A terminal signals the whole process group, but the supervisor decides when a worker ends or
  // reloads.
  for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"]) process.on(signal, () => undefined);
}

export interface SupervisorOptions {
  readonly count: number;
  readonly log: Logger;
  readonly clock: { monotonicMs(): number };
  readonly onReady: (lines: readonly ReadyLine[]) => void;
}

/**
 * Runs `count` gateways that share the gateway and console ports, restarts one that dies, and ends
 * them all on SIGTERM or SIGINT. Resolves with 0 if all ended well, 1 if one failed while stopping,
 * 2 if one failed before all were ready.
 */
export function superviseWorkers(options: SupervisorOptions): Promise<ExitCode> {
  return new Promise((resolve) => new Supervisor(options, resolve).start());
}

class Supervisor {
  readonly #options: SupervisorOptions;
  readonly #resolve: (code: ExitCode) => void;
  readonly #ready: Map<number, ReadyLine> = new Map();
  readonly #workers: Map<number, Worker> = new Map();
  readonly #restarts: Set<NodeJS.Timeout> = new Set();
  #isAnnounced = false;
  #isStopping = false;
  #code: ExitCode = 0;
  #restartMs = RESTART_MS_MIN;

  constructor(options: SupervisorOptions, resolve: (code: ExitCode) => void) {
    this.#options = options;
    this.#resolve = resolve;
  }

  start(): void {
    const begin = (): void => {
      if (!this.#isStopping) this.#stop(0);
    };
    const stop = makeStopListener(begin, () => process.exit(1));
    process.on("SIGTERM", stop);
    process.on("SIGINT", stop);
    process.on("SIGHUP", () => this.#notifyAll("reload"));
    for (let number = 0; number < this.#options.count; number += 1) this.#fork(number);
  }

  #fork(number: number): void {
    const startedMs = this.#options.clock.monotonicMs();
    const worker = cluster.fork({ [NUMBER_ENV]: String(number) });
    this.#workers.set(number, worker);
    worker.on("message", (line: ReadyLine) => this.#becameReady(number, line));
    // Sending to a worker fails if its channel is already closed.
    worker.on("error", () => undefined);
    worker.on("exit", (code) => {
      this.#workers.delete(number);
      this.#ended(number, { code, livedMs: this.#options.clock.monotonicMs() - startedMs });
    });
  }

  #becameReady(number: number, line: ReadyLine): void {
    const { log, count, onReady } = this.#options;
    log.info({ worker: number, pid: this.#workers.get(number)?.process.pid }, "worker ready");
    this.#ready.set(number, line);
    if (this.#isAnnounced || this.#ready.size < count) return;
    this.#isAnnounced = true;
    onReady([...this.#ready].toSorted(([a], [b]) => a - b).map(([, each]) => each));
  }

  #ended(number: number, end: { readonly code: number; readonly livedMs: number }): void {
    if (this.#isStopping) {
      if (end.code !== 0) this.#code = this.#code === 2 ? 2 : 1;
      if (this.#workers.size === 0) this.#resolve(this.#code);
      return;
    }
    if (!this.#isAnnounced) return this.#stop(2);
    this.#restartMs =
      end.livedMs > HEALTHY_MS ? RESTART_MS_MIN : Math.min(this.#restartMs * 2, RESTART_MS_MAX);
    const { log } = this.#options;
    log.error(
      { worker: number, exit_code: end.code },
      "a worker process ended unexpectedly; it is restarted",
    );
    const timer = setTimeout(() => {
      this.#restarts.delete(timer);
      this.#fork(number);
    }, this.#restartMs);
    this.#restarts.add(timer);
  }

  #stop(code: 0 | 2): void {
    this.#isStopping = true;
    this.#code = code;
    // A timer that is left would keep the process alive.
    for (const timer of this.#restarts) clearTimeout(timer);
    this.#notifyAll("stop");
    if (this.#workers.size === 0) this.#resolve(code);
  }

  #notifyAll(order: Order): void {
    for (const worker of this.#workers.values()) {
      if (worker.isConnected()) worker.send(order);
    }
  }
}
