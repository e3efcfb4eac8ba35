export { findAction } from "./actions.ts";
export { checkChain, exportLines } from "./change-chain.ts";
export {
  accountsIn,
  type Change,
  type ChangedBy,
  type Facts,
  type RecordedChange,
} from "./change.ts";
export { ChangeLog, type Note } from "./change-log.ts";
export type { ChangeFilter } from "./change-store.ts";
export type { ExportedChange } from "./exported-change.ts";
export {
  byCaller,
  byGateway,
  byOperator,
  byProviderNews,
  maskedEmail,
  wideNetwork,
} from "./changed-by.ts";
export { type ChangeStore, PostgresChangeStore } from "./postgres-change-store.ts";
export { recordChanges } from "./record-changes.ts";
