import type {
  AttemptId,
  KeyId,
  MicroUsd,
  ModelId,
  OrgId,
  ProviderId,
  RequestId,
} from "../kernel/index.ts";
import type {
  CloseRow,
  PricePin,
  RefusedCount,
  RefusedRequest,
  ReserveOutcome,
  ReserveRow,
} from "./ledger-store.ts";
import type { StuckAttempts } from "./books-figures.ts";

/** The proof by which an instance reserves. */
export interface Membership {
  readonly instanceId: string;
  /** 0 to 1023: its part of every attempt id. */
  readonly number: number;
  /** Grows at each start and at each take-over; an older one cannot reserve. */
  readonly epoch: bigint;
  /** Every attempt id made so far is below this one. */
  readonly attemptIdFloor: bigint;
  /** The store's clock when it answered, milliseconds since 1970. */
  readonly storeNowMs: number;
  /** The token of this membership alone: another one of the same epoch has another. */
  readonly token: string;
  /** The life of the books: grows each time they are reopened after a restore. */
  readonly life: number;
}

/** The commits that an instance knows of; a renewal looks for them again. */
export interface Witness {
  /** The last acknowledged heartbeat; 0 if the instance has only joined. */
  readonly beat: bigint;
  /** The store's clock at that, milliseconds since 1970. */
  readonly storeNowMs: number;
  /** The last attempt whose hold was acknowledged. */
  readonly attemptId: AttemptId | null;
}

/**
 * - `taken_over`: another one has the instance.
 * - `went_back`: what the witness names is gone. `stopped`: another instance found that.
 */
export type Renewal =
  | { readonly kind: "held"; readonly beat: bigint; readonly storeNowMs: number }
  | { readonly kind: "taken_over" }
  | { readonly kind: "went_back" | "stopped"; readonly finding: string };

/** An open attempt whose provider job continues although its instance is dead. */
export interface AdoptedAttempt {
  readonly attemptId: AttemptId;
  readonly requestId: RequestId;
  readonly orgId: OrgId;
  readonly keyId: KeyId;
  readonly modelId: ModelId;
  readonly providerId: ProviderId;
  readonly upstreamModelId: string;
  readonly providerJobId: string;
  readonly reserveMicroUsd: MicroUsd;
}

export interface CloseVerdict {
  /**
   * - `corrected`: it had been charged at its reserve after a crash, and this late observation of
   *   its end released the difference. Possible once.
   * - `unknown`: there is no such attempt, so there is nothing to close.
   */
  readonly kind: "closed" | "already_closed" | "corrected" | "unknown";
  readonly debitMicroUsd: bigint;
  readonly overrunMicroUsd: bigint;
}

/** Closings and holds of one transaction: the closings come first. */
export interface LedgerBatch {
  readonly member: Membership;
  readonly closings: readonly CloseRow[];
  readonly holds: readonly ReserveRow[];
}

export interface BatchAnswer {
  /** One per closing; undefined: not open (any more), which `closeBatch` decides. */
  readonly verdicts: readonly (CloseVerdict | undefined)[];
  /** One per hold. */
  readonly outcomes: readonly ReserveOutcome[];
}

/**
 * Why a batch failed as a whole.
 * - `rejected`: one of its rows breaks a rule of the books; nothing was committed.
 * - `busy`: the store could not do it now; nothing was committed.
 * - `ambiguous`: the answer was lost; it may or may not be committed.
 */
export type BatchFaultKind = "rejected" | "busy" | "ambiguous";

export class BatchFault extends Error {
  override readonly name = "BatchFault";
  readonly kind: BatchFaultKind;

  constructor(kind: BatchFaultKind, message: string, cause: unknown) {
    super(message, { cause });
    this.kind = kind;
  }
}

/** The ledger's storage. Every verb is one durable transaction or none; faults are `BatchFault`. */
export interface LedgerBatchStore {
  /**
   * Closes what is open, then holds in arrival order; of two closings of one attempt the first
   * wins. A lost lease refuses the holds and not the closings. One call at a time.
   */
  runBatch(batch: LedgerBatch): Promise<BatchAnswer>;
  /**
   * Closings alone, decided to the last and with more patience for a lock than `runBatch` has.
   * One call at a time.
   */
  closeBatch(rows: readonly CloseRow[]): Promise<readonly CloseVerdict[]>;
  /** After an ambiguous reserve: afterwards none of these attempts holds anything, ever. */
  annul(rows: readonly ReserveRow[]): Promise<void>;
  /**
   * Keeps the first refused requests of each key and minute one by one, and counts the others. A
   * batch that is sent again after its answer was lost may count those others twice.
   */
  recordRefusedBatch(
    requests: readonly RefusedRequest[],
    counts: readonly RefusedCount[],
  ): Promise<void>;
  /** Prices an attempt will refer to; known pins are left as they are. */
  ensurePricePins(pins: readonly PricePin[]): Promise<void>;
  /** Starts a new epoch of the instance `name`, or of `name-2`, … while that one is alive. */
  join(name: string, leaseMs: number): Promise<Membership>;
  /**
   * Prolongs the lease by the store's clock, if everything is there that the witness names. When it
   * is not, the store remembers that for all instances, unless `goesOn`.
   */
  renewLease(renewal: {
    readonly member: Membership;
    readonly witness: Witness;
    readonly leaseMs: number;
    readonly goesOn: boolean;
  }): Promise<Renewal>;
  /**
   * Called on each new connection of the lane, before its first batch; when it rejects, with a
   * `BatchFault`, the batch was not sent.
   */
  onReconnect(prove: () => Promise<void>): void;
  /** Why no instance may take traffic until the ledger is reopened; undefined if they may. */
  stopReason(): Promise<string | undefined>;
  /** Ends the lease at once. */
  leave(member: Membership): Promise<void>;
  /** Starts a new epoch for every instance that is dead and holds something; their names. */
  takeOverDeadInstances(): Promise<readonly string[]>;
  /**
   * Closes every open attempt of an older epoch at its reserve, but for those with a provider job;
   * returns how many. One whose closing breaks a rule of the books is noted in `stuck`; without
   * that, it stops at it.
   */
  recoverOpenAttempts(stuck?: StuckAttempts): Promise<number>;
  /** Makes an open attempt outlive its instance. False: it is closed already. */
  attachJob(attemptId: AttemptId, providerJobId: string): Promise<boolean>;
  /** Gives up to `limit` attempts with a provider job, whose instance is dead, to `member`. */
  adoptAttempts(member: Membership, limit: number): Promise<readonly AdoptedAttempt[]>;
  /** Prepares partitions for the attempts of the coming days. */
  maintain(): Promise<void>;
}
