export { ACTIONS, type Action, type ActionName, actionNames, findAction } from "./actions.ts";
export type { ActorKind, Change, ChangedBy, Facts, RecordedChange } from "./change.ts";
export { ChangeLog, type Note } from "./change-log.ts";
export type { ChangeFilter, ChangeStore } from "./change-store.ts";
export {
  byCaller,
  byGateway,
  byOperator,
  byProviderNews,
  maskedEmail,
  wideNetwork,
} from "./changed-by.ts";
export type { ExportedChange, ExportSeal } from "./exported-change.ts";
export { PostgresChangeStore } from "./postgres-change-store.ts";
export { recordChanges } from "./record-changes.ts";
