import {
  CONNECTIONS_MAX,
  DATABASE_CONNECTIONS_MAX,
  KEY_CACHE_MS,
  REFUSALS_PER_MINUTE,
} from "../core/index.ts";
import { CONSOLE_SETTINGS, type ConsoleConfig } from "./console-settings.ts";
import { OPERATIONS_SETTINGS, type OperationsConfig } from "./operations-settings.ts";
import { atMost, flag, integer, text, type Setting } from "./setting.ts";

export { environmentName, type Setting } from "./setting.ts";

/** The whole configuration, typed; `loadConfig` freezes it. Time limits are milliseconds. */
export interface Config extends ConsoleConfig, OperationsConfig {
  readonly port: number;
  readonly consolePort: number;
  readonly internalPort: number;
  readonly host: string;
  readonly internalHost: string;
  readonly maxConnections: number;
  readonly dataDir: string;
  readonly manifestsDir: string;
  readonly gatewayUrl: string;
  readonly consoleUrl: string;
  readonly databaseUrl: string;
  readonly databasePoolMax: number;
  readonly redisUrl: string;
  readonly logLevel: string;
  readonly allowPrivateUpstreams: boolean;
  readonly providerKeyOrigins: string;
  readonly keyCacheMs: number;
  readonly streamHeadersTimeoutMs: number;
  readonly generationTimeoutMs: number;
  readonly streamIdleTimeoutMs: number;
  readonly routingTimeoutMs: number;
  readonly firstContentTimeoutMs: number;
  readonly streamTotalMs: number;
  readonly commitSilenceMs: number;
  readonly keepaliveMs: number;
  readonly videoAcceptTimeoutMs: number;
  readonly decisionsTimeoutMs: number;
  readonly decisionsPublicForm: string;
  readonly videoDeadlineMs: number;
  readonly videoPollMinMs: number;
  readonly videoSweepMs: number;
  readonly videoAnswerTimeoutMs: number;
  readonly videoClientWaitMs: number;
  readonly videoNoAnswerPauseMs: number;
  readonly videoContentBytesMax: number;
  readonly orgRequestsPerMinute: number;
  readonly unfundedRequestsPerMinute: number;
  readonly refusalsPerMinute: number;
  readonly keyRequestsPerMinute: number;
  readonly tokensPerMinute: number;
  readonly concurrentRequests: number;
  readonly concurrentDrains: number;
  readonly platformRequestsPerMinute: number;
  readonly platformConcurrentRequests: number;
  readonly poolsFile: string;
  readonly optimizeCallGapMs: number;
  readonly encryptionKey: string;
  readonly unusualUseWindowSeconds: number;
  readonly unusualUseRefusedRequests: number;
  readonly unusualUseClientAddresses: number;
  readonly unusualUseErrorPercent: number;
  readonly unusualUseRequestsMin: number;
  readonly unusualUseSpendUsd: string;
  readonly unusualUseLimitedSeconds: number;
  readonly unusualUseRepeatHours: number;
  readonly retentionAttemptsDays: number;
  readonly retentionSigningKeyFile: string;
}

export type SettingName = keyof Config;

/**
 * Every setting, once. The configuration reader, the environment names and the reference page are
 * made from this table. Milliseconds end in `_ms`.
 */
