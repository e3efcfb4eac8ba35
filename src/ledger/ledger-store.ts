import type {
  AttemptEnd,
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

export interface LaneNote {
  waitMs: number;
  batchRows: number;
}

/** A hold on the organization's balance for one dispatch, at its worst-case cost. */
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
  /** The path that the client called, such as `/v1/chat/completions`. */
  readonly route: string;
  readonly stream: boolean;
  readonly estimatedTokens: number;
  readonly reserveMicroUsd: MicroUsd;
  /**
   * Receives the time in milliseconds that this row waited in the queue, and the number of rows in
   * its batch, for the request's trace. Absent if the request is not traced; never stored.
   */
  readonly lane?: LaneNote | undefined;
}

export type ReserveOutcome =
  | { readonly kind: "reserved" }
  | {
      readonly kind: "low_balance";
      /** The settled balance minus all holds. The refused hold was larger than this amount. */
      readonly availableMicroUsd: MicroUsd;
      readonly heldMicroUsd: MicroUsd;
    }
  | {
      readonly kind: "cap";
      readonly scope: "org" | "key";
      /**
       * The period of the cap that the hold would have exceeded; of several caps of the key, the
       * period of the one that resets last. Organizations have only monthly caps.
       */
      readonly period: CapPeriod;
      readonly capMicroUsd: MicroUsd;
      readonly settledMicroUsd: MicroUsd;
      readonly inFlightMicroUsd: MicroUsd;
      /** The first instant of the next UTC day, week or month, in milliseconds since 1970. */
      readonly resetAtMs: number;
    }
  /** Nothing may be dispatched. `reason` says why, for example a lost lease or a full queue. */
  | { readonly kind: "unavailable"; readonly reason: string };

/** `lost_in_restore`: the attempt was open when the books were restored; its debit is 0. */
export type AttemptOutcome = Exclude<AttemptEnd, "in_flight" | "unknown_after_crash">;

export type SettlementBasis =
  | "reported"
  | "partial"
  /** The provider reported no usage, so the cost is that of the usage declared by the listing. */
  | "declared"
  | "none"
  | "unknown_after_crash";

/** The provider reported a usage or cost that is impossible, so the report was ignored. */
export type ReportFlag = "usage_impossible";

/** Values that the gateway sent in headers and that no other field has; absent if not sent. */
export interface AnsweredHeaders {
  readonly remainingRequests?: number;
  readonly remainingTokens?: number;
  readonly queueMs?: number;
  readonly retryAfterSeconds?: number;
  /** The request fields that the gateway dropped, joined by `droppedText`. */
  readonly droppedParams?: string;
}

/** The closing of an attempt: settled at an observed cost, or void at 0. */
export interface CloseRow extends AnsweredHeaders {
  readonly attemptId: AttemptId;
  readonly outcome: AttemptOutcome;
  /** Null if no usage counts: the attempt is void, or its cost was reported without usage. */
  readonly usage: Usage | null;
  readonly basis: SettlementBasis;
  /** The exact cost, counted or reported. Rounded down, it is the debit, at most the reserve. */
  readonly costPicoUsd: PicoUsd;
  /** The debt to a provider with purchase prices; absent if the debt equals the cost. */
  readonly owedPicoUsd?: PicoUsd;
  readonly upstreamStatus: number | null;
  /** The class of the failure, or what was wrong with the reported usage; null if neither. */
  readonly errorClass: RefusalClass | ReportFlag | null;
  readonly startedAtMs: number;
  /** Null if no byte of an answer arrived. */
  readonly firstByteMs: number | null;
  readonly durationMs: number;
  /** The model that the provider named in its answer; absent if it named none. */
  readonly served?: ServedModel;
  /** True on the last attempt of the request: its outcome becomes the request's. */
  readonly final: boolean;
  readonly lane?: LaneNote | undefined;
}

export type CloseOutcome =
  | { readonly kind: "closed"; readonly debitMicroUsd: MicroUsd; readonly overrun: boolean }
  /** The attempt was closed before or is unknown, so this closing changed nothing. */
  | { readonly kind: "already_closed"; readonly debitMicroUsd: MicroUsd }
  /** The closing has not committed yet; the ledger retries it. */
  | { readonly kind: "pending" };

/** A request that was refused, or left by its client, before any dispatch. It costs nothing. */
export interface RefusedRequest {
  readonly requestId: RequestId;
  readonly orgId: OrgId;
  readonly keyId: KeyId;
  readonly modelId: string | null;
  readonly route: string;
  readonly stream: boolean;
  readonly errorClass: RefusalClass | typeof CLIENT_LEFT;
  readonly createdAtMs: number;
  /** Absent if the client had left, so that it got no refusal. */
  readonly reason?: RefusalReason;
}

/** The number of refused requests of a key in one minute that are counted without being stored. */
export interface RefusedCount {
  readonly orgId: OrgId;
  readonly keyId: KeyId;
  /** Start of the minute, in milliseconds since 1970. */
  readonly minuteMs: number;
  readonly requests: number;
}

/** Immutable prices to which attempts refer. */
export interface PricePin {
  readonly pinId: string;
  readonly providerId: ProviderId;
  readonly modelId: ModelId;
  /** In pico-dollars per token. */
  readonly prices: BySku<bigint>;
  /** The pin of the prices at which the provider is paid; absent if they are those of this pin. */
  readonly purchasePinId?: string;
  /**
   * The price sheets by prompt size, from 0 tokens up; absent in the pin of a higher tier, and in a
   * pin whose costs the provider reports.
   */
  readonly sheets?: readonly PinnedSheet[];
}

/**
 * The pin whose prices apply to prompts of more than `abovePromptTokens` tokens (0: any prompt), up
 * to the bound of the next sheet.
 */
export interface PinnedSheet {
  readonly abovePromptTokens: number;
  readonly pinId: string;
}

/**
 * The ledger for other folders: it takes single rows and commits them in batches. If `reserve`
 * answers `reserved`, the hold is durable; an attempt is closed, and later corrected, at most once.
 */
export interface Ledger {
  /** Makes an attempt id for this instance. Each id is greater than the one before. */
  newAttemptId(): AttemptId;
  reserve(row: ReserveRow): Promise<ReserveOutcome>;
  /** Closes an attempt and reserves for the request's next one, in one transaction if possible. */
  roll(close: CloseRow, next: ReserveRow): Promise<ReserveOutcome>;
  /** Resolves when the closing has committed; after about `SETTLE_WAIT_MS` with `pending`. */
  close(row: CloseRow): Promise<CloseOutcome>;
  recordRefused(request: RefusedRequest): void;
  /** True while this instance may take traffic: it holds its lease and is not shutting down. */
  readonly healthy: boolean;
  /** Tries to write everything that is queued, for a limited time, and ends the lease. */
  shutDown(): Promise<void>;
}
