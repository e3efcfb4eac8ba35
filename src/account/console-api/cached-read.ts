import type { Clock } from "../../kernel/index.ts";

/** A read that hangs is shared for this time; after it, callers start a new read. */
const SHARED_MS = 10_000;
/** How long a failure is shared, so that not every visitor queries a database that is down. */
const FAILED_KEPT_MS = 5_000;

interface Read<T> {
  readonly answer: Promise<T>;
  untilMs: number;
}

/** Shares one read among all callers, and keeps the value that was read for `keptMs`. */
export class CachedRead<T> {
  readonly #of: () => Promise<T>;
  readonly #clock: Pick<Clock, "monotonicMs">;
  readonly #keptMs: number;
  #last: Read<T> | undefined;

  constructor(of: () => Promise<T>, clock: Pick<Clock, "monotonicMs">, keptMs: number) {
    this.#of = of;
    this.#clock = clock;
    this.#keptMs = keptMs;
  }

  get(): Promise<T> {
    const nowMs = this.#clock.monotonicMs();
    if (this.#last !== undefined && nowMs < this.#last.untilMs) return this.#last.answer;
    const read: Read<T> = { answer: this.#of(), untilMs: nowMs + SHARED_MS };
    this.#last = read;
    const keep = (keptMs: number) => (): void => {
      read.untilMs = this.#clock.monotonicMs() + keptMs;
    };
    read.answer.then(keep(this.#keptMs), keep(FAILED_KEPT_MS));
    return read.answer;
  }
}