export const SETTINGS: { readonly [K in SettingName]: Setting<Config[K]> } = {
  port: integer("port", 8080, 0, "Gateway port; 0 picks a free one."),
  consolePort: integer("console_port", 8081, 0, "Console port; 0 picks a free one."),
  internalPort: integer(
    "internal_port",
    8082,
    0,
    "Internal port: `/metrics`, `/livez` and `/readyz`; 0 picks a free one.",
  ),
  host: text("host", "127.0.0.1", "Address the gateway and the console listen on."),
  internalHost: text(
    "internal_host",
    "127.0.0.1",
    "Address the internal port listens on. It requires no key: never use a public address.",
  ),
  maxConnections: integer(
    "max_connections",
    CONNECTIONS_MAX,
    1,
    "Open connections per process, for the gateway and the console each. The gateway answers a " +
      "connection above that with 503 and closes it.",
  ),
  dataDir: text("data", "./data", "Folder of the embedded PostgreSQL and other local files."),
  manifestsDir: text("manifests", "./manifests", "Folder of provider manifests (`*.json`)."),
  gatewayUrl: text("gateway_url", "", "Public base URL of the gateway when it is behind a proxy."),
  consoleUrl: text("console_url", "", "Public base URL of the console when it is behind a proxy."),
  databaseUrl: {
    path: "database_url",
    alsoEnv: ["DATABASE_URL"],
    kind: "string",
    fallback: "",
    secret: true,
    doc: "Connection string of your PostgreSQL. Empty: the embedded PostgreSQL is started.",
  },
  databasePoolMax: integer(
    "database.pool_max",
    DATABASE_CONNECTIONS_MAX,
    1,
    "Maximum database connections per process, in addition to 3 for reports, 2 for the ledger and 1 " +
      "that listens for changes.",
  ),
  redisUrl: {
    path: "redis_url",
    alsoEnv: ["REDIS_URL"],
    kind: "string",
    fallback: "",
    secret: true,
    doc:
      "`redis[s]://[user:password@]host[:port][/database]` of the Redis or Valkey that shares limits and " +
      "cooldowns between processes; several with commas for a cluster. Empty: each process counts alone.",
  },
  logLevel: {
    path: "log_level",
    alsoEnv: ["LOG_LEVEL"],
    kind: "level",
    fallback: "info",
    doc: "One of trace, debug, info, warn, error, fatal, silent.",
  },
  allowPrivateUpstreams: flag(
    "allow_private_upstreams",
    "Allows provider URLs with loopback and private addresses.",
  ),
  providerKeyOrigins: text(
    "provider_key_origins",
    "",
    "`NAME=origin` pairs, separated by commas. A variable listed here is sent as a provider key to " +
      "these origins only. A variable that is not listed is bound to the first origin that a manifest " +
      "names it for, until the program ends.",
  ),
  keyCacheMs: atMost(
    integer(
      "auth.key_cache_ms",
      KEY_CACHE_MS,
      0,
      "How long a key and its account's rules are cached after they were read, at most 5000. A change " +
        "takes effect at once in the process that made it and within 250 ms in the others; while the " +
        "database's notifications do not arrive, a disabled key works for this time. 0: no cache.",
    ),
    KEY_CACHE_MS,
  ),
  ...OPERATIONS_SETTINGS,
  streamHeadersTimeoutMs: integer(
    "timeouts.stream_headers_ms",
    20_000,
    1,
    "Maximum wait for a provider's response headers on a stream.",
  ),
  generationTimeoutMs: integer(
    "timeouts.generation_ms",
    450_000,
    1,
    "Maximum duration of an answer that is not streamed or whose client has disconnected.",
  ),
  streamIdleTimeoutMs: integer(
    "timeouts.stream_idle_ms",
    120_000,
    1,
    "Maximum time without data from a provider inside a stream.",
  ),
  routingTimeoutMs: integer(
    "timeouts.routing_ms",
    450_000,
    1,
    "Time in which another deployment may still be tried.",
  ),
  firstContentTimeoutMs: integer(
    "timeouts.first_content_ms",
    450_000,
    1,
    "Maximum wait for a stream's first content; comments and empty events do not extend it.",
  ),
  streamTotalMs: integer(
    "timeouts.stream_total_ms",
    3_600_000,
    1,
    "Maximum duration of a stream with a connected client; it then ends with an error.",
  ),
  commitSilenceMs: integer(
    "timeouts.commit_silence_ms",
    45_000,
    0,
    "Time after which a stream that its provider has accepted is started without content, so that " +
      "no proxy closes it; from then on no other provider is tried. 0: never.",
  ),
  keepaliveMs: integer(
    "timeouts.keepalive_ms",
    10_000,
    1,
    "Time without data after which a keep-alive is sent on a client's open stream.",
  ),
  videoAcceptTimeoutMs: integer(
    "timeouts.video_accept_ms",
    60_000,
    1,
    "Maximum wait until a provider accepts a video job.",
  ),
  decisionsTimeoutMs: integer("timeouts.decisions_ms", 60_000, 1, "Maximum wait for a decision."),
  decisionsPublicForm: text(
    "decisions.public_form_providers",
    "",
    "Provider ids, separated by commas. These receive questions in the public form of their API; " +
      "the others receive them as the client wrote them.",
  ),
  videoDeadlineMs: integer(
    "videos.deadline_ms",
    7_200_000,
    1,
    "Age at which an unfinished video job is abandoned.",
  ),
  videoPollMinMs: integer(
    "videos.poll_min_ms",
    3_000,
    1,
    "Minimum time between two polls of a video job.",
  ),
  videoSweepMs: integer(
    "videos.sweep_ms",
    5_000,
    1,
    "Interval at which due video jobs are polled.",
  ),
  videoAnswerTimeoutMs: integer(
    "videos.answer_timeout_ms",
    10_000,
    1,
    "Maximum wait for a provider's answer to a poll or a cancellation of a video job.",
  ),
  videoClientWaitMs: integer(
    "videos.client_wait_ms",
    5_000,
    1,
    "How long a client's request for a video job waits for the provider; after that it gets the " +
      "last known state.",
  ),
  videoNoAnswerPauseMs: integer(
    "videos.no_answer_pause_ms",
    5_000,
    0,
    "How long a listing's video jobs are not polled after its provider did not answer.",
  ),
  videoContentBytesMax: integer(
    "videos.content_bytes_max",
    2_147_483_648,
    1,
    "Maximum size of a video file; a larger one is not delivered.",
  ),
  orgRequestsPerMinute: integer(
    "limits.org_requests_per_minute",
    300,
    1,
    "Requests per minute of one organization, all keys together.",
  ),
  unfundedRequestsPerMinute: integer(
    "limits.unfunded_requests_per_minute",
    20,
    1,
    "Requests per minute of an organization and its keys until it has credit.",
  ),
  refusalsPerMinute: integer(
    "limits.refusals_rpm",
    REFUSALS_PER_MINUTE,
    1,
    "Refused requests per minute of one key, and three times as many of one organization. Above " +
      "that, requests are refused before their bodies are read.",
  ),
  keyRequestsPerMinute: integer(
    "limits.key_requests_per_minute",
    0,
    0,
    "When above 0, replaces the request limit of every key (load tests, single-tenant installations).",
  ),
  tokensPerMinute: integer(
    "limits.tokens_per_minute",
    1_000_000,
    1,
    "Tokens per minute of one organization, and the same of one key.",
  ),
  concurrentRequests: integer(
    "limits.concurrent_requests",
    8,
    1,
    "Requests in flight of one organization, and the same of one key.",
  ),
  concurrentDrains: integer(
    "limits.concurrent_drains",
    4_096,
    256,
    "Answers read to their end at the same time after their clients disconnected, at least 256. Each " +
      "keeps its organization's slot; above that, an answer is cut off and billed as far as reported.",
  ),
  platformRequestsPerMinute: integer(
    "limits.platform_requests_per_minute",
    0,
    0,
    "Requests per minute of all organizations together; 0: no limit. Above it: 503 `gateway_error`.",
  ),
  platformConcurrentRequests: integer(
    "limits.platform_concurrent_requests",
    0,
    0,
    "Requests in flight of all organizations together; 0: no limit. Above it: 503 `gateway_error`.",
  ),
  poolsFile: text(
    "pools_file",
    "",
    "YAML file that defines which listings share a provider's capacity (see `examples/pools`). " +
      "Empty: each listing has its own pool.",
  ),
  optimizeCallGapMs: integer(
    "optimize.call_gap_ms",
    1_050,
    0,
    "Time between the starts of two calls of one Optimize search; 60 per minute is its key's limit.",
  ),
  encryptionKey: {
    path: "encryption_key",
    kind: "string",
    fallback: "",
    secret: true,
    doc: "32 bytes in base64 that encrypt customers' own provider keys; several with commas: the first encrypts, all decrypt. Empty: customers cannot store any.",
  },
  unusualUseWindowSeconds: integer(
    "unusual_use.window_seconds",
    300,
    0,
    "Window in which unusual use of organizations on trial is detected; 0: detection is off.",
  ),
  unusualUseRefusedRequests: integer(
    "unusual_use.refused_requests",
    200,
    0,
    "Number of refused requests in the window that is unusual; 0: not checked.",
  ),
  unusualUseClientAddresses: integer(
    "unusual_use.client_addresses",
    20,
    0,
    "Number of different client addresses in the window that is unusual; 0: not checked.",
  ),
  unusualUseErrorPercent: integer(
    "unusual_use.error_percent",
    80,
    0,
    "Share of failed requests that is unusual, in percent; 0: not checked.",
  ),
  unusualUseRequestsMin: integer(
    "unusual_use.requests_min",
    50,
    1,
    "Minimum number of requests in the window for the share of failed requests to count.",
  ),
  unusualUseSpendUsd: text(
    "unusual_use.spend_usd",
    "5.00",
    "Dollars spent in the window that are unusual; empty: not checked.",
  ),
  unusualUseLimitedSeconds: integer(
    "unusual_use.limited_seconds",
    600,
    1,
    "How long requests of a kind are limited after a first finding (`usage_limited`).",
  ),
  unusualUseRepeatHours: integer(
    "unusual_use.repeat_hours",
    24,
    1,
    "A second finding within this time restricts the kind of request until an operator lifts it.",
  ),
  retentionAttemptsDays: integer(
    "retention.attempts_days",
    90,
    0,
    "Whole days an attempt stays in the journal before `ledger retire` exports it; 0: kept permanently.",
  ),
  retentionSigningKeyFile: text(
    "retention.signing_key_file",
    "",
    "PEM file of the Ed25519 key that signs exports. Empty: `retention-signing-key.pem` in `data`.",
  ),
  ...CONSOLE_SETTINGS,
};
