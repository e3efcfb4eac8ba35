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
  limitRole,
  limitSession,
  openPool,
  openReportPool,
  openSharedPool,
  queryInTime,
  roleLimitMs,
} from "./connection.ts";
export { checkServer } from "./check-server.ts";
export { hasEmbeddedDatabase } from "./embedded-home.ts";
export { startEmbeddedPostgres } from "./embedded-server.ts";
export { checkSchema, migrateDatabase } from "./migrate.ts";
export { ReplicaWatch } from "./replica-watch.ts";
export { hostIdentity, isAlive, ownIdentity } from "./process-identity.ts";
export type { RedisScripts, RedisServers } from "./redis-client.ts";
export { RedisLink } from "./redis-link.ts";
export { inTransaction } from "./transaction.ts";
