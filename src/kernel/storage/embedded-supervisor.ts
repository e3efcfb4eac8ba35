import type { Logger } from "../core/log.ts";

const WATCH_MS = 250;
const RETRY_FIRST_MS = 250;
const RETRY_MAX_MS = 10_000;

export interface SupervisorOptions {
  /** Checked four times a second, so it has to be cheap. */
  readonly isUp: () => boolean;
  /**
   * Shares the server that another process started meanwhile, or starts it; rejects when it cannot.
   */
  readonly bringBack: (signal: AbortSignal) => Promise<{ readonly started: boolean }>;
  readonly log: Logger;
  /** The fields of every line about the server. */
  readonly detail: object;
}

/** Watches a server for a program that needs it for long, and brings it back when it is gone. */
export class ServerSupervisor {
  readonly #options: SupervisorOptions;
  readonly #stopping = new AbortController();
  #timer: NodeJS.Timeout | undefined;
  #work: Promise<void> | undefined;

  constructor(options: SupervisorOptions) {
    this.#options = options;
    this.#scheduleCheck(WATCH_MS, () => this.#check());
  }

  /** Ends the watch; resolves when nothing is being started any more. Never starts it again. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    clearTimeout(this.#timer);
    await this.#work;
  }

  #check(): void {
    if (this.#options.isUp()) return this.#scheduleCheck(WATCH_MS, () => this.#check());
    const { log, detail } = this.#options;
    log.warn(detail, "the embedded PostgreSQL has ended; it is restarted");
    this.#try(RETRY_FIRST_MS);
  }

  #try(retryMs: number): void {
    this.#work = this.#bringBack(retryMs);
  }

  async #bringBack(retryMs: number): Promise<void> {
    const { bringBack, log, detail } = this.#options;
    const { signal } = this.#stopping;
    try {
      const { started } = await bringBack(signal);
      log.info({ ...detail, started }, "the embedded PostgreSQL is available again");
      this.#scheduleCheck(WATCH_MS, () => this.#check());
    } catch (error) {
      if (signal.aborted) return;
      log.error({ ...detail, err: error, retryMs }, "the embedded PostgreSQL could not be started");
      this.#scheduleCheck(retryMs, () => this.#try(Math.min(retryMs * 2, RETRY_MAX_MS)));
    }
  }

  /** Never keeps the process alive. */
  #scheduleCheck(delayMs: number, check: () => void): void {
    if (!this.#stopping.signal.aborted) this.#timer = setTimeout(check, delayMs).unref();
  }
}
