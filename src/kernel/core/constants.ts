import { assert } from "./assert.ts";

const KiB = 1024;
const MiB = 1024 * KiB;

export const BODY_BYTES_MAX: number = 10 * MiB;
export const SMALL_BODY_BYTES_MAX: number = 1 * MiB;

export const OUTPUT_TOKENS_MIN: number = 1;
export const OUTPUT_TOKENS_MAX: number = 32_768;
export const OUTPUT_TOKENS_DEFAULT: number = 4_096;

export const MEDIA_PART_TOKENS: number = 65_536;

export const HEADER_BYTES_MAX: number = 16 * KiB;

export const IMAGES_PER_REQUEST_MAX: number = 4;
export const IMAGE_PROMPT_CHARS_MAX: number = 32_000;

export const POOL_BYTES_MAX: number = 64 * MiB;
/**
 * The smallest length that gets a pooled buffer. undici keeps a reference to a request body until
 * the answer ends, so an unpooled body would occupy memory for as long as the answer streams.
 */
export const POOLED_BYTES_MIN: number = KiB;
/** Larger bodies get no pooled buffer: they are too rare to keep memory for them. */
export const POOLED_BYTES_MAX: number = 4 * MiB;

export const SSE_LINE_BYTES_MAX: number = 1 * MiB;
export const SSE_EVENT_BYTES_MAX: number = 4 * MiB;

export const ANSWER_BYTES_MAX: number = 32 * MiB;
/**
 * The most tool calls that one streamed answer may have. An answer with more is still read to its
 * end, because its usage is reported there: the client, who got the first calls, pays for it.
 */
export const ANSWER_CALLS_MAX = 1_024;
/** Bytes of all decoded images of one answer. As base64 in the answer, they are a third longer. */
export const IMAGE_BYTES_MAX: number = 32 * MiB;
export const IMAGE_ANSWER_OTHER_BYTES_MAX: number = 1 * MiB;
export const DECISION_ANSWER_BYTES_MAX: number = 4 * MiB;
export const ERROR_BODY_BYTES_MAX: number = 64 * KiB;
export const PROVIDER_MESSAGE_CHARS_MAX: number = 300;
export const RETRY_AFTER_SECONDS_MAX: number = 60;
/** Limit on calls whose clients left: all models together get this many times one model's limit. */
export const DEPARTED_MODELS_MAX: number = 4;

/** If a provider reports more tokens than this for one answer, the report is ignored. */
export const REPORTED_TOKENS_MAX: number = 2 ** 31;

export const ORG_REQUESTS_PER_MINUTE: number = 300;
export const UNFUNDED_REQUESTS_PER_MINUTE: number = 20;
export const REFUSALS_PER_MINUTE: number = 600;
export const TRIAL_KEY_REQUESTS_PER_MINUTE: number = 20;
export const CONSOLE_KEY_REQUESTS_PER_MINUTE: number = 300;
export const MANAGED_KEY_REQUESTS_PER_MINUTE: number = 60;
export const TOKENS_PER_MINUTE: number = 1_000_000;
export const CONCURRENT_REQUESTS_MAX: number = 8;
/** Per key and organization. Nobody can lower it, so a limit that was set too low can be raised. */
export const SETTINGS_REQUESTS_PER_MINUTE: number = 60;

export const MODEL_LIMITS_PER_ORG_MAX: number = 200;

/** Default size of a process's database pool, except connections for reports and the ledger. */
export const DATABASE_CONNECTIONS_MAX: number = 10;
/** With a pooler: connections per process that bypass it, for locks, snapshots and migrations. */
export const DIRECT_CONNECTIONS_MAX: number = 4;

export const REQUEST_HEADERS_TIMEOUT_MS: number = 15_000;
export const REQUEST_BODY_TIMEOUT_MS: number = 60_000;
export const WRITE_IDLE_TIMEOUT_MS: number = 60_000;
/** Default of `unread_bytes_max`: bytes per process of answers that clients have not read yet. */
export const UNREAD_BYTES_MAX: number = 512 * 1024 * 1024;
export const UNREAD_BYTES_MAX_PER_KEY: number = 64 * 1024 * 1024;
/** Default of `arriving_bytes_max`: bytes of incomplete request bodies, per process. */
export const ARRIVING_BYTES_MAX: number = 512 * MiB;
/** Longer answers are written in slices: each that goes out shows that the client still reads. */
export const ANSWER_SLICE_BYTES: number = 64 * 1024;
/** How long a connection stays open after its last answer, for the client to receive it. */
export const LINGER_MS: number = 1_000;

