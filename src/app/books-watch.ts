import { type Clock, type Logger, Repeated } from "../core/index.ts";
import type { BooksFigures } from "../ledger/index.ts";

const READ_EVERY_MS = 60_000;
/** Older figures say nothing about now: none are shown then. */
const KEPT_MS = 3 * READ_EVERY_MS;

/** Reads the figures of the books once a minute, for `/metrics`: no scrape asks the database. */
export class BooksWatch {
  readonly #read: () => Promise<BooksFigures>;
  readonly #clock: Clock;
  readonly #log: Logger;
  #figures: BooksFigures | undefined;
  #readAtMs = Number.NEGATIVE_INFINITY;
  readonly #rounds = new Repeated(() => this.#readOnce(), READ_EVERY_MS);

  constructor(options: {
    readonly read: () => Promise<BooksFigures>;
    readonly clock: Clock;
    readonly log: Logger;
  }) {
    this.#read = options.read;
    this.#clock = options.clock;
    this.#log = options.log;
  }

  /** Undefined: they were not read lately. */
  get figures(): BooksFigures | undefined {
    const isKept = this.#clock.monotonicMs() - this.#readAtMs < KEPT_MS;
    return isKept ? this.#figures : undefined;
  }

  start(): void {
    this.#rounds.startNow();
  }

  close(): Promise<void> {
    return this.#rounds.close();
  }

  async #readOnce(): Promise<void> {
    try {
      this.#figures = await this.#read();
      this.#readAtMs = this.#clock.monotonicMs();
    } catch (fault) {
      this.#log.warn({ err: fault }, "the figures of the books could not be read for the metrics");
    }
  }
}
