/**
 * Work that is done again and again, each time so long after the last has ended; it handles its own
 * faults. Never keeps the process alive.
 */
export class Repeated {
  readonly #work: () => Promise<void>;
  readonly #pauseMs: number;
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> = Promise.resolve();
  #isClosed = false;

  constructor(work: () => Promise<void>, pauseMs: number) {
    this.#work = work;
    this.#pauseMs = pauseMs;
  }

  /** True as soon as it is being closed: long work checks it to end early. */
  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** The first time is a pause later. */
  start(): void {
    if (this.#isClosed) return;
    this.#timer = setTimeout(() => this.startNow(), this.#pauseMs);
    this.#timer.unref();
  }

  /** The first time is at once. */
  startNow(): void {
    this.#running = this.#work().finally(() => this.start());
  }

  /** Resolves when the work under way has ended; there is none after it. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#running;
  }
}
