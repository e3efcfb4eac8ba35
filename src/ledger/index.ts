export {
  answerColumns,
  closedColumns,
  heldColumns,
  hourUsageColumns,
  jobCloseColumns,
  journalColumns,
  priceColumns,
  servedColumns,
  SUMMED_USAGE_SQL,
  usageColumns,
} from "./attempt-columns.ts";
export {
  auditBooks,
  auditLedger,
  type AuditOptions,
  type AuditOutcome,
  closeDay,
} from "./audit/audit.ts";
export { type BooksFigures, readBooksFigures, recordAudit } from "./books-figures.ts";
export type { AuditCheck, AuditProgress, FlaggedListing } from "./audit/ledger-audit.ts";
export { type KnownInstance, readInstances } from "./known-instances.ts";
export { CreditFault } from "./credit-store.ts";
export type { LedgerBatchStore } from "./ledger-batch-store.ts";
export { dayFacts } from "./day-facts.ts";
export { LedgerCounts } from "./ledger-counts.ts";
export type {
  AnsweredHeaders,
  AttemptOutcome,
  CloseOutcome,
  CloseRow,
  LaneNote,
  Ledger,
  PinnedSheet,
  PricePin,
  ReportFlag,
  ReserveOutcome,
  ReserveRow,
  SettlementBasis,
} from "./ledger-store.ts";
export { type OpenedLedger, openLedger } from "./open-ledger.ts";
export { droppedNames, droppedText, refusalReason } from "./refusal-reason.ts";
export { RefusalReason } from "./refusal-reason-schema.ts";
export { type AccessClosing, readLostChanges } from "./lost-changes.ts";
export { type CreditStore, PostgresCreditStore } from "./postgres-credit-store.ts";
export { PostgresLedgerBatchStore } from "./postgres-ledger-batch-store.ts";
export { StuckAttempts } from "./stuck-attempts.ts";
export { compareStatement } from "./provider-settlement/compare-statement.ts";
export type { LostLine, LostVerdict } from "./provider-settlement/lost-terms.ts";
export { periodFileName, readPeriodFile, signPeriod } from "./provider-settlement/period-file.ts";
export { ENTRY_COLUMNS, entryLine, wholePeriod } from "./provider-settlement/settlement-entries.ts";
export { type ProviderClaim, readProviderClaim } from "./provider-settlement/settlement-file.ts";
export { linesByModel, type SettlementTerms } from "./provider-settlement/settlement-plan.ts";
export type { Reconciliation } from "./provider-settlement/settlement-reconcile.ts";
export {
  type ClaimComparison,
  type ClosingOutcome,
  type PeriodName,
  type ProviderBalance,
  type ProviderPeriod,
  SettlementFault,
  type SettlementStatement,
} from "./provider-settlement/settlement-store.ts";
export {
  PostgresSettlementStore,
  type SettlementStore,
} from "./provider-settlement/postgres-settlement-store.ts";
export type { SettlementSums } from "./provider-settlement/settlement-sums.ts";
export { type ReopenedBooks, reopenBooks, type ReopenRequest } from "./reopen-books.ts";
export { createdAtOf, requestIdFrom, TWO_DAYS_OF_IDS } from "./request-ids.ts";
export { DayFolder } from "./retention/day-folder.ts";
export { type ExportCheck, verifyExport } from "./retention/retention-export.ts";
export { readManifest } from "./retention/retention-manifest.ts";
export { type Day, type DayArchive, dayFiles } from "./retention/retention.ts";
export {
  PostgresRetentionStore,
  type RetentionSession,
  type RetentionStore,
} from "./retention/postgres-retention-store.ts";
export { retireDays, type RetireOutcome } from "./retention/retire-days.ts";
export { openSigningKey, readPublicKey, type SigningKey } from "./retention/signing-key.ts";
export type { Balance, MonthSpend, PeriodSpend, SpendReads } from "./spend-reads.ts";
