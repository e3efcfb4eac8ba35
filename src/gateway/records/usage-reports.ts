import type {
  KeyId,
  ManagedOrigin,
  MicroUsd,
  OrgId,
  RequestId,
  RequestStatus,
  Usage,
} from "../../kernel/index.ts";
import type { AttemptRecord } from "./record-rows.ts";

export type RequestOutcome = AttemptRecord["outcome"] | "refused";

export interface ReportFilter {
  readonly orgId: OrgId;
  /**
   * `fromMs` is inclusive, `toMs` exclusive; both are compared with the time in the request's id.
   */
  readonly fromMs: number;
  readonly toMs: number;
  /** Matches requests of any of these models; absent means all. */
  readonly modelIds?: readonly string[];
  /** Matches requests whose last attempt was at one of these providers. */
  readonly providerIds?: readonly string[];
  /**
   * A request matches if its key is in `keyIds` or is a managed key of one of the origins in
   * `managed`.
   */
  readonly keyIds?: readonly string[];
  readonly managed?: readonly ManagedOrigin[];
  readonly statuses?: readonly RequestStatus[];
}

export type ReportGroupBy = "model" | "key" | "provider" | "day" | "status";

/** The metric by which the largest groups are chosen. */
export type ReportRank = "spend" | "requests" | "tokens" | "failed" | "rejected";

export type StatusCounts = Readonly<Record<RequestStatus, number>>;

/** A request with several attempts is one request; its cost and tokens are their sum. */
export interface ReportFigures {
  readonly requests: number;
  readonly byStatus: StatusCounts;
  readonly debitMicroUsd: MicroUsd;
  readonly usage: Usage;
  /**
   * Times to the first byte, of last attempts only. Up to 3.2 percent off, because they are stored
   * as histogram buckets.
   */
  readonly firstByteP50Ms: number | null;
  readonly firstByteP95Ms: number | null;
}

export interface ReportBucket {
  readonly atMs: number;
  readonly parts: ReadonlyMap<
    string,
    {
      readonly requests: number;
      readonly byStatus: StatusCounts;
      readonly tokens: number;
      readonly debitMicroUsd: MicroUsd;
    }
  >;
  readonly firstByteP50Ms: number | null;
  readonly firstByteP95Ms: number | null;
}

export interface UsageReport {
  readonly totals: ReportFigures;
  readonly bucket: "five_minutes" | "hour" | "day";
  /**
   * Buckets, oldest first, including empty ones. Groups beyond the largest seven are summed as
   * `other`.
   */
  readonly series: readonly ReportBucket[];
  /**
   * Groups, most spend first, at most 200; if there are more, the last one is `other`. Managed keys
   * are `playground` and `optimize`. Requests without a value, such as the provider of a refused
   * one, are `none`.
   */
  readonly groups: readonly { readonly group: string; readonly figures: ReportFigures }[];
}

export interface ReportedRequest {
  readonly requestId: RequestId;
  readonly createdAtMs: number;
  readonly modelId: string | null;
  readonly keyId: KeyId;
  readonly keyName: string;
  readonly keyOrigin: "trial" | "console" | "identity" | "playground" | "optimize";
  /** The provider of the last attempt; null if there was none. */
  readonly providerId: string | null;
  readonly route: string;
  readonly stream: boolean;
  readonly attempts: number;
  readonly status: RequestStatus;
  /** The outcome of the last attempt; `refused` where there was none. */
  readonly outcome: RequestOutcome;
  readonly errorClass: string | null;
  readonly usage: Usage | null;
  /** The time to the first byte of the last attempt. */
  readonly firstByteMs: number | null;
  /** The duration of all attempts together. */
  readonly durationMs: number | null;
  readonly debitMicroUsd: MicroUsd;
}

/**
 * The value that requests are sorted by. Requests without the value come last in both directions.
 */
export type RequestSortBy =
  "time" | "cost" | "duration" | "tokens" | "cached" | "first_token" | "attempts";

export interface RequestSort {
  readonly by: RequestSortBy;
  readonly direction: "asc" | "desc";
}

export interface RequestPageQuery {
  readonly limit: number;
  /** The cursor that the previous page of the same order returned. */
  readonly cursor?: string;
  /** Absent means newest first. */
  readonly sort?: RequestSort;
}

export interface RequestPage {
  readonly rows: readonly ReportedRequest[];
  readonly nextCursor: string | null;
}
