export * from "./changes/actions.ts";
export * from "./changes/change-chain.ts";
export * from "./changes/change-log.ts";
export * from "./changes/change-store.ts";
export { dayAndHour, dollars, type Facts } from "./changes/change-words.ts";
export * from "./changes/change.ts";
export * from "./changes/changed-by.ts";
export * from "./changes/postgres-change-store.ts";
export * from "./config/console-settings.ts";
export * from "./config/issuer-settings.ts";
export * from "./config/key-value-list.ts";
export * from "./config/limit-settings.ts";
export * from "./config/listing-settings.ts";
export * from "./config/load-config.ts";
export * from "./config/own-variables.ts";
export * from "./config/settings-in-force.ts";
export * from "./config/settings.ts";
export * from "./config/timeout-settings.ts";
export * from "./config/unusual-use-settings.ts";
export * from "./config/upstream-settings.ts";
export * from "./core/answer-headers.ts";
export * from "./core/assert.ts";
export * from "./core/buffer-pool.ts";
export * from "./core/cap-period.ts";
export * from "./core/client-address.ts";
export {
  ANSWER_BYTES_MAX,
  ANSWER_CALLS_MAX,
  ANSWER_SLICE_BYTES,
  BODY_BYTES_MAX,
  CONCURRENT_REQUESTS_MAX,
  CONSOLE_KEY_REQUESTS_PER_MINUTE,
  DECISION_ANSWER_BYTES_MAX,
  DEPARTED_MODELS_MAX,
  DIRECT_CONNECTIONS_MAX,
  DISCARD_BYTES_MAX,
  ERROR_BODY_BYTES_MAX,
  HEADER_BYTES_MAX,
  HEALTH_RETRY_AFTER_SECONDS,
  IMAGES_PER_REQUEST_MAX,
  IMAGE_ANSWER_OTHER_BYTES_MAX,
  IMAGE_BYTES_MAX,
  IMAGE_PROMPT_CHARS_MAX,
  INTERNAL_CONNECTIONS_MAX,
  JOURNAL_RETRY_AFTER_SECONDS,
  KEYS_PER_ORG_MAX,
  KEY_CACHE_ENTRIES_MAX,
  KEY_CACHE_MS,
  KEY_LOOKUP_KEYS_MAX,
  KEY_LOOKUP_PAUSE_MS,
  LEASE_MS,
  LEASE_RENEW_MS,
  LEDGER_BATCH_ROWS_MAX,
  LEDGER_QUEUE_AGE_MS,
  LEDGER_QUEUE_ROWS_MAX,
  LEDGER_QUEUE_ROWS_PER_ORG_MAX,
  LIMIT_CLAIM_TIMEOUT_MS,
  LINGER_MS,
  LISTING_DAYS_KEPT,
  LISTING_HOURS_KEPT,
  LISTING_HOUR_AGAIN_HOURS,
  LISTING_HOUR_DELAY_MINUTES,
  MAINTAIN_EVERY_MS,
  MANAGED_KEY_REQUESTS_PER_MINUTE,
  MEDIA_PART_TOKENS,
  MODEL_LIMITS_PER_ORG_MAX,
  ORG_REQUESTS_PER_MINUTE,
  OUTPUT_TOKENS_DEFAULT,
  OUTPUT_TOKENS_MAX,
  OUTPUT_TOKENS_MIN,
  PAGE_STATEMENT_ATTEMPTS_MAX,
  PAGE_STATEMENT_BODY_BYTES_MAX,
  PAGE_STATEMENT_BYTES_MAX,
  PAGE_STATEMENT_LINES_MAX,
  PARTITION_DAYS_AHEAD,
  PROVIDER_ACTIVITY_ATTEMPTS_MAX,
  PROVIDER_MESSAGE_CHARS_MAX,
  PUBLIC_FIGURES_CALLS_MIN,
  PUBLIC_FIGURES_ORGS_MIN,
  REFUSED_CONNECTIONS_MAX,
  REFUSED_ROWS_PER_MINUTE,
  REFUSED_ROWS_PER_MINUTE_PER_ORG,
  REPORTED_TOKENS_MAX,
  REPORT_DAYS_MAX,
  REPORT_FILE_PAGE_ROWS,
  REPORT_FINE_HOURS_MAX,
  REPORT_GROUPS_MAX,
  REPORT_HOURS_MAX,
  REPORT_SERIES_GROUPS_MAX,
  REQUEST_BODY_TIMEOUT_MS,
  REQUEST_HEADERS_TIMEOUT_MS,
  RETRY_AFTER_SECONDS_MAX,
  SETTINGS_REQUESTS_PER_MINUTE,
  SETTLEMENT_STATEMENT_BYTES_MAX,
  SETTLE_WAIT_MS,
  SHORTFALLS_MAX,
  SHORTFALL_MS,
  SIZED_ATTEMPTS_MAX,
  SMALL_BODY_BYTES_MAX,
  SSE_EVENT_BYTES_MAX,
  SSE_LINE_BYTES_MAX,
  STATEMENT_DELAY_MS,
  STORE_ANSWER_TIMEOUT_MS,
  TOKENS_PER_MINUTE,
  TRIAL_KEY_REQUESTS_PER_MINUTE,
  UNFUNDED_REQUESTS_PER_MINUTE,
  UNKNOWN_KEYS_MAX,
  UNKNOWN_KEY_MS,
  USAGE_FILES_PER_ORG_MAX,
  USAGE_FILE_GROUPS_MAX,
  USAGE_FILE_PAGE_ROWS,
  USAGE_FILE_TIMEOUT_MS,
  USAGE_ROLLUP_BATCHES_MAX,
  USAGE_ROLLUP_DELAY_HOURS,
  USAGE_ROLLUP_EVERY_MS,
  USAGE_ROLLUP_ORGS_MAX,
  USAGE_ROLLUP_PAUSE_MS,
  WELCOME_REF_PREFIX,
  WRITE_IDLE_TIMEOUT_MS,
} from "./core/constants.ts";
export * from "./core/csv.ts";
export * from "./core/cut-text.ts";
export * from "./core/document-words.ts";
export * from "./core/time.ts";
export * from "./core/money.ts";
export * from "./core/email-address.ts";
export * from "./core/expiring-cache.ts";
export * from "./core/explain-refusal.ts";
export * from "./core/glob.ts";
export * from "./core/ids.ts";
export * from "./core/json-output.ts";
export * from "./core/json-values.ts";
export * from "./core/key-tags.ts";
export * from "./core/log.ts";
export * from "./core/made-of.ts";
export * from "./core/managed-keys.ts";
export * from "./core/moment.ts";
export * from "./core/public.ts";
export * from "./core/redact.ts";
export * from "./core/refusals.ts";
export * from "./core/request-status.ts";
export * from "./core/result.ts";
export * from "./core/roles.ts";
export * from "./core/served-model.ts";
export * from "./core/store-fault.ts";
export * from "./core/tax-id-types.ts";
export * from "./core/top-up-pauses.ts";
export {
  type BySku,
  type BySkuName,
  HOUR_SKU,
  HOUR_SKU_NAME,
  SKU_NAMES,
  type Sku,
  TOKEN_BUCKETS,
  TOKEN_BUCKET_NAMES,
  type TokenBucket,
  type Usage,
  ZERO_USAGE,
  byBucket,
  bySkuName,
  eachSku,
  fromSkuNames,
  outputTokensTotal,
  promptTokensTotal,
  sumUsage,
  withoutHourWrites,
} from "./core/usage.ts";
export * from "./core/visible-text.ts";
export {
  NOT_BLANK,
  type SchemaCheck,
  type SchemaFault,
  byType,
  closed,
  conforms,
  pathText,
  schemaCheck,
  schemaFaults,
} from "./json/check-schema.ts";
export * from "./json/splice.ts";
export * from "./json/describe-fields.ts";
export * from "./json/fold-name.ts";
export * from "./json/json-edit.ts";
export * from "./json/json-document.ts";
export { READ_DEPTH_MAX, UNKNOWN_FIELDS_MAX } from "./json/json-limits.ts";
export * from "./json/json-pointer.ts";
export * from "./json/json-progress.ts";
export * from "./json/json-text.ts";
export * from "./json/json-keys.ts";
export * from "./json/read-json-object.ts";
export {
  JSON_DEPTH_MAX,
  JSON_VALUES_MAX,
  type JsonFlaw,
  type RawJson,
  RawNumber,
  type RawObject,
  readJson,
  readRawJson,
} from "./json/read-manifest-json.ts";
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
export * from "./mail/name-in-mail.ts";
export * from "./mail/smtp-mailer.ts";
export * from "./metrics/dollars.ts";
export * from "./metrics/exposition.ts";
export * from "./metrics/family.ts";
export * from "./metrics/listing-fold.ts";
export * from "./metrics/process-metrics.ts";
export * from "./plain-page/plain-page.ts";
export * from "./storage/columns.ts";
export * from "./storage/check-server.ts";
export * from "./storage/connection.ts";
export * from "./storage/database-address.ts";
export * from "./storage/durable-files.ts";
export * from "./storage/embedded-home.ts";
export * from "./storage/embedded-restore.ts";
export * from "./storage/embedded-server.ts";
export * from "./storage/migrate.ts";
export * from "./storage/migration-runner.ts";
export * from "./storage/process-identity.ts";
export * from "./storage/redis-client.ts";
export * from "./storage/replica-watch.ts";
export type { SchemaState } from "./storage/schema-state.ts";
export * from "./storage/session-settings.ts";
export * from "./storage/take-rows.ts";
export * from "./storage/transaction.ts";
