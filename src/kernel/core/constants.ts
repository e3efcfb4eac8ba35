import { assert } from "./assert.ts";

/* The bounds of the service. Each name ends in its unit, or in its unit and MIN or MAX. */
const KiB = 1024;
const MiB = 1024 * KiB;

// Requests (specification: Limits, Request size; Worst-case reserve)

export const BODY_BYTES_MAX: number = 10 * MiB;

export const SMALL_BODY_BYTES_MAX: number = 1 * MiB;

export const OUTPUT_TOKENS_MIN: number = 1;

export const OUTPUT_TOKENS_MAX: number = 32_768;

export const OUTPUT_TOKENS_DEFAULT: number = 4_096;

export const MEDIA_PART_TOKENS: number = 65_536;

export const HEADER_BYTES_MAX: number = 16 * KiB;

export const IMAGES_PER_REQUEST_MAX: number = 4;

export const IMAGE_PROMPT_CHARS_MAX: number = 32_000;

// Buffer pool
/** Bytes of all buffers together, lent and idle. */
export const POOL_BYTES_MAX: number = 64 * MiB;
/**
 * The smallest pooled buffer. undici references a request body until its answer ends, so an
 * allocated body would keep its memory for as long as a stream; a lent one is reused.
 */
export const POOLED_BYTES_MIN: number = KiB;
/** Bodies above this are too rare to keep memory for. */
export const POOLED_BYTES_MAX: number = 4 * MiB;

// Provider answers

export const SSE_LINE_BYTES_MAX: number = 1 * MiB;

export const SSE_EVENT_BYTES_MAX: number = 4 * MiB;

export const ANSWER_BYTES_MAX: number = 32 * MiB;
/** Tool calls of one streamed answer. */
export const ANSWER_CALLS_MAX = 1_024;
/** Bytes of all images of one answer together, as files; in base64 they are a third longer. */
export const IMAGE_BYTES_MAX: number = 32 * MiB;
/** Bytes of an answer without its images. */
export const IMAGE_ANSWER_OTHER_BYTES_MAX: number = 1 * MiB;

export const DECISION_ANSWER_BYTES_MAX: number = 4 * MiB;

export const ERROR_BODY_BYTES_MAX: number = 64 * KiB;

export const PROVIDER_MESSAGE_CHARS_MAX: number = 300;

export const RETRY_AFTER_SECONDS_MAX: number = 60;
/** Number of models that may each reach their bound of calls whose client has left. */
export const DEPARTED_MODELS_MAX: number = 4;

/** A provider's report of more tokens for one answer is not believed. */
export const REPORTED_TOKENS_MAX: number = 2 ** 31;

// Limits (specification: Rate limits, defaults)

export const ORG_REQUESTS_PER_MINUTE: number = 300;

export const UNFUNDED_REQUESTS_PER_MINUTE: number = 20;

export const REFUSALS_PER_MINUTE: number = 600;

export const TRIAL_KEY_REQUESTS_PER_MINUTE: number = 20;

export const CONSOLE_KEY_REQUESTS_PER_MINUTE: number = 300;

export const MANAGED_KEY_REQUESTS_PER_MINUTE: number = 60;

export const TOKENS_PER_MINUTE: number = 1_000_000;

export const CONCURRENT_REQUESTS_MAX: number = 8;
/** Changes of settings by one key. They have a window of their own, which no setting lowers. */
export const SETTINGS_REQUESTS_PER_MINUTE: number = 60;

export const MODEL_LIMITS_PER_ORG_MAX: number = 200;

// Connections
/** Database connections of one process, in addition to those of reports and of the ledger. */
export const DATABASE_CONNECTIONS_MAX: number = 10;
/**
 * Direct connections of one process for locks, snapshots and migrations, if its other connections
 * go through a pooler.
 */
export const DIRECT_CONNECTIONS_MAX: number = 4;

export const REQUEST_HEADERS_TIMEOUT_MS: number = 15_000;

