import { unreachable } from "../../src/kernel/core/assert.ts";
import { PARTITION_DAYS_AHEAD } from "../../src/kernel/core/constants.ts";
import type { AttemptId, RequestId } from "../../src/kernel/core/ids.ts";
import { microUsd } from "../../src/kernel/core/money.ts";
import {
  type BatchAnswer,
  BatchFault,
  type CloseVerdict,
  type LedgerBatch,
  type Membership,
} from "../../src/ledger/ledger-batch-store.ts";
import type { ModelReserve, ModelReserveOutcome } from "../../src/ledger/ledger-model.ts";
import type { CloseRow, ReserveOutcome, ReserveRow } from "../../src/ledger/ledger-store.ts";
import { BooksModel, type ModelLine } from "../support/books-model.ts";

/** A process that calls the database, as the database sees it. */
export interface Caller {
  readonly host: string;
  /** True if the process has ended; a paused process is not dead. */
  readonly isDead: boolean;
  readonly diedAtMs: number;
}

interface InstanceRow {
  readonly number: number;
  caller: Caller;
  leaseUntilMs: number;
}

/** One attempt of the journal, with facts that the ledger model does not keep. */
export interface JournalRow {
  readonly row: ReserveRow;
  readonly book: ModelLine;
  /** Undefined if an annulment wrote the row without having found a hold. */
  readonly caller: Caller | undefined;
  outcome: CloseRow["outcome"] | undefined;
}

const DAY_MS = 86_400_000;

/**
 * The database that all instances share: the ledger model, the leases, and a clock. Every method is
 * one transaction that happens at once. `NetworkedStore` adds the faults of the network.
 */
export class SimulatedDatabase {
  readonly books: BooksModel = new BooksModel();
  readonly journal: Map<AttemptId, JournalRow> = new Map();
  readonly attemptsOf: Map<RequestId, JournalRow[]> = new Map();
  readonly instances: Map<string, InstanceRow> = new Map();
  /** Ids of the refused requests that were recorded one by one. */
  readonly refused: Set<RequestId> = new Set();
  /** Number of refused requests that were only counted. */
  refusedCounted = 0;
  /** Increases with every change of an amount. */
  version = 0;
  /** The database cannot be reached before this virtual time. */
  goneUntilMs = 0;
  readonly #nowMs: () => number;

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  /** Does all closings, then all holds; if one row breaks a rule, none of them. */
  runBatch(caller: Caller, { member, closings, holds }: LedgerBatch): BatchAnswer {
    this.#advanceCalendar();
    this.#refuseWithoutPartition(closings);
    const taken = holds.find(({ attemptId }) => this.journal.has(attemptId));
    if (taken !== undefined) {
      throw new BatchFault("rejected", `attempt ${taken.attemptId} exists`, undefined);
    }
    const verdicts = closings.map((row) =>
      this.books.holds.has(row.attemptId) ? this.#close(row) : undefined,
    );
    const outcomes = holds.map((row) => {
      const asked = {
        ...modelRow(row),
        member: { instance: member.instanceId, epoch: member.epoch },
      };
      const outcome = this.books.reserve(asked);
      if (outcome.kind === "reserved") this.#journal(row, caller);
      return this.#outcomeOf(outcome);
    });
    return { verdicts, outcomes };
  }

