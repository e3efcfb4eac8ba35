import { type Clock, Job, type Logger } from "../kernel/index.ts";
import type { BooksFigures } from "../ledger/index.ts";

const READ_EVERY_MS = 60_000;
/** Older figures say nothing about now: none are shown then. */
const KEPT_MS = 3 * READ_EVERY_MS;

/** Reads the figures of the books once a minute, for `/metrics`: no scrape asks the database. */
export class BooksWatch {
  readonly #read: () => Promise<BooksFigures>;
  readonly #clock: Clock;
  #figures: BooksFigures | undefined;
  #readAtMs = Number.NEGATIVE_INFINITY;
  readonly #job: Job;

  constructor(options: {
    readonly read: () => Promise<BooksFigures>;
    readonly clock: Clock;
    readonly log: Logger;
  }) {
    this.#read = options.read;
    this.#clock = options.clock;
    const message = "the figures of the books could not be read for the metrics";
    this.#job = new Job(
      READ_EVERY_MS,
      () => this.#readOnce(),
      (fault) => options.log.warn({ err: fault }, message),
    );
  }

  /** Undefined: they were not read lately. */
  get figures(): BooksFigures | undefined {
    const isKept = this.#clock.monotonicMs() - this.#readAtMs < KEPT_MS;
    return isKept ? this.#figures : undefined;
  }

  start(): void {
    this.#job.startNow();
  }

  close(): Promise<void> {
    return this.#job.close();
  }

  async #readOnce(): Promise<void> {
    this.#figures = await this.#read();
    this.#readAtMs = this.#clock.monotonicMs();
  }
}
