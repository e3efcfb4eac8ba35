import type {
  BySku,
  MicroUsd,
  OrgId,
  PicoUsd,
  RequestId,
  ServedModel,
  Usage,
} from "../../kernel/index.ts";
import type {
  AnsweredHeaders,
  AttemptOutcome,
  RefusalReason,
  SettlementBasis,
  SpendReads,
} from "../../ledger/index.ts";
import type { NoticeFacts, RefusedFor } from "./notice-facts.ts";

export interface AttemptRecord {
  readonly ordinal: number;
  readonly providerId: string;
  readonly upstreamModelId: string;
  readonly startedAtMs: number;
  readonly firstByteMs: number | null;
  readonly durationMs: number | null;
  readonly outcome: AttemptOutcome | "in_flight" | "unknown_after_crash";
  readonly upstreamStatus: number | null;
  readonly errorClass: string | null;
  /** The model that the provider reported; null: none. */
  readonly served: ServedModel | null;
  /** The headers of the answer, where this was the last attempt. */
  readonly answered: AnsweredHeaders;
  readonly usage: Usage | null;
  readonly reserveMicroUsd: MicroUsd;
  readonly debitMicroUsd: MicroUsd;
  readonly basis: SettlementBasis | null;
  readonly sheet: SettledSheet;
}

/** The prices that an attempt is settled by: those at its admission, by the size of its prompt. */
export interface SettledSheet {
  readonly pinId: string;
  /** Prompt, cached and written tokens together; 0: the prices are for any prompt. */
  readonly abovePromptTokens: number;
}

/** Pico-dollars a token. */
export type PinnedPrices = BySku<PicoUsd>;

/** An attempt with the prices of its sheet; null where they were not kept. */
export interface PricedAttempt extends AttemptRecord {
  readonly prices: PinnedPrices | null;
}

/** One request of an organization with every physical attempt. */
export interface RequestRecord {
  readonly requestId: RequestId;
  readonly keyId: string;
  readonly modelId: string | null;
  readonly route: string;
  readonly stream: boolean;
  readonly createdAtMs: number;
  readonly outcome: AttemptRecord["outcome"];
  readonly attempts: readonly PricedAttempt[];
  /** Why the gateway refused it before any attempt. */
  readonly refused?: Refused;
}

/** The facts that are kept of a request which the gateway refused. */
export interface Refused {
  readonly errorClass: string;
  /** Null if it was not kept, as for a client that had left. */
  readonly reason: RefusalReason | null;
}

export interface UsageQuery {
  readonly orgId: OrgId;
  readonly fromMs?: number;
  readonly toMs?: number;
  readonly limit: number;
  /** Opaque; from the previous page. */
  readonly cursor?: string;
}

export interface UsageRow {
  readonly requestId: RequestId;
  readonly createdAtMs: number;
  readonly keyId: string;
  readonly modelId: string;
  readonly providerId: string;
  readonly route: string;
  readonly usage: Usage | null;
  readonly debitMicroUsd: MicroUsd;
  readonly basis: SettlementBasis | null;
}

export interface UsageGroup {
  /** The day (YYYY-MM-DD), model id, key id or provider id. */
  readonly group: string;
  readonly requests: number;
  readonly usage: Usage;
  readonly debitMicroUsd: MicroUsd;
}

/** Reads of what the ledger wrote. Every query carries the organization. */
export interface RecordStore extends SpendReads {
  /** Newest first; attempts of one request are one row, its debit the sum. */
  usagePage(
    query: UsageQuery,
  ): Promise<{ readonly rows: readonly UsageRow[]; readonly nextCursor: string | null }>;
  usageGroups(
    query: UsageQuery,
    by: "day" | "model" | "key" | "provider",
  ): Promise<readonly UsageGroup[]>;
  /** Facts for the notices on every page, from one bounded statement. */
  noticeFacts(orgId: OrgId, nowMs: number): Promise<NoticeFacts>;
  /** The causes of refusals since then, most first; of the newest ten thousand. */
  refusedFor(orgId: OrgId, fromMs: number): Promise<readonly RefusedFor[]>;
  /** Undefined if the organization has no such request. */
  generation(orgId: OrgId, requestId: RequestId): Promise<RequestRecord | undefined>;
}
