import {
  type Clock,
  LEDGER_BATCH_ROWS_MAX,
  type Logger,
  microUsd,
  SETTLE_WAIT_MS,
} from "../kernel/index.ts";
import { BatchFault, type CloseVerdict } from "./ledger-batch-store.ts";
import type { CloseOutcome, CloseRow } from "./ledger-store.ts";

export interface LateClosingsOptions {
  readonly clock: Clock;
  readonly log: Logger;
  readonly send: (rows: readonly CloseRow[]) => Promise<readonly CloseVerdict[]>;
}

const SWEEP_MS = 100;
const RETRY_FIRST_MS = 50;
const RETRY_MAX_MS = 250;
/** Closings that break a constraint are retried forever: if dropped, their holds would remain. */
const REJECTED_RETRY_MS = 30_000;

/**
 * Takes closings that `LedgerLane` could not commit or whose attempt was not open, and retries each
 * until it has committed. Sends them without holds, and with longer time limits than `LedgerLane`.
 */
export class LateClosings {
  readonly #options: LateClosingsOptions;
  #queue: Closing[] = [];
  #sent: readonly Closing[] = [];
  /** Closings that break a constraint. They wait `REJECTED_RETRY_MS` before they are sent again. */
  readonly #aside: Set<Closing> = new Set();
  #isInTrouble = false;
  #isScheduled = false;
  #isSending = false;
  #retryMs = RETRY_FIRST_MS;
  #isSweeping = false;
  #isAbandoned = false;
  #idle: (() => void)[] = [];

  constructor(options: LateClosingsOptions) {
    this.#options = options;
  }

  add(closings: readonly Closing[]): void {
    if (closings.length === 0) return;
    this.#isInTrouble = true;
    this.#queue.push(...closings);
    this.#schedule(0);
  }

  /** Adds a closing that was never sent. Unlike `add`, this leaves `isInTrouble` unchanged. */
  join(closing: Closing): void {
    this.#queue.push(closing);
    this.#schedule(0);
  }

  /** Resends closings that broke a constraint. Resolves when all other closings have committed. */
  drained(): Promise<void> {
    for (const closing of this.#aside) this.#takeBack(closing);
    if (!this.#isSending && this.#queue.length === 0) return Promise.resolve();
    return new Promise((resolve) => this.#idle.push(resolve));
  }

  /** Ends the retries: once this instance is dead, recovery closes what is still open. */
  abandon(): void {
    this.#isAbandoned = true;
  }

  /** True from `add` to the next batch whose closings all committed or were set aside. */
  get isInTrouble(): boolean {
    return this.#isInTrouble;
  }

  get size(): number {
    return this.#queue.length + this.#sent.length + this.#aside.size;
  }

  get queuedRows(): number {
    return this.#queue.length + this.#aside.size;
  }

  get oldestClosing(): Closing | undefined {
    return findOldest([...this.#aside, ...this.#sent, ...this.#queue]);
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
    this.#sent = batch;
    if (!this.#isSweeping) this.#sweepLater();
    const failed = await this.#send(batch);
    this.#sent = [];
    this.#isSending = false;
    if (failed.length > 0) {
      this.#queue = [...failed, ...this.#queue];
      this.#schedule(this.#retryMs);
      this.#retryMs = Math.min(this.#retryMs * 2, RETRY_MAX_MS);
      return;
    }
    this.#retryMs = RETRY_FIRST_MS;
    this.#isInTrouble = false;
    if (this.#queue.length > 0) return this.#schedule(0);
    for (const resolve of this.#idle.splice(0)) resolve();
  }

  async #send(batch: readonly Closing[]): Promise<readonly Closing[]> {
    try {
      const verdicts = await this.#options.send(batch.map((closing) => closing.row));
      batch.forEach((closing, i) => {
        const verdict = verdicts[i];
        if (verdict === undefined) answerOnce(closing, { kind: "pending" });
        else answerVerdict(closing, verdict);
      });
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
      for (const closing of batch) this.#park(closing);
      return [];
    }
  }

  #park(closing: Closing): void {
    answerOnce(closing, { kind: "pending" });
    this.#aside.add(closing);
    setTimeout(() => this.#takeBack(closing), REJECTED_RETRY_MS).unref();
  }

  #takeBack(closing: Closing): void {
    if (!this.#aside.delete(closing)) return;
    this.#queue.push(closing);
    this.#schedule(0);
  }

  #answerPending(): void {
    this.#isSweeping = false;
    const nowMs = this.#options.clock.monotonicMs();
    answerOverdue(this.#sent, nowMs);
    answerOverdue(this.#queue, nowMs);
    if (this.size > this.#aside.size) this.#sweepLater();
  }

  #sweepLater(): void {
    this.#isSweeping = true;
    setTimeout(() => this.#answerPending(), SWEEP_MS).unref();
  }
}

export interface Closing {
  readonly row: CloseRow;
  readonly queuedAtMs: number;
  /** Answers the caller; undefined once called. The closing itself is kept until it commits. */
  answer: ((outcome: CloseOutcome) => void) | undefined;
}

export function findOldest(closings: readonly (Closing | undefined)[]): Closing | undefined {
  let oldest: Closing | undefined;
  for (const closing of closings) {
    if (closing !== undefined && closing.queuedAtMs < (oldest?.queuedAtMs ?? Infinity)) {
      oldest = closing;
    }
  }
  return oldest;
}

function answerOnce(closing: Closing, outcome: CloseOutcome): void {
  closing.answer?.(outcome);
  closing.answer = undefined;
}

export function answerVerdict(closing: Closing, verdict: CloseVerdict): void {
  answerOnce(closing, toCloseOutcome(verdict));
}

export function answerOverdue(closings: readonly Closing[], nowMs: number): void {
  for (const closing of closings) {
    if (closing.queuedAtMs <= nowMs - SETTLE_WAIT_MS) answerOnce(closing, { kind: "pending" });
  }
}

function toCloseOutcome(verdict: CloseVerdict): CloseOutcome {
  const debitMicroUsd = microUsd(verdict.debitMicroUsd);
  return verdict.kind === "closed" || verdict.kind === "corrected"
    ? { kind: "closed", debitMicroUsd, overrun: verdict.overrunMicroUsd > 0n }
    : { kind: "already_closed", debitMicroUsd };
}
