import { assert } from "./assert.ts";

interface Queue {
  running: number;
  readonly waiting: (() => void)[];
}

export interface TurnsMax {
  readonly running: number;
  /** How many more may wait; 0 to refuse them at once. */
  readonly waiting: number;
  /** How long each may wait, in milliseconds, before it is refused a turn. Default: unlimited. */
  readonly waitMs?: number;
}

/** Bounds how many tasks of one owner run at a time. Further ones wait in order, up to a limit. */
export class Turns {
  readonly #max: TurnsMax;
  readonly #queues = new Map<string, Queue>();

  constructor(max: TurnsMax) {
    this.#max = max;
  }

  /**
   * Returns the function that releases the permit, which may be called repeatedly; a promise of
   * that function if the task must wait; undefined if too many wait, or it has waited too long. If
   * `waitMs` is 0, the task does not wait.
   */
  take(
    owner: string,
    waitMs: number | undefined = this.#max.waitMs,
  ): (() => void) | undefined | Promise<(() => void) | undefined> {
    const queue = this.#queues.get(owner) ?? { running: 0, waiting: [] };
    this.#queues.set(owner, queue);
    if (queue.running < this.#max.running) {
      queue.running += 1;
      return this.#ender(owner, queue);
    }
    if (waitMs === 0 || queue.waiting.length >= this.#max.waiting) return undefined;
    // A released permit passes to the next waiter, so `running` does not change.
    return new Promise((resolve) => {
      const go = (): void => {
        clearTimeout(timer);
        resolve(this.#ender(owner, queue));
      };
      const timer =
        waitMs === undefined
          ? undefined
          : setTimeout(() => {
              queue.waiting.splice(queue.waiting.indexOf(go), 1);
              resolve(undefined);
            }, waitMs);
      queue.waiting.push(go);
    });
  }

  #ender(owner: string, queue: Queue): () => void {
    let isEnded = false;
    return () => {
      if (isEnded) return;
      isEnded = true;
      const next = queue.waiting.shift();
      if (next !== undefined) return next();
      queue.running -= 1;
      assert(queue.running >= 0, "a permit is released once");
      if (queue.running === 0) this.#queues.delete(owner);
    };
  }
}
