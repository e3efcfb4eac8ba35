import {
  type Clock,
  LEDGER_BATCH_ROWS_MAX,
  LEDGER_QUEUE_AGE_MS,
  LEDGER_QUEUE_ROWS_MAX,
  LEDGER_QUEUE_ROWS_PER_ORG_MAX,
} from "../kernel/index.ts";
import { answerOverdue, answerVerdict, type Closing, findOldest } from "./late-closings.ts";
import { BatchFault, type BatchAnswer } from "./ledger-batch-store.ts";
import type { CloseRow, ReserveOutcome, ReserveRow } from "./ledger-store.ts";

interface Waiting {
  readonly row: ReserveRow;
  /** The closing of the request's previous attempt, committed together with this hold, or null. */
  readonly rolled: Closing | null;
  readonly answer: (outcome: ReserveOutcome) => void;
  readonly queuedAtMs: number;
}

export interface LedgerLaneOptions {
  readonly clock: Clock;
  readonly send: (
    closings: readonly CloseRow[],
    holds: readonly ReserveRow[],
  ) => Promise<BatchAnswer>;
  /** Takes closings that did not commit, or whose attempt was not open, to be sent again. */
  readonly onLate: (closings: readonly Closing[]) => void;
  /** Called with holds that were not sent (the queue was full or slow), or whose batch failed. */
  readonly onRefused: (rows: readonly ReserveRow[], fault: BatchFault) => void;
}

const SWEEP_MS = 50;

/**
 * Queues holds and closings and sends both in batches: at once if idle, else as soon as the
 * previous batch has returned. A hold that cannot be sent in time gets the answer `unavailable` and
 * is never sent. A closing that does not commit with its batch is passed to `onLate`.
 */
export class LedgerLane {
  readonly #options: LedgerLaneOptions;
  #holds: Waiting[] = [];
  #closings: Closing[] = [];
  #sentClosings: readonly Closing[] = [];
  #isScheduled = false;
  #isSending = false;
  #isSweeping = false;
  #idle: (() => void)[] = [];

  constructor(options: LedgerLaneOptions) {
    this.#options = options;
  }

  reserve(row: ReserveRow, rolled: Closing | null): Promise<ReserveOutcome> {
    if (this.#holds.length >= LEDGER_QUEUE_ROWS_PER_ORG_MAX && this.#isOverShare(row)) {
      this.#options.onRefused([row], new BatchFault("busy", QUEUE_FULL, undefined));
      if (rolled !== null) this.close(rolled);
      return Promise.resolve({ kind: "unavailable", reason: QUEUE_FULL });
    }
    return new Promise((answer) => {
      const queuedAtMs = this.#options.clock.monotonicMs();
      this.#holds.push({ row, rolled, answer, queuedAtMs });
      this.#schedule();
    });
  }

  close(closing: Closing): void {
    this.#closings.push(closing);
    this.#schedule();
  }

