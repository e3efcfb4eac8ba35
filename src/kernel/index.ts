export * from "./changes/actions.ts";
export * from "./changes/change-chain.ts";
export * from "./changes/change-log.ts";
export * from "./changes/change-words.ts";
export * from "./changes/change.ts";
export * from "./changes/postgres-change-store.ts";
export * from "./config/console-settings.ts";
export * from "./config/listing-settings.ts";
export * from "./config/limit-settings.ts";
export * from "./config/load-config.ts";
export * from "./config/own-variables.ts";
export * from "./config/settings-in-force.ts";
export * from "./config/settings.ts";
export * from "./config/upstream-settings.ts";
export * from "./core/explain-refusal.ts";
export * from "./core/assert.ts";
export * from "./core/buffer-pool.ts";
export * from "./core/cap-period.ts";
export * from "./core/client-address.ts";
export * from "./core/constants.ts";
export * from "./core/csv.ts";
export * from "./core/visible-text.ts";
export * from "./core/defined.ts";
export * from "./core/document-words.ts";
export * from "./core/time.ts";
export * from "./core/money.ts";
export * from "./core/email-address.ts";
export * from "./core/expiring-cache.ts";
export * from "./core/fault.ts";
export * from "./core/glob.ts";
export * from "./core/group-by.ts";
export * from "./core/ids.ts";
export * from "./core/json-values.ts";
export * from "./core/key-tags.ts";
export * from "./core/log.ts";
export * from "./core/managed-keys.ts";
export * from "./core/redact.ts";
export * from "./core/refusals.ts";
export * from "./core/request-status.ts";
export * from "./core/roles.ts";
export * from "./core/served-model.ts";
export * from "./core/store-fault.ts";
export * from "./core/tax-id-types.ts";
export * from "./core/top-up-pauses.ts";
export * from "./core/turns.ts";
export * from "./core/usage.ts";
export * from "./json/check-schema.ts";
export * from "./json/splice.ts";
export * from "./json/fold-name.ts";
export * from "./json/json-edit.ts";
export * from "./json/json-document.ts";
export { READ_DEPTH_MAX, UNKNOWN_FIELDS_MAX } from "./json/json-limits.ts";
export * from "./json/json-progress.ts";
export * from "./json/json-text.ts";
export * from "./json/json-keys.ts";
export * from "./json/read-json-object.ts";
export * from "./json/read-manifest-json.ts";
export * from "./json/read-route.ts";
export * from "./json/scan-json.ts";
export {
  Count,
  Instant,
  List,
  MaybeInstant,
  MaybeInteger,
  MaybeText,
  Tokens,
  nullable,
  oneOf,
  showTokens,
} from "./json/schema-parts.ts";
export * from "./json/shape.ts";
export * from "./json/signed-document.ts";
export * from "./mail/mail-text.ts";
export * from "./mail/mailer.ts";
export * from "./metrics/dollars.ts";
export * from "./metrics/exposition.ts";
export * from "./metrics/family.ts";
export * from "./metrics/process-metrics.ts";
export * from "./plain-page/plain-page.ts";
export * from "./storage/columns.ts";
export * from "./storage/check-server.ts";
export * from "./storage/connection.ts";
export * from "./storage/durable-files.ts";
export * from "./storage/embedded-home.ts";
export * from "./storage/embedded-restore.ts";
export * from "./storage/embedded-server.ts";
export * from "./storage/migrate.ts";
export * from "./storage/process-identity.ts";
export * from "./storage/redis-client.ts";
export * from "./storage/replica-watch.ts";
export type { SchemaState } from "./storage/schema-state.ts";
export * from "./storage/session-settings.ts";
export * from "./storage/transaction.ts";
