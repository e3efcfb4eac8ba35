import { assert } from "../../kernel/index.ts";
import { ConsoleRefusal, rateLimited } from "./console-refusal.ts";

interface Queue {
  running: number;
  readonly waiting: (() => void)[];
}

/**
 * Limits how many tasks of one organization run at a time, so that an organization that opens many
 * pages cannot occupy the database alone. Further tasks wait in order of arrival, up to a limit.
 */
export class ConcurrencyGate {
  readonly #runningMax: number;
  readonly #waitingMax: number;
  readonly #queues = new Map<string, Queue>();

  constructor(max: { readonly running: number; readonly waiting: number }) {
    this.#runningMax = max.running;
    this.#waitingMax = max.waiting;
  }

  async run<T>(owner: string, work: () => Promise<T>): Promise<T | ConsoleRefusal> {
    const end = await this.take(owner);
    if (end instanceof ConsoleRefusal) return end;
    try {
      return await work();
    } finally {
      end();
    }
  }

  /**
   * Waits for a permit, and returns the function that releases it, which may be called repeatedly;
   * a refusal if too many tasks already wait.
   */
  async take(owner: string): Promise<(() => void) | ConsoleRefusal> {
    const queue = this.#queues.get(owner) ?? { running: 0, waiting: [] };
    this.#queues.set(owner, queue);
    if (queue.running < this.#runningMax) queue.running += 1;
    else if (queue.waiting.length >= this.#waitingMax) return tooMany(this.#runningMax);
    // A released permit passes to the next waiter, so `running` does not change.
    else await new Promise<void>((go) => queue.waiting.push(go));
    return this.#ender(owner, queue);
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

const RETRY_AFTER_SECONDS = 5;

function tooMany(runningMax: number): ConsoleRefusal {
  return rateLimited(
    `your organization already has ${runningMax} of these requests running; wait for one to finish, then try again`,
    RETRY_AFTER_SECONDS,
  );
}

export interface ReportGates {
  readonly reads: ConcurrencyGate;
  /** For file downloads: each holds its permit as long as the client takes to read the file. */
  readonly files: ConcurrencyGate;
  readonly checks: ConcurrencyGate;
  readonly payments: ConcurrencyGate;
}

export function openReportGates(): ReportGates {
  return {
    reads: new ConcurrencyGate({ running: 2, waiting: 8 }),
    files: new ConcurrencyGate({ running: 2, waiting: 0 }),
    checks: new ConcurrencyGate({ running: 1, waiting: 2 }),
    payments: new ConcurrencyGate({ running: 2, waiting: 8 }),
  };
}
