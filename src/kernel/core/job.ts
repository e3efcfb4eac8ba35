/**
 * Work that every process does again and again, so long after the last round has ended. Where only
 * one may do a piece of it, its store says who: by a row that is leased, a turn, or a lock. Never
 * keeps the process alive.
 */
export class Job {
  readonly #everyMs: number;
  readonly #work: (isStopping: () => boolean) => Promise<unknown>;
  readonly #failed: (fault: unknown) => void;
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> = Promise.resolve();
  #isStopping = false;

  /** A round that fails, as it does while the database is away, is told to `failed`. */
  constructor(
    everyMs: number,
    work: (isStopping: () => boolean) => Promise<unknown>,
    failed: (fault: unknown) => void,
  ) {
    this.#everyMs = everyMs;
    this.#work = work;
    this.#failed = failed;
  }

  /** True as soon as it is being closed: long work asks between two pieces. */
  get isStopping(): boolean {
    return this.#isStopping;
  }

  /** The first round is a pause later. */
  start(): void {
    if (this.#isStopping) return;
    this.#timer = setTimeout(() => this.startNow(), this.#everyMs);
    this.#timer.unref();
  }

  /** The first round is at once. */
  startNow(): void {
    this.#running = this.runOnce().finally(() => this.start());
  }

  /** A round beside those of the timer. Never rejects. */
  async runOnce(): Promise<void> {
    try {
      await this.#work(() => this.#isStopping);
    } catch (fault) {
      this.#failed(fault);
    }
  }

  /** Resolves when the round of the timer has ended; there is none after it. */
  async close(): Promise<void> {
    this.#isStopping = true;
    clearTimeout(this.#timer);
    await this.#running;
  }
}

/**
 * Works on each, one after the other. One that fails does not keep the others waiting; so many in a
 * row, or a stop, end it: what they need is down, and the next round begins with what is left.
 * False: it was ended.
 */
export async function workOnEach<T>(
  items: AsyncIterable<T> | Iterable<T>,
  work: (item: T) => Promise<void>,
  bounds: {
    readonly failuresMax: number;
    readonly isStopping: () => boolean;
    readonly failed: (fault: unknown, item: T) => void;
  },
): Promise<boolean> {
  const { failuresMax, isStopping, failed } = bounds;
  let inARow = 0;
  if (isStopping()) return false;
  for await (const item of items) {
    try {
      await work(item);
      inARow = 0;
    } catch (fault) {
      inARow += 1;
      failed(fault, item);
    }
    if (isStopping() || inARow >= failuresMax) return false;
  }
  return true;
}
