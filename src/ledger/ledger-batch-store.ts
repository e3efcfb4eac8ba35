import { type AttemptId, Fault } from "../kernel/index.ts";
import type { AdoptedAttempt } from "./attempt-columns.ts";
import type {
  CloseRow,
  PricePin,
  RefusedCount,
  RefusedRequest,
  ReserveOutcome,
  ReserveRow,
} from "./ledger-store.ts";
import type { StuckAttempts } from "./books-figures.ts";

/** Proves that a process is an instance. Only the newest membership of an instance can reserve. */
export interface Membership {
  readonly instanceId: string;
  /** The number in all attempt ids of this instance, 0 to 1023. */
  readonly number: number;
  /** Grows each time the instance starts or is taken over. An older epoch cannot reserve. */
  readonly epoch: bigint;
  /** The highest attempt id that was in the books when the instance joined. */
  readonly attemptIdFloor: bigint;
  /** The store's clock when the instance joined, in milliseconds since 1970. */
  readonly storeNowMs: number;
  /** Identifies this join: after a restore, another process can get the same epoch. */
  readonly token: string;
  /** The life of the books, which grows each time they are reopened after a restore. */
  readonly life: number;
}

/**
 * The last commits that the store has acknowledged to an instance. A renewal of the lease checks
 * that the database still has them, which it may not after a restore.
 */
export interface Witness {
  /** The number of renewals since the join, as the last acknowledged renewal returned it. */
  readonly beat: bigint;
  /** The store's clock at the last acknowledged renewal or at the join, in ms since 1970. */
  readonly storeNowMs: number;
  /** The last attempt whose hold was acknowledged; null if there is none. */
  readonly attemptId: AttemptId | null;
}

/**
 * The result of a renewal.
 * - `taken_over`: another process now runs as this instance, or others have declared it dead.
 * - `went_back`: the database has lost a commit of the witness.
 * - `stopped`: another instance has noticed a lost commit.
 */
export type Renewal =
  | { readonly kind: "held"; readonly beat: bigint; readonly storeNowMs: number }
  | { readonly kind: "taken_over" }
  | { readonly kind: "went_back" | "stopped"; readonly finding: string };

export interface CloseVerdict {
  /**
   * `corrected`: this closing reported the end of an attempt that had been charged at its reserve
   * after a crash, and the difference was refunded, which is possible once. `unknown`: there is no
   * such attempt.
   */
  readonly kind: "closed" | "already_closed" | "corrected" | "unknown";
  readonly debitMicroUsd: bigint;
  readonly overrunMicroUsd: bigint;
}

/** The closings run before the holds, in the same transaction. */
export interface LedgerBatch {
  readonly member: Membership;
  readonly closings: readonly CloseRow[];
  readonly holds: readonly ReserveRow[];
}

export interface BatchAnswer {
  /** One verdict per closing; undefined if the attempt is not open: then `closeBatch` decides. */
  readonly verdicts: readonly (CloseVerdict | undefined)[];
  readonly outcomes: readonly ReserveOutcome[];
}

/**
 * Why a batch failed as a whole.
 * - `rejected`: one of its rows breaks a constraint of the books; nothing was committed.
 * - `busy`: the store could not run it now; nothing was committed.
 * - `ambiguous`: the answer was lost; the batch may have committed.
 */
export type BatchFaultKind = "rejected" | "busy" | "ambiguous";

export class BatchFault extends Fault {
  readonly kind: BatchFaultKind;

  constructor(kind: BatchFaultKind, message: string, cause: unknown) {
    super(message, { cause });
    this.kind = kind;
  }
}

/** Each `runBatch` or `closeBatch` is one durable transaction, or rejects with a `BatchFault`. */
export interface LedgerBatchStore {
  /**
   * Closes open attempts, then makes holds in arrival order. The first of two closings of one
   * attempt wins. A lost lease refuses the holds, but not the closings. Callers must await each
   * call before the next.
   */
  runBatch(batch: LedgerBatch): Promise<BatchAnswer>;
  /**
   * Decides every closing, also of an attempt that is not open. Waits longer for locks than
   * `runBatch`. Callers must await each call before the next.
   */
  closeBatch(rows: readonly CloseRow[]): Promise<readonly CloseVerdict[]>;
  /** Undoes reserves whose answer was lost: none of these attempts can ever hold anything. */
  annul(rows: readonly ReserveRow[]): Promise<void>;
  /**
   * Stores the first refused requests of each key and minute, and counts the others. If a batch is
   * sent again because its answer was lost, the counted requests may be counted twice.
   */
  recordRefusedBatch(
    requests: readonly RefusedRequest[],
    counts: readonly RefusedCount[],
  ): Promise<void>;
  /** Stores prices to which attempts will refer. Known pins do not change. */
  ensurePricePins(pins: readonly PricePin[]): Promise<void>;
  /** Registers a new start of the instance `name`, or of `name-2`, … if `name` is alive. */
  join(name: string, leaseMs: number): Promise<Membership>;
  /**
   * Renews the lease by the store's clock if the database still has all commits of the witness. If
   * it has lost one, raises an alarm that stops all instances, unless `goesOn`.
   */
  renewLease(renewal: {
    readonly member: Membership;
    readonly witness: Witness;
    readonly leaseMs: number;
    readonly goesOn: boolean;
  }): Promise<Renewal>;
  /**
   * Sets a check that runs on each new connection of `runBatch` before its first batch. If it
   * rejects, which it must do with a `BatchFault`, the batch is not sent.
   */
  onReconnect(prove: () => Promise<void>): void;
  /** Returns why instances may take no traffic until the books are reopened, or undefined. */
  stopReason(): Promise<string | undefined>;
  leave(member: Membership): Promise<void>;
  /** Raises the epoch of every dead instance that has holds. Returns the ids of these instances. */
  takeOverDeadInstances(): Promise<readonly string[]>;
  /**
   * Closes open attempts of older epochs at their reserves, except those with a provider job.
   * Returns their number. Adds attempts that break a constraint to `stuck`, or rejects without it.
   */
  recoverOpenAttempts(stuck?: StuckAttempts): Promise<number>;
  /**
   * Records the provider's job of an open attempt: if the instance dies, another one then adopts
   * the attempt. False if the attempt is already closed.
   */
  attachJob(attemptId: AttemptId, providerJobId: string): Promise<boolean>;
  /** Assigns to `member` at most `limit` attempts with a provider job whose instance is dead. */
  adoptAttempts(member: Membership, limit: number): Promise<readonly AdoptedAttempt[]>;
  maintain(): Promise<void>;
}