  closeBatch(rows: readonly CloseRow[]): readonly CloseVerdict[] {
    this.#advanceCalendar();
    this.#refuseWithoutPartition(rows);
    return rows.map((row) => this.#close(row));
  }

  annul(row: ReserveRow): void {
    this.#advanceCalendar();
    this.version += 1;
    this.books.annul(modelRow(row));
    if (!this.journal.has(row.attemptId)) this.#journal(row, undefined);
  }

  join(caller: Caller, name: string, leaseMs: number): Membership {
    for (let n = 1; ; n++) {
      const instanceId = n === 1 ? name : `${name}-${n}`;
      const known = this.instances.get(instanceId);
      if (known !== undefined && this.#isTaken(known, caller)) continue;
      const row = known ?? { number: this.instances.size, caller, leaseUntilMs: 0 };
      this.instances.set(instanceId, row);
      row.caller = caller;
      row.leaseUntilMs = this.#nowMs() + leaseMs;
      const epoch = (this.books.epochs.get(instanceId) ?? 0n) + 1n;
      this.books.epochs.set(instanceId, epoch);
      const attemptIdFloor = [...this.journal.keys()].reduce(
        (top, id) => (id > top ? id : top),
        0n,
      );
      const storeNowMs = Math.floor(this.#nowMs());
      const life = { token: `${instanceId} ${epoch}`, life: 1 };
      return { instanceId, number: row.number, epoch, attemptIdFloor, storeNowMs, ...life };
    }
  }

  renewLease(member: Membership, leaseMs: number): number | undefined {
    const row = this.instances.get(member.instanceId);
    if (this.books.epochs.get(member.instanceId) !== member.epoch) return undefined;
    if (row === undefined) return undefined;
    row.leaseUntilMs = this.#nowMs() + leaseMs;
    return Math.floor(this.#nowMs());
  }

  takeOverDeadInstances(caller: Caller): readonly string[] {
    const dead = [...this.instances].filter(([instanceId, row]) => {
      const isGone = row.caller.host === caller.host && row.caller.isDead;
      return (row.leaseUntilMs < this.#nowMs() || isGone) && this.#holdsSomething(instanceId);
    });
    for (const [id] of dead) this.books.epochs.set(id, (this.books.epochs.get(id) ?? 0n) + 1n);
    return dead.map(([id]) => id);
  }

  recoverOpenAttempts(): number {
    this.#advanceCalendar();
    this.version += 1;
    return this.books.recover();
  }

  /** Throws if there is no partition for the day of an attempt, into which its end is written. */
  #refuseWithoutPartition(closings: readonly CloseRow[]): void {
    const astray = closings.find(({ attemptId }) => !this.#hasCapacityFor(attemptId));
    if (astray === undefined) return;
    throw new BatchFault("rejected", `no partition for ${astray.attemptId}`, undefined);
  }

  /** There are partitions for the times of attempt ids from half a day ago to some days ahead. */
  #hasCapacityFor(attemptId: AttemptId): boolean {
    const atMs = Number(attemptId >> 22n) + Date.UTC(2025, 0, 1);
    const awayMs = atMs - this.#nowMs();
    return awayMs > -DAY_MS / 2 && awayMs < PARTITION_DAYS_AHEAD * DAY_MS;
  }

  /** True if the instance's process may live; only its lease tells if it is on another host. */
  #isTaken(row: InstanceRow, caller: Caller): boolean {
    const isLeased = row.leaseUntilMs > this.#nowMs();
    if (row.caller.host !== caller.host) return isLeased;
    return isLeased && row.caller !== caller && !row.caller.isDead;
  }

  #holdsSomething(instance: string): boolean {
    const epoch = this.books.epochs.get(instance);
    return [...this.books.holds.values()].some(
      ({ member }) => member?.instance === instance && member.epoch === epoch,
    );
  }

  #close(row: CloseRow): CloseVerdict {
    const known = this.journal.get(row.attemptId);
    const { kind, debit, overrun } = this.books.close({
      attempt: row.attemptId,
      costPico: row.costPicoUsd,
      ...(row.owedPicoUsd !== undefined && { owedPico: row.owedPicoUsd }),
      kind: row.usage === null ? "void" : "usage",
    });
    if (kind === "closed" || kind === "corrected") {
      this.version += 1;
      if (known !== undefined) known.outcome = row.outcome;
    }
    return { kind, debitMicroUsd: debit, overrunMicroUsd: overrun };
  }

  #journal(row: ReserveRow, caller: Caller | undefined): void {
    const { books } = this;
    this.version += 1;
    const line: JournalRow = {
      row,
      get book(): ModelLine {
        const book = books.line(row.attemptId);
        if (book === undefined) throw new Error("a reserved attempt is in the books");
        return book;
      },
      caller,
      outcome: undefined,
    };
    this.journal.set(row.attemptId, line);
    const others = this.attemptsOf.get(row.requestId) ?? [];
    this.attemptsOf.set(row.requestId, [...others, line]);
  }

  #outcomeOf(outcome: ModelReserveOutcome): ReserveOutcome {
    switch (outcome.kind) {
      case "reserved":
        return outcome;
      case "low_balance":
        return {
          kind: "low_balance",
          availableMicroUsd: microUsd(outcome.available),
          heldMicroUsd: microUsd(outcome.held),
        };
      case "cap":
        return {
          kind: "cap",
          scope: outcome.scope,
          period: outcome.period,
          capMicroUsd: microUsd(outcome.cap),
          settledMicroUsd: microUsd(outcome.settled),
          inFlightMicroUsd: microUsd(outcome.inFlight),
          resetAtMs: monthStartMs(this.books.month + 1),
        };
      case "unavailable":
        return { kind: "unavailable", reason: "fenced, or no such key" };
      default:
        return unreachable(outcome);
    }
  }

  #advanceCalendar(): void {
    const now = new Date(this.#nowMs());
    this.books.month = now.getUTCFullYear() * 12 + now.getUTCMonth();
  }
}

function modelRow(row: ReserveRow): ModelReserve {
  return {
    attempt: row.attemptId,
    org: row.orgId,
    key: row.keyId,
    provider: row.providerId,
    amount: row.reserveMicroUsd,
  };
}

function monthStartMs(month: number): number {
  return Date.UTC(Math.floor(month / 12), month % 12, 1);
}
