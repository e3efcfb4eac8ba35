import { ledgerBatchRowsMax } from "../core/constants.ts";
import type { LedgerLog } from "./ledger-log.ts";
import type { RefusedRequest } from "./ledger-store.ts";

export interface RefusedLaneOptions {
  readonly log: LedgerLog;
  readonly send: (requests: readonly RefusedRequest[]) => Promise<void>;
}

const QUEUE_ROWS_MAX = 20_000;
const GATHER_MS = 20;
const RETRY_MS = 1_000;

/** Writes refused requests off the request's path. They hold no money: under flood some are lost. */
export class RefusedLane {
  readonly #options: RefusedLaneOptions;
  #queue: RefusedRequest[] = [];
  #lost = 0;
  #timer: NodeJS.Timeout | undefined;
  #sending: Promise<void> = Promise.resolve();

  constructor(options: RefusedLaneOptions) {
    this.#options = options;
  }

  submit(request: RefusedRequest): void {
    if (this.#queue.length >= QUEUE_ROWS_MAX) {
      this.#lost += 1;
      return;
    }
    this.#queue.push(request);
    this.#timer ??= setTimeout(() => this.#start(), GATHER_MS).unref();
  }

  /** Writes what is queued, once. */
  async drained(): Promise<void> {
    clearTimeout(this.#timer);
    this.#start();
    await this.#sending;
  }

  #start(): void {
    this.#timer = undefined;
    this.#sending = this.#sending.then(() => this.#flush());
  }

  async #flush(): Promise<void> {
    while (this.#queue.length > 0) {
      const batch = this.#queue.slice(0, ledgerBatchRowsMax);
      try {
        await this.#options.send(batch);
      } catch (error) {
        this.#options.log.warn({ err: error, lost: this.#lost }, "refused requests not recorded");
        this.#timer ??= setTimeout(() => this.#start(), RETRY_MS).unref();
        return;
      }
      this.#queue.splice(0, batch.length);
    }
  }
}
