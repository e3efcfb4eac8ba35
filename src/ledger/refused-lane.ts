import {
  LEDGER_BATCH_ROWS_MAX,
  type Logger,
  REFUSED_ROWS_PER_MINUTE,
  REFUSED_ROWS_PER_MINUTE_PER_ORG,
} from "../core/index.ts";
import type { RefusedCount, RefusedRequest } from "./ledger-store.ts";

export interface RefusedLaneOptions {
  readonly log: Logger;
  readonly send: (
    requests: readonly RefusedRequest[],
    counts: readonly RefusedCount[],
  ) => Promise<void>;
}

const MINUTE_MS = 60_000;
const QUEUE_ROWS_MAX = 20_000;
const COUNTS_MAX = 20_000;
const GATHER_MS = 20;
/** Numbers are in less of a hurry than records, which a customer may look up at once. */
const GATHER_COUNTS_MS = 500;
const RETRY_MS = 1_000;

/**
 * Writes refused requests off the request's path. The first of each key and minute go one by one,
 * the others as a number. They hold no money: what no longer fits into the queue is lost.
 */
export class RefusedLane {
  readonly #options: RefusedLaneOptions;
  /** Requests of the newest minute that go one by one, by key and by organization. */
  readonly #listed = new Map<string, number>();
  #minuteMs = 0;
  #queue: RefusedRequest[] = [];
  /** By key and minute. */
  #counts = new Map<string, RefusedCount>();
  #lost = 0;
  #timer: NodeJS.Timeout | undefined;
  #countTimer: NodeJS.Timeout | undefined;
  #sending: Promise<void> = Promise.resolve();

  constructor(options: RefusedLaneOptions) {
    this.#options = options;
  }

  submit(request: RefusedRequest): void {
    const minuteMs = Math.floor(request.createdAtMs / MINUTE_MS) * MINUTE_MS;
    if (!this.#isListed(request, minuteMs)) {
      const { orgId, keyId } = request;
      this.#count({ orgId, keyId, minuteMs, requests: 1 });
      this.#countTimer ??= setTimeout(() => this.#start(), GATHER_COUNTS_MS).unref();
      return;
    }
    if (this.#queue.length >= QUEUE_ROWS_MAX) {
      this.#lost += 1;
      return;
    }
    this.#queue.push(request);
    this.#timer ??= setTimeout(() => this.#start(), GATHER_MS).unref();
  }

  /** Writes what is queued, once. */
  async drained(): Promise<void> {
    this.#start();
    await this.#sending;
  }

  #isListed({ orgId, keyId }: RefusedRequest, minuteMs: number): boolean {
    if (minuteMs !== this.#minuteMs) {
      this.#minuteMs = minuteMs;
      this.#listed.clear();
    }
    const [ofKey, ofOrg] = [`key ${keyId}`, `org ${orgId}`];
    const byKey = this.#listed.get(ofKey) ?? 0;
    const byOrg = this.#listed.get(ofOrg) ?? 0;
    if (byKey >= REFUSED_ROWS_PER_MINUTE || byOrg >= REFUSED_ROWS_PER_MINUTE_PER_ORG) return false;
    this.#listed.set(ofKey, byKey + 1).set(ofOrg, byOrg + 1);
    return true;
  }

  #count(count: RefusedCount): void {
    const name = `${count.keyId} ${count.minuteMs}`;
    const known = this.#counts.get(name);
    if (known === undefined && this.#counts.size >= COUNTS_MAX) this.#lost += count.requests;
    else {
      this.#counts.set(name, { ...count, requests: count.requests + (known?.requests ?? 0) });
    }
  }

  #start(): void {
    clearTimeout(this.#timer);
    clearTimeout(this.#countTimer);
    this.#timer = undefined;
    this.#countTimer = undefined;
    this.#sending = this.#sending.then(() => this.#flush());
  }

  async #flush(): Promise<void> {
    while (this.#queue.length > 0 || this.#counts.size > 0) {
      const batch = this.#queue.slice(0, LEDGER_BATCH_ROWS_MAX);
      const counts = this.#takeCounts();
      try {
        await this.#options.send(batch, counts);
      } catch (error) {
        for (const count of counts) this.#count(count);
        this.#options.log.warn({ err: error, lost: this.#lost }, "refused requests not recorded");
        this.#timer ??= setTimeout(() => this.#start(), RETRY_MS).unref();
        return;
      }
      this.#queue.splice(0, batch.length);
    }
  }

  #takeCounts(): readonly RefusedCount[] {
    const taken: RefusedCount[] = [];
    for (const [name, count] of this.#counts) {
      if (taken.length === LEDGER_BATCH_ROWS_MAX) break;
      this.#counts.delete(name);
      taken.push(count);
    }
    return taken;
  }
}