export const CONNECTIONS_MAX: number = 10_000;
export const INTERNAL_CONNECTIONS_MAX: number = 1_000;
/** The most connections over `max_connections` that get a refusal; the others are just closed. */
export const REFUSED_CONNECTIONS_MAX: number = 1_000;
/** The most pipelined requests that wait on a connection. Usual clients pipeline none. */
export const PIPELINED_REQUESTS_MAX: number = 16;
/** Bytes of a refused body that the gateway reads and discards before it closes the connection. */
export const DISCARD_BYTES_MAX: number = 128 * MiB;

export const USAGE_FILE_TIMEOUT_MS: number = 600_000;
export const USAGE_FILE_PAGE_ROWS: number = 500;
export const USAGE_FILE_GROUPS_MAX: number = 100_000;
export const USAGE_FILES_PER_ORG_MAX: number = 4;
/**
 * Fewer than the connections for reports. The console's pages may use two more, so one organization
 * can still occupy all report connections for `reports.timeout_ms`.
 */
export const USAGE_SUMS_PER_ORG_MAX: number = 2;
/** How many more sums of an organization may wait: a dashboard asks for several sums at once. */
export const USAGE_SUMS_WAITING_MAX: number = 8;
/** Longer than a running read takes to fail if the store is away, so that the next gets a turn. */
export const ORG_READ_WAIT_MS: number = 10_000;
/** The most token-count requests of an organization that a process forwards at once. */
export const TOKEN_COUNTS_PER_ORG_MAX: number = 32;
/**
 * How many GET requests of an organization read the database at once in a process, each with up to
 * three connections. The others wait, because many clients that poll are legitimate.
 */
export const ORG_READS_MAX: number = 2;
export const ORG_READS_WAITING_MAX: number = 1_000;

export const VIDEO_FILES_PER_ORG_MAX: number = 16;

export const SETTLEMENT_STATEMENT_BYTES_MAX: number = 64 * MiB;
/** Lower for a page than for a command: the server parses the file while it serves requests. */
export const PAGE_STATEMENT_BYTES_MAX: number = 1 * MiB;
export const PAGE_STATEMENT_LINES_MAX: number = 20_000;
/** The most attempts of a period that a page compares with a provider's statement line by line. */
export const PAGE_STATEMENT_ATTEMPTS_MAX: number = 100_000;
/** Bytes of a JSON body with a statement, in which each quote and line break takes two bytes. */
export const PAGE_STATEMENT_BODY_BYTES_MAX: number = 3 * MiB;

/** Disabled ones count too. */
export const KEYS_PER_ORG_MAX: number = 1_000;
/** Those disabled in the last 30 days count too. */
export const CONNECTIONS_PER_ORG_MAX: number = 1_000;

export const KEY_TAGS_MAX: number = 10;

export const REPORT_CONNECTIONS_MAX: number = 3;
/** Connections per process beside its pool: for reports, three for the ledger, one for notices. */
export const OTHER_CONNECTIONS_MAX: number = REPORT_CONNECTIONS_MAX + 4;
/** `max_connections` of the embedded PostgreSQL. */
export const EMBEDDED_CONNECTIONS_MAX: number = 100;
/** How many connections the embedded PostgreSQL reserves for superusers, not for this program. */
export const EMBEDDED_CONNECTIONS_KEPT: number = 3;

export const REPORT_GROUPS_MAX: number = 200;
export const REPORT_SERIES_GROUPS_MAX: number = 7;
/** Reports on ranges up to this length have steps of five minutes. */
export const REPORT_FINE_HOURS_MAX: number = 3;
/** Reports on ranges up to this length have steps of an hour; on longer ranges, steps of a day. */
export const REPORT_HOURS_MAX: number = 48;
/** For a range of more days, the chart covers only the time from the first request to the last. */
export const REPORT_DAYS_MAX: number = 400;
export const REPORT_FILE_PAGE_ROWS: number = 2_000;

/** A range with more attempts has no report of tokens by request size. */
export const SIZED_ATTEMPTS_MAX: number = 100_000;

