export { capColumn, hasDailySpendSql } from "./cap-columns.ts";
export { readPlainColumn } from "./column-text.ts";
export {
  batchValues,
  big,
  bool,
  type Column,
  columns,
  type Columns,
  type ColumnsOf,
  computed,
  count,
  durationMs,
  instantMs,
  integer,
  marks,
  micro,
  opaque,
  orAbsent,
  orNull,
  pico,
  type Row,
  text,
  word,
} from "./columns.ts";
export {
  beginLocally,
  beginSession,
  openPool,
  openReportPool,
  poolUse,
  type PoolUse,
  queryInTime,
  openSharedPool,
} from "./connection.ts";
export { type DatabaseAddress, openClient } from "./database-address.ts";
export { dataFolderProblem, hasEmbeddedDatabase } from "./embedded-home.ts";
export { startEmbeddedPostgres, type EmbeddedPostgres } from "./embedded-server.ts";
export { checkSchema, migrateDatabase, programSchemaLevel, readSchema } from "./migrate.ts";
export type { SchemaState } from "./schema-state.ts";
export { SchemaBusyFault } from "./migration-runner.ts";
export { flushPath } from "./durable-files.ts";
export { restoreEmbedded } from "./embedded-restore.ts";
export { checkServer, DatabaseUnfitFault } from "./check-server.ts";
export { ReplicaWatch } from "./replica-watch.ts";
export { hostIdentity, isAlive, ownIdentity } from "./process-identity.ts";
export type { RedisScripts, RedisServers } from "./redis-client.ts";
export { RedisLink } from "./redis-link.ts";
export { missingSettings, settleRole } from "./session-settings.ts";
export { lockedConnection, takeRowsSql, unlockConnection } from "./take-rows.ts";
export { inTransaction } from "./transaction.ts";