export const REQUEST_BODY_TIMEOUT_MS: number = 60_000;

export const WRITE_IDLE_TIMEOUT_MS: number = 60_000;
/** Bytes of whole answers that wait for their clients. */
export const UNREAD_BYTES_MAX: number = 512 * 1024 * 1024;
export const UNREAD_BYTES_MAX_PER_KEY: number = 64 * 1024 * 1024;
/** A longer answer is written in slices, which shows whether its client reads any of it. */
export const ANSWER_SLICE_BYTES: number = 64 * 1024;
/** How long a connection is read after its last answer, so that the client receives that answer. */
export const LINGER_MS: number = 1_000;

export const CONNECTIONS_MAX: number = 10_000;
/** Connections of the internal listener, which only probes and metrics scrapers use. */
export const INTERNAL_CONNECTIONS_MAX: number = 1_000;
/** Connections over the bound that may be answered at once; further ones are closed. */
export const REFUSED_CONNECTIONS_MAX: number = 1_000;
/** Bytes of a refused body that are read and discarded before its connection is closed. */
export const DISCARD_BYTES_MAX: number = 128 * MiB;

// Files of records

export const USAGE_FILE_TIMEOUT_MS: number = 600_000;

export const USAGE_FILE_PAGE_ROWS: number = 500;

export const USAGE_FILE_GROUPS_MAX: number = 100_000;

export const USAGE_FILES_PER_ORG_MAX: number = 4;

export const SETTLEMENT_STATEMENT_BYTES_MAX: number = 64 * MiB;
/**
 * Bytes of a provider's statement that a page uploads. Lower than for a command, because the server
 * parses it while it serves requests.
 */
export const PAGE_STATEMENT_BYTES_MAX: number = 1 * MiB;
export const PAGE_STATEMENT_LINES_MAX: number = 20_000;
/** Attempts of a period that such a statement is compared with line by line. */
export const PAGE_STATEMENT_ATTEMPTS_MAX: number = 100_000;
/** The same statement as a string in JSON, in which quotes and line breaks take two bytes. */
export const PAGE_STATEMENT_BODY_BYTES_MAX: number = 3 * MiB;

// Reports of the console
/** Keys of an organization, including disabled ones. */
export const KEYS_PER_ORG_MAX: number = 1_000;

/** Models that a key may be restricted to. */
export const KEY_MODELS_MAX: number = 100;
/** Tags of one key. */
export const KEY_TAGS_MAX: number = 10;

export const REPORT_CONNECTIONS_MAX: number = 3;

export const REPORT_GROUPS_MAX: number = 200;

export const REPORT_SERIES_GROUPS_MAX: number = 7;
/** Reports on ranges up to this length have steps of five minutes, on longer ranges of an hour. */
export const REPORT_FINE_HOURS_MAX: number = 3;
/** Reports on ranges up to this length have steps of at most an hour, on longer ranges of a day. */
export const REPORT_HOURS_MAX: number = 48;
/** A longer range is shortened to begin with its first request and end with its last. */
export const REPORT_DAYS_MAX: number = 400;

export const REPORT_FILE_PAGE_ROWS: number = 2_000;

/** Attempts that a report reads one by one; above this it answers that the figure is unknown. */
export const SIZED_ATTEMPTS_MAX: number = 100_000;

export const PROVIDER_ACTIVITY_ATTEMPTS_MAX: number = 200_000;
/** How long after a day its rollup starts: requests of its last minute have ended by then. */
export const USAGE_ROLLUP_DELAY_HOURS: number = 3;

/** How long after a month its statement is closed: all its attempts are in the journal by then. */
export const STATEMENT_DELAY_MS: number = 6 * 3_600_000;

export const USAGE_ROLLUP_ORGS_MAX: number = 20;

export const USAGE_ROLLUP_BATCHES_MAX: number = 10;