  drained(): Promise<void> {
    if (!this.#isSending && this.#isEmpty) return Promise.resolve();
    return new Promise((resolve) => this.#idle.push(resolve));
  }

  get queuedRows(): number {
    return this.#holds.length + this.#closings.length;
  }

  get closings(): number {
    return this.#closings.length + this.#sentClosings.length + countRolled(this.#holds);
  }

  get oldestClosing(): Closing | undefined {
    const rolled = this.#holds.find((waiting) => waiting.rolled !== null)?.rolled;
    return findOldest([this.#sentClosings[0], this.#closings[0], rolled ?? undefined]);
  }

  get #isEmpty(): boolean {
    return this.#holds.length === 0 && this.#closings.length === 0;
  }

  /** True if the queue is full, or full for this organization. Loops over the whole queue. */
  #isOverShare({ orgId }: ReserveRow): boolean {
    if (this.#holds.length >= LEDGER_QUEUE_ROWS_MAX) return true;
    let rows = 0;
    for (const waiting of this.#holds) if (waiting.row.orgId === orgId) rows += 1;
    return rows >= LEDGER_QUEUE_ROWS_PER_ORG_MAX;
  }

  #schedule(): void {
    if (this.#isSending || this.#isScheduled) return;
    this.#isScheduled = true;
    // `#flush` runs after all input that has arrived is handled, so concurrent rows share a batch.
    setImmediate(() => void this.#flush());
  }

  async #flush(): Promise<void> {
    this.#isScheduled = false;
    this.#isSending = true;
    if (!this.#isSweeping) this.#sweepLater();
    const holds = this.#holds.splice(0, LEDGER_BATCH_ROWS_MAX);
    const single = this.#closings.splice(0, LEDGER_BATCH_ROWS_MAX - countRolled(holds));
    await this.#send(single, holds);
    this.#isSending = false;
    if (!this.#isEmpty) return this.#schedule();
    for (const resolve of this.#idle.splice(0)) resolve();
  }

  async #send(single: readonly Closing[], holds: readonly Waiting[]): Promise<void> {
    const closings = [...single, ...holds.flatMap(({ rolled }) => rolled ?? [])];
    this.#sentClosings = closings;
    const rows = closings.length + holds.length;
    const sent = { nowMs: this.#options.clock.monotonicMs(), rows };
    for (const closing of closings) noteLane(closing, sent);
    for (const hold of holds) noteLane(hold, sent);
    try {
      const answer = await this.#options.send(
        closings.map(({ row }) => row),
        holds.map(({ row }) => row),
      );
      this.#answerClosings(closings, answer);
      holds.forEach((waiting, i) => waiting.answer(answer.outcomes[i] ?? LOST));
    } catch (error) {
      const fault =
        error instanceof BatchFault ? error : new BatchFault("ambiguous", String(error), error);
      if (fault.kind === "rejected" && single.length + holds.length > 1) {
        this.#options.onLate(single);
        return await this.#sendApart(holds);
      }
      this.#options.onLate(closings);
      this.#refuse(holds, fault, `the journal did not answer (${fault.kind})`);
    } finally {
      this.#sentClosings = [];
    }
  }

  /** Sends the holds of a rejected batch again in halves, so that one bad row fails no other. */
  async #sendApart(holds: readonly Waiting[]): Promise<void> {
    const middle = (holds.length + 1) >> 1;
    for (const half of [holds.slice(0, middle), holds.slice(middle)]) {
      if (half.length > 0) await this.#send([], half);
    }
  }

  #answerClosings(closings: readonly Closing[], { verdicts }: BatchAnswer): void {
    const late: Closing[] = [];
    closings.forEach((closing, i) => {
      const verdict = verdicts[i];
      if (verdict === undefined) late.push(closing);
      else answerVerdict(closing, verdict);
    });
    this.#options.onLate(late);
  }

  #refuse(holds: readonly Waiting[], fault: BatchFault, reason: string): void {
    if (holds.length === 0) return;
    const rows = holds.map(({ row }) => row);
    this.#options.onRefused(rows, fault);
    for (const { answer } of holds) answer({ kind: "unavailable", reason });
  }

  #sweepLater(): void {
    this.#isSweeping = true;
    setTimeout(() => this.#sweep(), SWEEP_MS).unref();
  }

  #sweep(): void {
    this.#isSweeping = false;
    const nowMs = this.#options.clock.monotonicMs();
    this.#refuseAged(nowMs - LEDGER_QUEUE_AGE_MS);
    answerOverdue(this.#sentClosings, nowMs);
    answerOverdue(this.#closings, nowMs);
    if (this.#isSending || !this.#isEmpty) this.#sweepLater();
  }

  #refuseAged(oldestMs: number): void {
    const fresh = this.#holds.findIndex((waiting) => waiting.queuedAtMs >= oldestMs);
    const aged = this.#holds.splice(0, fresh === -1 ? this.#holds.length : fresh);
    if (aged.length === 0) return;
    for (const { rolled } of aged) if (rolled !== null) this.close(rolled);
    this.#refuse(aged, new BatchFault("busy", TOO_OLD, undefined), TOO_OLD);
  }
}

function countRolled(holds: readonly Waiting[]): number {
  return holds.reduce((sum, { rolled }) => (rolled === null ? sum : sum + 1), 0);
}

function noteLane(
  { row, queuedAtMs }: Closing | Waiting,
  sent: { readonly nowMs: number; readonly rows: number },
): void {
  if (row.lane === undefined) return;
  row.lane.waitMs = sent.nowMs - queuedAtMs;
  row.lane.batchRows = sent.rows;
}

const QUEUE_FULL = "the ledger's queue is full";
const TOO_OLD = "the ledger's queue is too slow";
const LOST: ReserveOutcome = { kind: "unavailable", reason: "the journal lost a row" };
