import { setTimeout as sleep } from "node:timers/promises";
import { assert, type AttemptId } from "../kernel/index.ts";
import { type Closing, findOldest, LateClosings } from "./late-closings.ts";
import { InstanceLease, type LedgerOptions } from "./instance-lease.ts";
import type { BatchAnswer, BatchFault } from "./ledger-batch-store.ts";
import { LedgerLane } from "./ledger-lane.ts";
import type {
  CloseOutcome,
  CloseRow,
  Ledger,
  RefusedRequest,
  ReserveOutcome,
  ReserveRow,
} from "./ledger-store.ts";
import { LedgerCounts, type LedgerState } from "./ledger-counts.ts";
import { RefusedLane } from "./refused-lane.ts";

export interface OpenedLedger extends Ledger {
  /** `instanceName`, with a number if another living process has that name. */
  readonly instanceId: string;
  /** True while lost commits stop this instance, or once it has gone on despite such a loss. */
  readonly hasGoneBack: boolean;
}

const ANNUL_RETRY_MS = 500;
const SHUT_DOWN_WAIT_MS = 10_000;

/**
 * Adds this process to the ledger's instances, and closes the attempts that an earlier run of this
 * instance left open. While lost commits stop all instances, it only joins: `healthy` is false.
 */
export async function openLedger(options: LedgerOptions): Promise<OpenedLedger> {
  const lease = await InstanceLease.start(options);
  // Two empty batches open the connections and plan the statements before any customer waits.
  await options.store.runBatch({ member: lease.member, closings: [], holds: [] });
  await options.store.closeBatch([]);
  return new BatchedLedger(options, lease);
}

class BatchedLedger implements OpenedLedger {
  readonly #options: LedgerOptions;
  readonly #counts: LedgerCounts;
  readonly #lease: InstanceLease;
  readonly #lane: LedgerLane;
  readonly #late: LateClosings;
  readonly #refused: RefusedLane;
  readonly #annulments: Set<Promise<void>> = new Set();
  #isShutDown = false;
  #isEnded = false;

