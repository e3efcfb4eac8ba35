import { assert, microUsd, type MicroUsd, ZERO_MICRO_USD } from "../../kernel/index.ts";
import type { UsageEvent } from "./abuse-monitor.ts";
import type { UseInWindow } from "./unusual-use.ts";

/** Parts of the window: one part is how much sooner than the whole window something may leave. */
const SLICES = 60;

/** One ended request, as far as it is counted. */
export interface CountedRequest extends Pick<UsageEvent, "outcome" | "debitMicroUsd"> {
  /** A digest of the client's network; undefined when it is not counted. */
  readonly clientMark: string | undefined;
}

interface Slice {
  readonly number: number;
  /** When the first request of the slice ended. */
  readonly sinceMs: number;
  served: number;
  failed: number;
  refused: number;
  debitMicroUsd: MicroUsd;
}

/**
 * What one organization did lately with one kind of request: everything of the last 59 sixtieths of
 * the window counts, and nothing that is older than the window. Small however much is done.
 */
export class WindowUse {
  readonly #windowMs: number;
  readonly #clientsMax: number;
  /** Oldest first; those in which nothing happened are not there. */
  readonly #slices: Slice[] = [];
  /** The slice in which each client was seen last, in the order of that. */
  readonly #clients = new Map<string, number>();
  #newest = 0;
  #lastMs = 0;

  /** `clientsMax`: so many different clients are distinguished at most. */
  constructor(windowMs: number, clientsMax: number) {
    assert(windowMs > 0, "a window is longer than nothing");
    this.#windowMs = windowMs;
    this.#clientsMax = clientsMax;
  }

  /** When the newest request ended. */
  get lastMs(): number {
    return this.#lastMs;
  }

  /** When the oldest request ended that still counts; undefined when none does. */
  get sinceMs(): number | undefined {
    return this.#slices[0]?.sinceMs;
  }

  /** Counts one request. A clock that steps back counts in the newest slice. */
  note(request: CountedRequest, nowMs: number): void {
    this.#advance(nowMs);
    const slice = this.#newestSlice(nowMs);
    slice[request.outcome] += 1;
    slice.debitMicroUsd = microUsd(slice.debitMicroUsd + request.debitMicroUsd);
    if (request.clientMark !== undefined) this.#see(request.clientMark);
  }

  /** What counts now. */
  inWindow(nowMs: number): UseInWindow {
    this.#advance(nowMs);
    let [servedRequests, failedRequests, refusedRequests] = [0, 0, 0];
    let debitMicroUsd = ZERO_MICRO_USD;
    for (const slice of this.#slices) {
      servedRequests += slice.served;
      failedRequests += slice.failed;
      refusedRequests += slice.refused;
      debitMicroUsd = microUsd(debitMicroUsd + slice.debitMicroUsd);
    }
    const clientAddresses = this.#clients.size;
    return { servedRequests, failedRequests, refusedRequests, clientAddresses, debitMicroUsd };
  }

  #advance(nowMs: number): void {
    this.#lastMs = Math.max(this.#lastMs, nowMs);
    this.#newest = Math.floor((this.#lastMs * SLICES) / this.#windowMs);
    const left = this.#newest - SLICES;
    while ((this.#slices[0]?.number ?? this.#newest) <= left) this.#slices.shift();
    for (const [mark, slice] of this.#clients) {
      if (slice > left) return;
      this.#clients.delete(mark);
    }
  }

  #newestSlice(nowMs: number): Slice {
    const last = this.#slices.at(-1);
    if (last?.number === this.#newest) return last;
    const slice: Slice = {
      number: this.#newest,
      sinceMs: nowMs,
      served: 0,
      failed: 0,
      refused: 0,
      debitMicroUsd: ZERO_MICRO_USD,
    };
    this.#slices.push(slice);
    return slice;
  }

  #see(mark: string): void {
    const isKnown = this.#clients.delete(mark);
    if (isKnown || this.#clients.size < this.#clientsMax) this.#clients.set(mark, this.#newest);
  }
}