export const PROVIDER_ACTIVITY_ATTEMPTS_MAX: number = 200_000;
/** A day's rollup starts this long after the day, when requests of its last minute have ended. */
export const USAGE_ROLLUP_DELAY_HOURS: number = 3;

/** A month's statement closes this long after the month, when all attempts are in the journal. */
export const STATEMENT_DELAY_MS: number = 6 * 3_600_000;

export const USAGE_ROLLUP_ORGS_MAX: number = 20;
export const USAGE_ROLLUP_BATCHES_MAX: number = 10;
export const USAGE_ROLLUP_EVERY_MS: number = 60_000;
export const USAGE_ROLLUP_PAUSE_MS: number = 1_000;

/** Must exceed the number of days that the figures of listings show. */
export const LISTING_DAYS_KEPT: number = 35;
export const LISTING_HOURS_KEPT: number = 72;

/**
 * The hourly totals of a listing are computed this long after the hour ends, and again after
 * `LISTING_HOUR_AGAIN_HOURS`, to include attempts that ended late.
 */
export const LISTING_HOUR_DELAY_MINUTES: number = 5;
export const LISTING_HOUR_AGAIN_HOURS: number = 3;

/** A day is not public below this many organizations or `PUBLIC_FIGURES_CALLS_MIN` calls. */
export const PUBLIC_FIGURES_ORGS_MIN: number = 3;
export const PUBLIC_FIGURES_CALLS_MIN: number = 200;

/** How many refused requests of one key are stored as rows per minute; more are only counted. */
export const REFUSED_ROWS_PER_MINUTE: number = 60;
/** How many refused requests of one organization each process stores as rows per minute. */
export const REFUSED_ROWS_PER_MINUTE_PER_ORG: number = 3 * REFUSED_ROWS_PER_MINUTE;

/** Longer model names are cut: a refused request may contain any text as the model's name. */
export const REFUSED_MODEL_CHARS_MAX: number = 256;

export const KEY_CACHE_MS: number = 5_000;
export const KEY_CACHE_ENTRIES_MAX: number = 100_000;

/** How long, at most, an unknown key or session is refused without a look-up in the database. */
export const UNKNOWN_KEY_MS: number = 250;
export const UNKNOWN_KEYS_MAX: number = 10_000;
export const KEY_LOOKUP_KEYS_MAX: number = 512;
/** Wait between two look-ups of unknown keys, so that a flood of random keys costs little. */
export const KEY_LOOKUP_PAUSE_MS: number = 20;
/** How long the gateway remembers that the ledger refused a reserve because of money or a cap. */
export const SHORTFALL_MS: number = 250;

export const SHORTFALLS_MAX: number = 10_000;

export const STORE_ANSWER_TIMEOUT_MS: number = 2_000;
/** A claim without an answer by then is refused: no request is served with unchecked limits. */
export const LIMIT_CLAIM_TIMEOUT_MS: number = 500;

export const SETTLE_WAIT_MS: number = 2_000;

export const LEDGER_BATCH_ROWS_MAX: number = 512;
export const LEDGER_QUEUE_ROWS_MAX: number = 4_096;
export const LEDGER_QUEUE_ROWS_PER_ORG_MAX: number = LEDGER_QUEUE_ROWS_MAX / 4;
export const LEDGER_QUEUE_AGE_MS: number = 250;

export const LEASE_MS: number = 10_000;
export const LEASE_RENEW_MS: number = 2_000;
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
assert(ARRIVING_BYTES_MAX >= BODY_BYTES_MAX, "a body that arrives alone is not refused");
assert(SMALL_BODY_BYTES_MAX <= BODY_BYTES_MAX, "no route takes more than the general body bound");
assert(POOLED_BYTES_MAX <= POOL_BYTES_MAX, "each length that is lent fits into the pool");
assert(UNFUNDED_REQUESTS_PER_MINUTE <= ORG_REQUESTS_PER_MINUTE, "unfunded organizations get less");
assert(
  USAGE_SUMS_PER_ORG_MAX < REPORT_CONNECTIONS_MAX,
  "sums by keys leave a connection for reports",
);
assert(LEASE_RENEW_MS * 3 < LEASE_MS, "a lease survives two lost renewals");

export const WELCOME_REF_PREFIX = "welcome-credit-";
