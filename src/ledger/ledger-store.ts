import type {
  AttemptId,
  BySku,
  CapPeriod,
  CLIENT_LEFT,
  KeyId,
  MicroUsd,
  ModelId,
  OrgId,
  PicoUsd,
  ProviderId,
  RefusalClass,
  RequestId,
  ServedModel,
  Usage,
} from "../kernel/index.ts";
import type { RefusalReason } from "./refusal-reason-schema.ts";

/** Where a lane notes what became of a row, for a trace of its request. */
export interface LaneNote {
  /** How long the row waited until its batch was sent. */
  waitMs: number;
  /** Rows of that batch. */
  batchRows: number;
}

/** A hold on the organization's balance for one physical dispatch: the worst case. */
export interface ReserveRow {
  readonly attemptId: AttemptId;
  readonly requestId: RequestId;
  /** 1 for the first dispatch of the request. */
  readonly ordinal: number;
  readonly orgId: OrgId;
  readonly keyId: KeyId;
  readonly modelId: ModelId;
  readonly providerId: ProviderId;
  readonly upstreamModelId: string;
  readonly pricePinId: string;
  /** `/v1/chat/completions`, … */
  readonly route: string;
  readonly stream: boolean;
  readonly estimatedTokens: number;
  readonly reserveMicroUsd: MicroUsd;
  /** Absent if the request is not traced. It is not stored. */
  readonly lane?: LaneNote | undefined;
}

export type ReserveOutcome =
  | { readonly kind: "reserved" }
  | {
      readonly kind: "low_balance";
      /** Settled balance minus everything held in flight. */
      readonly availableMicroUsd: MicroUsd;
      readonly heldMicroUsd: MicroUsd;
    }
  | {
      readonly kind: "cap";
      readonly scope: "org" | "key";
      /**
       * The period of the refusing cap; of several, the one that resets last. Organizations have
       * monthly caps only.
       */
      readonly period: CapPeriod;
      readonly capMicroUsd: MicroUsd;
      readonly settledMicroUsd: MicroUsd;
      readonly inFlightMicroUsd: MicroUsd;
      /** First instant of the next UTC day, week or month. */
      readonly resetAtMs: number;
    }
  /** Nothing was committed, and nothing must be dispatched: journal away, fenced, or over its queue. */
  | { readonly kind: "unavailable"; readonly reason: string };

export type AttemptOutcome =
  | "completed"
  | "refused"
  | "failed"
  | "timeout"
  | "reset"
  | "stream_died"
  | "client_disconnected"
  /** It was open at the point to which the books were restored: debit 0. */
  | "lost_in_restore";

/** The basis from which a debit was computed. */
export type SettlementBasis =
  | "reported"
  | "partial"
  /** No usage was reported, so the usage that the listing declares counts. */
  | "declared"
  | "none"
  | "unknown_after_crash";

/** `usage_impossible`: the report exceeded what is possible, so all of it was ignored. */
export type ReportFlag = "usage_impossible";

/** The one closing of an attempt: settled at an observed cost, or void at 0. */
/** The headers of an answer that nothing else in its row has; an absent one was not sent. */
export interface AnsweredHeaders {
  readonly remainingRequests?: number;
  readonly remainingTokens?: number;
  /** Milliseconds. */
  readonly queueMs?: number;
  readonly retryAfterSeconds?: number;
  /** Names as `droppedText` joins them. */
  readonly droppedParams?: string;
}

export interface CloseRow extends AnsweredHeaders {
  readonly attemptId: AttemptId;
  readonly outcome: AttemptOutcome;
  /** Null: void, nothing was observed and nothing is owed. */
  readonly usage: Usage | null;
  readonly basis: SettlementBasis;
  /** Exact cost of the observed usage; the debit is its floor, never above the reserve. */
  readonly costPicoUsd: PicoUsd;
  /** The debt to the provider, where it has prices of its own; absent: the cost. */
  readonly owedPicoUsd?: PicoUsd;
  readonly upstreamStatus: number | null;
  /** The class of the attempt's failure, or the flaw of the usage that its provider reported. */
  readonly errorClass: RefusalClass | ReportFlag | null;
  readonly startedAtMs: number;
  /** Null if no byte of an answer arrived. */
  readonly firstByteMs: number | null;
  readonly durationMs: number;
  /** The model that the provider named; absent: none. */
  readonly served?: ServedModel;
  /** True on the last attempt of the request: its outcome becomes the request's. */
  readonly final: boolean;
  /** Absent if the request is not traced. It is not stored. */
  readonly lane?: LaneNote | undefined;
}

export type CloseOutcome =
  | { readonly kind: "closed"; readonly debitMicroUsd: MicroUsd; readonly overrun: boolean }
  /** Another process (recovery) closed it before; nothing changed. */
  | { readonly kind: "already_closed"; readonly debitMicroUsd: MicroUsd }
  /** Not committed yet; the ledger continues trying by itself. */
  | { readonly kind: "pending" };

/** A request that was refused before any attempt: kept so that its id answers, owes nothing. */
export interface RefusedRequest {
  readonly requestId: RequestId;
  readonly orgId: OrgId;
  readonly keyId: KeyId;
  readonly modelId: string | null;
  readonly route: string;
  readonly stream: boolean;
  readonly errorClass: RefusalClass | typeof CLIENT_LEFT;
  readonly createdAtMs: number;
  /** Undefined if the client had left, so no refusal was sent. */
  readonly reason?: RefusalReason;
}

/** Refused requests of a key in one minute that have no record of their own. */
export interface RefusedCount {
  readonly orgId: OrgId;
  readonly keyId: KeyId;
  /** Start of the minute, milliseconds since 1970. */
  readonly minuteMs: number;
  readonly requests: number;
}

/** Immutable prices an attempt refers to. */
export interface PricePin {
  readonly pinId: string;
  readonly providerId: ProviderId;
  readonly modelId: ModelId;
  /** In pico-dollars a token. */
  readonly prices: BySku<bigint>;
  /** The pin of the prices at which the provider is owed; absent: these. */
  readonly purchasePinId?: string;
  /**
   * The price sheets by prompt size, starting at 0. Absent if another pin has the same sheets, or
   * if costs are reported and not computed.
   */
  readonly sheets?: readonly PinnedSheet[];
}

/** The prices of one pin for prompts above a bound; 0: for any. */
export interface PinnedSheet {
  readonly abovePromptTokens: number;
  readonly pinId: string;
}

/**
 * The ledger as other folders call it: single rows in, batched durably underneath.
 *
 * Promise: when `reserve` answers `reserved`, the hold and its journal row are durable; an attempt
 * is closed at most once, ever; nothing else changes a balance.
 */
export interface Ledger {
  /** A fresh, strictly growing attempt id of this instance. */
  newAttemptId(): AttemptId;
  reserve(row: ReserveRow): Promise<ReserveOutcome>;
  /** Closes one attempt and reserves the next in one durable step. */
  roll(close: CloseRow, next: ReserveRow): Promise<ReserveOutcome>;
  /** Resolves when the closing committed, or `pending` after `SETTLE_WAIT_MS`. */
  close(row: CloseRow): Promise<CloseOutcome>;
  /** Queued and written in batches off the request's path. */
  recordRefused(request: RefusedRequest): void;
  /** True while the lease is held, so that this instance may take traffic. */
  readonly healthy: boolean;
  /** Writes what is queued, ends the lease. */
  shutDown(): Promise<void>;
}
