import {
  LEDGER_BATCH_ROWS_MAX,
  type KeyId,
  type Logger,
  type OrgId,
  REFUSED_ROWS_PER_MINUTE,
  REFUSED_ROWS_PER_MINUTE_PER_ORG,
} from "../kernel/index.ts";
import type { RefusedCount, RefusedRequest } from "./ledger-store.ts";

export interface RefusedLaneOptions {
  readonly log: Logger;
  readonly send: (
    requests: readonly RefusedRequest[],
    counts: readonly RefusedCount[],
  ) => Promise<void>;
}

/** Those of a key in one minute, which are still being counted. */
interface Counting extends RefusedCount {
  requests: number;
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
  /** Requests of the newest minute that go one by one. */
  readonly #listedOfKey = new Map<KeyId, number>();
  readonly #listedOfOrg = new Map<OrgId, number>();
  #minuteMs = 0;
  #queue: RefusedRequest[] = [];
  /** By minute and key. */
  readonly #counts = new Map<number, Map<KeyId, Counting>>();
  #countsSize = 0;
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

  get queuedRows(): number {
    return this.#queue.length + this.#countsSize;
  }

  /** Writes what is queued, once. */
  async drained(): Promise<void> {
    this.#start();
    await this.#sending;
  }

  #isListed({ orgId, keyId }: RefusedRequest, minuteMs: number): boolean {
    if (minuteMs !== this.#minuteMs) {
      this.#minuteMs = minuteMs;
      this.#listedOfKey.clear();
      this.#listedOfOrg.clear();
    }
    const byKey = this.#listedOfKey.get(keyId) ?? 0;
    const byOrg = this.#listedOfOrg.get(orgId) ?? 0;
    if (byKey >= REFUSED_ROWS_PER_MINUTE || byOrg >= REFUSED_ROWS_PER_MINUTE_PER_ORG) return false;
    this.#listedOfKey.set(keyId, byKey + 1);
    this.#listedOfOrg.set(orgId, byOrg + 1);
    return true;
  }

  /* Above their rows this is done for each refused request: no name is made of key and minute. */
  #count(count: RefusedCount): void {
    const known = this.#counts.get(count.minuteMs)?.get(count.keyId);
    if (known !== undefined) known.requests += count.requests;
    else if (this.#countsSize >= COUNTS_MAX) this.#lost += count.requests;
    else this.#beginCounting(count);
  }

  #beginCounting(count: RefusedCount): void {
    const { minuteMs, keyId } = count;
    const ofMinute = this.#counts.get(minuteMs) ?? new Map<KeyId, Counting>();
    this.#counts.set(minuteMs, ofMinute.set(keyId, { ...count }));
    this.#countsSize += 1;
  }

  #start(): void {
    clearTimeout(this.#timer);
    clearTimeout(this.#countTimer);
    this.#timer = undefined;
    this.#countTimer = undefined;
    this.#sending = this.#sending.then(() => this.#flush());
  }

  async #flush(): Promise<void> {
    while (this.#queue.length > 0 || this.#countsSize > 0) {
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
    for (const [minuteMs, ofMinute] of this.#counts) {
      for (const [keyId, count] of ofMinute) {
        if (taken.length === LEDGER_BATCH_ROWS_MAX) return taken;
        ofMinute.delete(keyId);
        this.#countsSize -= 1;
        taken.push(count);
      }
      this.#counts.delete(minuteMs);
    }
    return taken;
  }
}
