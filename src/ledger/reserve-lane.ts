import {
  type Clock,
  LEDGER_BATCH_ROWS_MAX,
  LEDGER_QUEUE_AGE_MS,
  LEDGER_QUEUE_ROWS_MAX,
  LEDGER_QUEUE_ROWS_PER_ORG_MAX,
} from "../core/index.ts";
import { BatchFault, type ReserveEntry } from "./ledger-batch-store.ts";
import type { ReserveOutcome } from "./ledger-store.ts";

interface Waiting {
  readonly entry: ReserveEntry;
  readonly answer: (outcome: ReserveOutcome) => void;
  readonly queuedAtMs: number;
}

export interface ReserveLaneOptions {
  readonly clock: Clock;
  readonly send: (entries: readonly ReserveEntry[]) => Promise<readonly ReserveOutcome[]>;
  /** These were not reserved, or it is unknown: their closings and their holds need care. */
  readonly onFault: (entries: readonly ReserveEntry[], fault: BatchFault) => void;
}

const SWEEP_MS = 50;

/**
 * Queues holds and sends them in natural batches: when idle, or as soon as the previous batch
 * returned. A row that cannot be sent in time is answered `unavailable` and never sent.
 */
export class ReserveLane {
  readonly #options: ReserveLaneOptions;
  #queue: Waiting[] = [];
  #isScheduled = false;
  #isSending = false;
  #isSweeping = false;
  #idle: (() => void)[] = [];

  constructor(options: ReserveLaneOptions) {
    this.#options = options;
  }

  submit(entry: ReserveEntry): Promise<ReserveOutcome> {
    if (this.#queue.length >= LEDGER_QUEUE_ROWS_PER_ORG_MAX && this.#isOverShare(entry)) {
      this.#options.onFault([entry], new BatchFault("busy", QUEUE_FULL, undefined));
      return Promise.resolve({ kind: "unavailable", reason: QUEUE_FULL });
    }
    return new Promise((answer) => {
      this.#queue.push({ entry, answer, queuedAtMs: this.#options.clock.monotonicMs() });
      this.#schedule();
    });
  }

  /** Resolves when nothing is queued and nothing is under way. */
  drained(): Promise<void> {
    if (!this.#isSending && this.#queue.length === 0) return Promise.resolve();
    return new Promise((resolve) => this.#idle.push(resolve));
  }

  /** One organization cannot fill the queue for all; counted only when it is long. */
  #isOverShare(entry: ReserveEntry): boolean {
    if (this.#queue.length >= LEDGER_QUEUE_ROWS_MAX) return true;
    const { orgId } = entry.row;
    let rows = 0;
    for (const waiting of this.#queue) if (waiting.entry.row.orgId === orgId) rows += 1;
    return rows >= LEDGER_QUEUE_ROWS_PER_ORG_MAX;
  }

  #schedule(): void {
    if (this.#isSending) {
      if (!this.#isSweeping) setTimeout(() => this.#refuseAged(), SWEEP_MS).unref();
      this.#isSweeping = true;
    } else if (!this.#isScheduled) {
      this.#isScheduled = true;
      // After the input of this event loop iteration has been read: what arrived together is sent
      // together.
      setImmediate(() => void this.#flush());
    }
  }

  async #flush(): Promise<void> {
    this.#isScheduled = false;
    this.#isSending = true;
    const batch = this.#queue.splice(0, LEDGER_BATCH_ROWS_MAX);
    await this.#send(batch);
    this.#isSending = false;
    if (this.#queue.length > 0) return this.#schedule();
    for (const resolve of this.#idle.splice(0)) resolve();
  }

  async #send(batch: readonly Waiting[]): Promise<void> {
    const entries = batch.map((waiting) => waiting.entry);
    try {
      const outcomes = await this.#options.send(entries);
      batch.forEach((waiting, i) => waiting.answer(outcomes[i] ?? LOST));
    } catch (error) {
      const fault =
        error instanceof BatchFault ? error : new BatchFault("ambiguous", String(error), error);
      if (fault.kind === "rejected" && batch.length > 1) {
        // One row that breaks a rule must not fail the others.
        const middle = batch.length >> 1;
        await this.#send(batch.slice(0, middle));
        return await this.#send(batch.slice(middle));
      }
      this.#options.onFault(entries, fault);
      for (const waiting of batch) {
        waiting.answer({
          kind: "unavailable",
          reason: `the journal did not answer (${fault.kind})`,
        });
      }
    }
  }

  #refuseAged(): void {
    this.#isSweeping = false;
    const oldestMs = this.#options.clock.monotonicMs() - LEDGER_QUEUE_AGE_MS;
    const fresh = this.#queue.findIndex((waiting) => waiting.queuedAtMs >= oldestMs);
    const aged = this.#queue.splice(0, fresh === -1 ? this.#queue.length : fresh);
    if (aged.length > 0) {
      const entries = aged.map((waiting) => waiting.entry);
      this.#options.onFault(entries, new BatchFault("busy", TOO_OLD, undefined));
    }
    for (const waiting of aged) waiting.answer({ kind: "unavailable", reason: TOO_OLD });
    if (this.#queue.length > 0) this.#schedule();
  }
}

const QUEUE_FULL = "the ledger's queue is full";
const TOO_OLD = "the ledger's queue is too slow";
const LOST: ReserveOutcome = { kind: "unavailable", reason: "the journal lost a row" };
