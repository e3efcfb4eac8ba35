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
export { openPool, openReportPool, queryInTime } from "./connection.ts";
export { hasEmbeddedDatabase } from "./embedded-home.ts";
export type { EmbeddedArchive } from "./embedded-archive.ts";
export { restoreEmbedded, type RestoredDatabase } from "./embedded-restore.ts";
export { type EmbeddedPostgres, startEmbeddedPostgres } from "./embedded-server.ts";
export { checkSchema, migrateDatabase } from "./migrate.ts";
export { hostIdentity, isAlive, ownIdentity } from "./process-identity.ts";
export { RedisLink, type RedisScripts } from "./redis-link.ts";
export { inTransaction } from "./transaction.ts";
