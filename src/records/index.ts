export { answerHeadersOf, droppedParamsOf } from "./answer-headers.ts";
export { makeLimitChange, planLimitChange, type PlannedChange } from "./change-limit.ts";
export { flaggedListings } from "./flagged-listings.ts";
export { figuresOf, type ListingFiguresStore, type ListingSums } from "./listing-figures.ts";
export { type ListingTraffic, listingTraffic } from "./listing-traffic.ts";
export { LIMIT_NAMES, type LimitRequest, readLimitRequest } from "./limit-request.ts";
export {
  type LimitDeps,
  type LimitUseDeps,
  readLimitUse,
  readOrgScopes,
  type UsedScope,
} from "./limit-use.ts";
export type { CappedKey, NoticeFacts } from "./notice-facts.ts";
export { PostgresListingFigures } from "./postgres-listing-figures.ts";
export { PostgresRecordStore } from "./postgres-record-store.ts";
export { PostgresUsageReports } from "./postgres-usage-reports.ts";
export { PostgresUsageRollup } from "./postgres-usage-rollup.ts";
export type { RecordStore, Refused } from "./record-store.ts";
export {
  attemptsOutsideSql,
  findRolledDays,
  idsOfDay,
  type ReportQuery,
  TOKENS_AND_DEBIT,
} from "./report-parts.ts";
export { ReportSources } from "./report-sources.ts";
export { ENDED_COLUMNS_SQL } from "./request-rows.ts";
export { serveAdmissionLimits } from "./serve-admission-limits.ts";
export { serveLimits } from "./serve-limits.ts";
export {
  type RecordDeps,
  serveGeneration,
  serveModel,
  serveModels,
  serveUsage,
} from "./serve-records.ts";
export { changedLimit, sourceOf } from "./show-limits.ts";
export { UsageCsv } from "./usage-csv.ts";
export { isoDay } from "./usage-report-sql.ts";
export { CREDIT_LINES_SQL, walletLine, type WalletRow } from "./usage-report-wallet.ts";
export {
  type ProviderActivity,
  type ReportBucket,
  type ReportedRequest,
  type ReportFigures,
  type ReportFilter,
  type ReportGroupBy,
  ReportTimeout,
  type SizeBounds,
  type SizedTokens,
  type Substitution,
  type UsageReport,
  type UsageReports,
  type WalletLine,
} from "./usage-reports.ts";
export { startUsageRollup, type UsageRollup } from "./usage-rollup.ts";