  constructor(options: LedgerOptions, lease: InstanceLease) {
    const { store, clock, log, counts = new LedgerCounts() } = options;
    this.#options = options;
    this.#counts = counts;
    this.#lease = lease;
    this.#lane = new LedgerLane({
      clock,
      send: (closings, holds) => {
        counts.add("batch", { hold: holds.length, closing: closings.length });
        const rows = holds.length + closings.length;
        return counts.timed({ lane: "reserve", rows, clock }, () =>
          this.#runBatch(closings, holds),
        );
      },
      onLate: (closings) => this.#late.add(closings),
      onRefused: (rows, fault) => this.#careFor(rows, fault),
    });
    this.#late = new LateClosings({
      clock,
      log,
      send: async (rows) => {
        counts.add("late", { late_closing: rows.length });
        const batch = { lane: "close" as const, rows: rows.length, clock };
        const verdicts = await counts.timed(batch, () => store.closeBatch(rows));
        counts.verdicts(verdicts);
        return verdicts;
      },
    });
    this.#refused = new RefusedLane({
      log,
      send: (rows, others) =>
        counts.timed({ lane: "refused", rows: rows.length + others.length, clock }, () =>
          store.recordRefusedBatch(rows, others),
        ),
    });
    counts.watch(() => this.#state());
  }

  get healthy(): boolean {
    return !this.#isShutDown && this.#lease.isHeld;
  }

  get instanceId(): string {
    return this.#lease.member.instanceId;
  }

  get hasGoneBack(): boolean {
    return this.#lease.hasGoneBack;
  }

  newAttemptId(): AttemptId {
    return this.#lease.newAttemptId();
  }

  reserve(row: ReserveRow): Promise<ReserveOutcome> {
    assert(row.reserveMicroUsd >= 0n, "a reserve is not negative");
    if (!this.healthy) return Promise.resolve(NO_LEASE);
    return this.#lane.reserve(row, null);
  }

  async roll(close: CloseRow, next: ReserveRow): Promise<ReserveOutcome> {
    assert(close.attemptId !== next.attemptId, "an attempt is not rolled into itself");
    const closing = this.#toClosing(close, undefined);
    if (this.healthy) return await this.#lane.reserve(next, closing);
    this.#close(closing);
    return NO_LEASE;
  }

  close(row: CloseRow): Promise<CloseOutcome> {
    return new Promise((answer) => this.#close(this.#toClosing(row, answer)));
  }

  recordRefused(request: RefusedRequest): void {
    this.#refused.submit(request);
  }

  async shutDown(): Promise<void> {
    this.#isShutDown = true;
    await this.#lane.drained();
    const isDrained = await Promise.race([
      Promise.all([this.#late.drained(), ...this.#annulments]).then(() => true),
      sleep(SHUT_DOWN_WAIT_MS, false, { ref: false }),
    ]);
    if (!isDrained || this.#late.size > 0) {
      const detail = { closings: this.#late.size, annulments: this.#annulments.size };
      this.#late.abandon();
      this.#options.log.error(detail, "shut down with open closings; recovery will close them");
    }
    await this.#refused.drained();
    await this.#lease.end();
    this.#isEnded = true;
  }

  #toClosing(row: CloseRow, answer: Closing["answer"]): Closing {
    return { row, answer, queuedAtMs: this.#options.clock.monotonicMs() };
  }

  /**
   * Queues a closing together with the holds. During shutdown, and while late closings fail to
   * commit, queues it with the late closings instead: if it waited among the holds for one
   * organization's locked wallet, it would delay the holds of all organizations.
   */
  #close(closing: Closing): void {
    if (this.#isShutDown || this.#late.isInTrouble) this.#late.join(closing);
    else this.#lane.close(closing);
  }

  /**
   * Runs a batch. If the process slept past its lease meanwhile, annuls and refuses the holds that
   * the batch reserved, even if the instance has joined again: another instance may have closed
   * them.
   */
  async #runBatch(
    closings: readonly CloseRow[],
    holds: readonly ReserveRow[],
  ): Promise<BatchAnswer> {
    const { member } = this.#lease;
    const { verdicts, outcomes } = await this.#options.store.runBatch({ member, closings, holds });
    this.#counts.verdicts(verdicts);
    if (this.#lease.isHeld && this.#lease.member === member) {
      const last = holds.findLast((_, i) => outcomes[i]?.kind === "reserved");
      if (last !== undefined) this.#lease.noteCommitted(last.attemptId);
      return { verdicts, outcomes };
    }
    const lost = holds.filter((_, i) => outcomes[i]?.kind === "reserved");
    if (lost.length > 0) this.#startAnnulment(lost);
    const unsent = outcomes.map((outcome) => (outcome.kind === "reserved" ? NO_LEASE : outcome));
    return { verdicts, outcomes: unsent };
  }

  #state(): LedgerState {
    const lane = this.#lane;
    const late = this.#late;
    return {
      queueRows: {
        reserve: lane.queuedRows,
        close: late.queuedRows,
        refused: this.#refused.queuedRows,
      },
      closingsPending: lane.closings + late.size,
      oldestClosingMs: findOldest([lane.oldestClosing, late.oldestClosing])?.queuedAtMs,
      leaseMs: this.#isShutDown ? 0 : this.#lease.leftMs,
    };
  }

  /** Logs refused holds, and annuls them if they may have committed. */
  #careFor(rows: readonly ReserveRow[], fault: BatchFault): void {
    const detail = { err: fault, rows: rows.length };
    this.#counts.fault("reserve", fault);
    if (fault.kind === "rejected") this.#options.log.error(detail, "a reserve breaks a rule");
    else this.#options.log.warn(detail, "reserves were refused: the journal did not answer");
    if (fault.kind === "ambiguous") this.#startAnnulment(rows);
  }

  #startAnnulment(rows: readonly ReserveRow[]): void {
    const annulment = this.#annul(rows);
    this.#annulments.add(annulment);
    void annulment.then(() => this.#annulments.delete(annulment));
  }

  async #annul(rows: readonly ReserveRow[]): Promise<void> {
    while (!this.#isEnded) {
      try {
        await this.#options.store.annul(rows);
        this.#counts.annulled += rows.length;
        break;
      } catch (error) {
        this.#options.log.warn(
          { err: error, rows: rows.length },
          "holds could not be annulled; this will be retried",
        );
        await sleep(ANNUL_RETRY_MS, undefined, { ref: false });
      }
    }
  }
}

const NO_LEASE: ReserveOutcome = { kind: "unavailable", reason: "this instance holds no lease" };