export const USAGE_ROLLUP_EVERY_MS: number = 60_000;

export const USAGE_ROLLUP_PAUSE_MS: number = 1_000;

/** How long the sums of listings are kept: longer than they are shown. */
export const LISTING_DAYS_KEPT: number = 35;

export const LISTING_HOURS_KEPT: number = 72;

/** How long after an hour its sums are computed, and computed again with attempts that ended late. */
export const LISTING_HOUR_DELAY_MINUTES: number = 5;

export const LISTING_HOUR_AGAIN_HOURS: number = 3;

/** Figures over all organizations show a day only if it has at least this many of each. */
export const PUBLIC_FIGURES_ORGS_MIN: number = 3;

export const PUBLIC_FIGURES_CALLS_MIN: number = 200;

// Refused requests
/** Rows of refused requests of one key in one minute; further refusals are only counted. */
export const REFUSED_ROWS_PER_MINUTE: number = 60;
/** The same bound for all keys of an organization together, in one process. */
export const REFUSED_ROWS_PER_MINUTE_PER_ORG: number = 3 * REFUSED_ROWS_PER_MINUTE;

// Caches and stores

export const KEY_CACHE_MS: number = 5_000;

export const KEY_CACHE_ENTRIES_MAX: number = 100_000;

/** How long an unknown key is refused without another look-up. */
export const UNKNOWN_KEY_MS: number = 250;

export const UNKNOWN_KEYS_MAX: number = 10_000;
/** Keys that one statement looks up. */
export const KEY_LOOKUP_KEYS_MAX: number = 512;
/** The pause after such a statement if it looked up an unknown key. */
export const KEY_LOOKUP_PAUSE_MS: number = 20;
/** How long the ledger's refusal for lack of money is remembered. */
export const SHORTFALL_MS: number = 250;

export const SHORTFALLS_MAX: number = 10_000;

export const STORE_ANSWER_TIMEOUT_MS: number = 2_000;
/** A shared limit store that takes longer counts as down, and requests go on without it. */
export const LIMIT_CLAIM_TIMEOUT_MS: number = 500;

export const SETTLE_WAIT_MS: number = 2_000;

// Ledger

export const LEDGER_BATCH_ROWS_MAX: number = 512;

export const LEDGER_QUEUE_ROWS_MAX: number = 4_096;

export const LEDGER_QUEUE_ROWS_PER_ORG_MAX: number = LEDGER_QUEUE_ROWS_MAX / 4;

export const LEDGER_QUEUE_AGE_MS: number = 250;

export const LEASE_MS: number = 10_000;

export const LEASE_RENEW_MS: number = 2_000;
/** Number of daily partitions of the journal that are created ahead. */
export const PARTITION_DAYS_AHEAD: number = 7;

export const MAINTAIN_EVERY_MS: number = 3_600_000;

export const JOURNAL_RETRY_AFTER_SECONDS: number = 2;

export const HEALTH_RETRY_AFTER_SECONDS: number = 5;

assert(
  OUTPUT_TOKENS_DEFAULT <= OUTPUT_TOKENS_MAX,
  "the default output bound is within the maximum",
);
assert(
  PAGE_STATEMENT_BODY_BYTES_MAX > 2 * PAGE_STATEMENT_BYTES_MAX,
  "a statement with many quotes is refused with its own sentence",
);
assert(SMALL_BODY_BYTES_MAX <= BODY_BYTES_MAX, "no route takes more than the general body bound");
assert(POOLED_BYTES_MAX <= POOL_BYTES_MAX, "each length that is lent fits into the pool");
assert(UNFUNDED_REQUESTS_PER_MINUTE <= ORG_REQUESTS_PER_MINUTE, "unfunded organizations get less");
assert(LEASE_RENEW_MS * 3 < LEASE_MS, "a lease survives two lost renewals");

/** Prefix of the reference of every grant of starting credit. */
export const WELCOME_REF_PREFIX = "welcome-credit-";
