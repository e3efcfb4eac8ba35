import { setTimeout as sleep } from "node:timers/promises";
import { assert, type AttemptId, type Clock, type Logger } from "../core/index.ts";
import { CloseLane } from "./close-lane.ts";
import { InstanceLease } from "./instance-lease.ts";
import type { BatchFault, LedgerBatchStore, ReserveEntry } from "./ledger-batch-store.ts";
import type {
  CloseOutcome,
  CloseRow,
  Ledger,
  RefusedRequest,
  ReserveOutcome,
  ReserveRow,
} from "./ledger-store.ts";
import type { LedgerCounts } from "./ledger-counts.ts";
import { RefusedLane } from "./refused-lane.ts";
import { ReserveLane } from "./reserve-lane.ts";

export interface OpenLedgerOptions {
  readonly store: LedgerBatchStore;
  readonly clock: Clock;
  readonly log: Logger;
  /** Stable over restarts of one instance, different between instances. */
  readonly instanceName: string;
  /** What its lanes send is added here, for who shows it. */
  readonly counts?: LedgerCounts;
}

const ANNUL_RETRY_MS = 500;
const SHUT_DOWN_WAIT_MS = 10_000;

/**
 * Joins the instances of this ledger and answers when it may take traffic: the attempts an earlier
 * life of this instance left open are closed by then.
 */
export async function openLedger(options: OpenLedgerOptions): Promise<Ledger> {
  const lease = await InstanceLease.start(options);
  // The first batch opens the connection and plans the statement: not on a customer's time.
  await options.store.reserveBatch(lease.member, []);
  await options.store.closeBatch([]);
  return new BatchedLedger(options, lease);
}

class BatchedLedger implements Ledger {
  readonly #options: OpenLedgerOptions;
  readonly #lease: InstanceLease;
  readonly #reserves: ReserveLane;
  readonly #closings: CloseLane;
  readonly #refused: RefusedLane;
  readonly #annulments: Set<Promise<void>> = new Set();
  #isShutDown = false;
  #isEnded = false;

  constructor(options: OpenLedgerOptions, lease: InstanceLease) {
    const { store, clock, log, counts } = options;
    this.#options = options;
    this.#lease = lease;
    this.#reserves = new ReserveLane({
      clock,
      send: (entries) => {
        counts?.add("reserve", entries.length);
        return this.#reserveBatch(entries);
      },
      onFault: (entries, fault) => this.#careFor(entries, fault),
    });
    this.#closings = new CloseLane({
      clock,
      log,
      send: (rows) => {
        counts?.add("close", rows.length);
        return store.closeBatch(rows);
      },
    });
    this.#refused = new RefusedLane({
      log,
      send: (rows, others) => store.recordRefusedBatch(rows, others),
    });
  }

  get healthy(): boolean {
    return !this.#isShutDown && this.#lease.isHeld;
  }

  newAttemptId(): AttemptId {
    return this.#lease.newAttemptId();
  }

  reserve(row: ReserveRow): Promise<ReserveOutcome> {
    assert(row.reserveMicroUsd >= 0n, "a reserve is not negative");
    if (!this.healthy) return Promise.resolve(NO_LEASE);
    return this.#reserves.submit({ row, close: null });
  }

  async roll(close: CloseRow, next: ReserveRow): Promise<ReserveOutcome> {
    assert(close.attemptId !== next.attemptId, "an attempt is not rolled into itself");
    if (this.healthy) return await this.#reserves.submit({ row: next, close });
    void this.#closings.submit(close);
    return NO_LEASE;
  }

  close(row: CloseRow): Promise<CloseOutcome> {
    return this.#closings.submit(row);
  }

  recordRefused(request: RefusedRequest): void {
    this.#refused.submit(request);
  }

  async shutDown(): Promise<void> {
    this.#isShutDown = true;
    await this.#reserves.drained();
    const isDrained = await Promise.race([
      Promise.all([this.#closings.drained(), ...this.#annulments]).then(() => true),
      sleep(SHUT_DOWN_WAIT_MS, false, { ref: false }),
    ]);
    if (!isDrained || this.#closings.size > 0) {
      const detail = { closings: this.#closings.size, annulments: this.#annulments.size };
      this.#closings.abandon();
      this.#options.log.error(detail, "shut down with open closings; recovery will close them");
    }
    await this.#refused.drained();
    await this.#lease.end();
    this.#isEnded = true;
  }

  /**
   * A process that slept past its lease while the journal answered must not send, not even after it
   * has joined again: a peer may have closed these attempts by now.
   */
  async #reserveBatch(entries: readonly ReserveEntry[]): Promise<readonly ReserveOutcome[]> {
    const { member } = this.#lease;
    const outcomes = await this.#options.store.reserveBatch(member, entries);
    if (this.#lease.isHeld && this.#lease.member === member) return outcomes;
    const lost = entries.filter((_, i) => outcomes[i]?.kind === "reserved").map(({ row }) => row);
    if (lost.length > 0) this.#startAnnulment(lost);
    return outcomes.map((outcome) => (outcome.kind === "reserved" ? NO_LEASE : outcome));
  }

  /** What a failed batch leaves behind: closings of rolls, and holds that may have committed. */
  #careFor(entries: readonly ReserveEntry[], fault: BatchFault): void {
    const detail = { err: fault, rows: entries.length };
    if (fault.kind === "rejected") this.#options.log.error(detail, "a reserve breaks a rule");
    else this.#options.log.warn(detail, "reserves were refused: the journal did not answer");
    for (const { close } of entries) if (close !== null) void this.#closings.submit(close);
    if (fault.kind === "ambiguous") this.#startAnnulment(entries.map((entry) => entry.row));
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
