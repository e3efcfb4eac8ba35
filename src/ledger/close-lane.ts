import {
  type Clock,
  LEDGER_BATCH_ROWS_MAX,
  type Logger,
  microUsd,
  SETTLE_WAIT_MS,
} from "../core/index.ts";
import { BatchFault, type CloseVerdict } from "./ledger-batch-store.ts";
import type { CloseOutcome, CloseRow } from "./ledger-store.ts";

interface Waiting {
  readonly row: CloseRow;
  /** Undefined once answered: the row itself stays until it commits. */
  answer: ((outcome: CloseOutcome) => void) | undefined;
  readonly queuedAtMs: number;
}

export interface CloseLaneOptions {
  readonly clock: Clock;
  readonly log: Logger;
  readonly send: (rows: readonly CloseRow[]) => Promise<readonly CloseVerdict[]>;
}

const SWEEP_MS = 100;
const RETRY_FIRST_MS = 50;
const RETRY_MAX_MS = 250;
/** A row that breaks a rule of the books is kept, so that its hold is not forgotten. */
const REJECTED_RETRY_MS = 30_000;

/** Queues closings and sends them in natural batches until every one has committed. */
export class CloseLane {
  readonly #options: CloseLaneOptions;
  #queue: Waiting[] = [];
  #unanswered: Waiting[] = [];
  /** They break a rule of the books: tried again, but not with every batch. */
  readonly #aside: Set<Waiting> = new Set();
  #isScheduled = false;
  #isSending = false;
  #retryMs = RETRY_FIRST_MS;
  #isSweeping = false;
  #isAbandoned = false;
  #idle: (() => void)[] = [];

  constructor(options: CloseLaneOptions) {
    this.#options = options;
  }

  /** Resolves with the committed outcome, or with `pending` after `SETTLE_WAIT_MS`. */
  submit(row: CloseRow): Promise<CloseOutcome> {
    return new Promise((answer) => {
      this.#queue.push({ row, answer, queuedAtMs: this.#options.clock.monotonicMs() });
      this.#schedule(0);
    });
  }

  /** Resolves when every closing has committed, but for what the books reject to the last. */
  drained(): Promise<void> {
    for (const waiting of this.#aside) this.#takeBack(waiting);
    if (!this.#isSending && this.#queue.length === 0) return Promise.resolve();
    return new Promise((resolve) => this.#idle.push(resolve));
  }

  /** Ends the retries: what has not committed is left to recovery. */
  abandon(): void {
    this.#isAbandoned = true;
  }

  get size(): number {
    return this.#queue.length + this.#unanswered.length + this.#aside.size;
  }

  #schedule(delayMs: number): void {
    if (this.#isSending || this.#isScheduled || this.#isAbandoned) return;
    this.#isScheduled = true;
    const flush = (): void => void this.#flush();
    if (delayMs > 0) setTimeout(flush, delayMs);
    else setImmediate(flush);
  }

  async #flush(): Promise<void> {
    this.#isScheduled = false;
    this.#isSending = true;
    const batch = this.#queue.splice(0, LEDGER_BATCH_ROWS_MAX);
    this.#unanswered = batch;
    if (!this.#isSweeping) this.#sweepLater();
    const failed = await this.#send(batch);
    this.#unanswered = [];
    this.#isSending = false;
    if (failed.length > 0) {
      this.#queue = [...failed, ...this.#queue];
      this.#schedule(this.#retryMs);
      this.#retryMs = Math.min(this.#retryMs * 2, RETRY_MAX_MS);
      return;
    }
    this.#retryMs = RETRY_FIRST_MS;
    if (this.#queue.length > 0) return this.#schedule(0);
    for (const resolve of this.#idle.splice(0)) resolve();
  }

  /** Returns the rows that have to be sent again. */
  async #send(batch: readonly Waiting[]): Promise<readonly Waiting[]> {
    try {
      const verdicts = await this.#options.send(batch.map((waiting) => waiting.row));
      batch.forEach((waiting, i) => answerOnce(waiting, outcomeOf(verdicts[i])));
      return [];
    } catch (error) {
      const isRejected = error instanceof BatchFault && error.kind === "rejected";
      if (isRejected && batch.length > 1) {
        const middle = batch.length >> 1;
        const first = await this.#send(batch.slice(0, middle));
        return [...first, ...(await this.#send(batch.slice(middle)))];
      }
      this.#options.log.error(
        { err: error, rows: batch.length, attemptId: String(batch[0]?.row.attemptId) },
        "closings did not commit; they are kept and retried",
      );
      if (!isRejected) return batch;
      for (const waiting of batch) this.#park(waiting);
      return [];
    }
  }

  #park(waiting: Waiting): void {
    answerOnce(waiting, { kind: "pending" });
    this.#aside.add(waiting);
    setTimeout(() => this.#takeBack(waiting), REJECTED_RETRY_MS).unref();
  }

  #takeBack(waiting: Waiting): void {
    if (!this.#aside.delete(waiting)) return;
    this.#queue.push(waiting);
    this.#schedule(0);
  }

  #answerPending(): void {
    this.#isSweeping = false;
    const oldestMs = this.#options.clock.monotonicMs() - SETTLE_WAIT_MS;
    for (const waiting of [...this.#unanswered, ...this.#queue]) {
      if (waiting.queuedAtMs <= oldestMs) answerOnce(waiting, { kind: "pending" });
    }
    if (this.size > this.#aside.size) this.#sweepLater();
  }

  #sweepLater(): void {
    this.#isSweeping = true;
    setTimeout(() => this.#answerPending(), SWEEP_MS).unref();
  }
}

function answerOnce(waiting: Waiting, outcome: CloseOutcome): void {
  waiting.answer?.(outcome);
  waiting.answer = undefined;
}

function outcomeOf(verdict: CloseVerdict | undefined): CloseOutcome {
  if (verdict === undefined) return { kind: "pending" };
  const debitMicroUsd = microUsd(verdict.debitMicroUsd);
  return verdict.kind === "closed" || verdict.kind === "corrected"
    ? { kind: "closed", debitMicroUsd, overrun: verdict.overrunMicroUsd > 0n }
    : { kind: "already_closed", debitMicroUsd };
}
