import {
  connectionsMax,
  databaseConnectionsMax,
  keyCacheMs,
  refusalsPerMinute,
} from "../core/constants.ts";
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
    "Internal port: `/metrics`, `/livez`, `/readyz`; 0 picks a free one.",
  ),
  host: text("host", "127.0.0.1", "Address the gateway and the console listen on."),
  internalHost: text(
    "internal_host",
    "127.0.0.1",
    "Address the internal port listens on; it asks for no key, so never a public one.",
  ),
  maxConnections: integer(
    "max_connections",
    connectionsMax,
    1,
    "Open connections of one process, of the gateway and of the console each; the gateway answers " +
      "one more with 503 and closes it.",
  ),
  dataDir: text("data", "./data", "Folder of the embedded PostgreSQL and of local files."),
  manifestsDir: text("manifests", "./manifests", "Folder of provider manifests (`*.json`)."),
  gatewayUrl: text("gateway_url", "", "Public base address of the gateway, when behind a proxy."),
  consoleUrl: text("console_url", "", "Public base address of the console, when behind a proxy."),
  databaseUrl: {
    path: "database_url",
    alsoEnv: ["DATABASE_URL"],
    kind: "string",
    fallback: "",
    secret: true,
    doc: "Connection string of your PostgreSQL; empty: the embedded one is started.",
  },
  databasePoolMax: integer(
    "database.pool_max",
    databaseConnectionsMax,
    1,
    "Most database connections of a process, besides 3 of reports, 2 of the ledger and 1 that listens " +
      "for changes.",
  ),
  redisUrl: {
    path: "redis_url",
    alsoEnv: ["REDIS_URL"],
    kind: "string",
    fallback: "",
    secret: true,
    doc:
      "`redis[s]://[user:password@]host[:port][/database]` of the Redis or Valkey that shares limits, " +
      "and what rests, between processes, several with commas for a cluster; empty: each process counts for itself.",
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
    "Lets manifests point at loopback and private addresses.",
  ),
  providerKeyOrigins: text(
    "provider_key_origins",
    "",
    "`NAME=origin` pairs, with commas: a variable that is listed here is a provider key for these " +
      "origins only; one that is not listed belongs to the first origin that a manifest names it " +
      "for, and stays there while the program runs.",
  ),
  keyCacheMs: atMost(
    integer(
      "auth.key_cache_ms",
      keyCacheMs,
      0,
      "How long a key and the rules of its account are remembered after they were read. A change is " +
        "known at once where it was made and within 250 ms elsewhere; only while the database's notices " +
        "do not arrive a disabled key works that much longer. 0: every request reads them. At most 5000.",
    ),
    keyCacheMs,
  ),
  ...OPERATIONS_SETTINGS,
  streamHeadersTimeoutMs: integer(
    "timeouts.stream_headers_ms",
    20_000,
    1,
    "Longest wait for a provider's first headers on a stream.",
  ),
  generationTimeoutMs: integer(
    "timeouts.generation_ms",
    450_000,
    1,
    "Longest a non-stream answer, or the reading on after a client left, may take.",
  ),
  streamIdleTimeoutMs: integer(
    "timeouts.stream_idle_ms",
    120_000,
    1,
    "Longest silence of a provider inside a stream.",
  ),
  routingTimeoutMs: integer(
    "timeouts.routing_ms",
    450_000,
    1,
    "Longest time in which another deployment may still be tried.",
  ),
  firstContentTimeoutMs: integer(
    "timeouts.first_content_ms",
    450_000,
    1,
    "Longest wait for a stream's first content; comments and empty events do not renew it.",
  ),
  streamTotalMs: integer(
    "timeouts.stream_total_ms",
    3_600_000,
    1,
    "Longest a stream that its client reads may take; then it ends with an error.",
  ),
  commitSilenceMs: integer(
    "timeouts.commit_silence_ms",
    45_000,
    0,
    "Silence after which a stream that its provider has answered is begun without content, so that " +
      "no proxy ends it; from then on no other provider is tried. 0: never.",
  ),
  keepaliveMs: integer(
    "timeouts.keepalive_ms",
    10_000,
    1,
    "Silence after which a keep-alive goes to a client's open stream.",
  ),
  videoAcceptTimeoutMs: integer(
    "timeouts.video_accept_ms",
    60_000,
    1,
    "Longest wait until a provider accepts a video job.",
  ),
  decisionsTimeoutMs: integer("timeouts.decisions_ms", 60_000, 1, "Longest wait for a decision."),
  decisionsPublicForm: text(
    "decisions.public_form_providers",
    "",
    "Provider ids, with commas: questions go to them in the public form of their wire; to the others " +
      "as the buyer wrote them.",
  ),
  videoDeadlineMs: integer(
    "videos.deadline_ms",
    7_200_000,
    1,
    "Age at which a video job is given up.",
  ),
  videoPollMinMs: integer(
    "videos.poll_min_ms",
    3_000,
    1,
    "Shortest time between two looks at a video job.",
  ),
  videoSweepMs: integer("videos.sweep_ms", 5_000, 1, "Time between two sweeps over video jobs."),
  videoAnswerTimeoutMs: integer(
    "videos.answer_timeout_ms",
    10_000,
    1,
    "Longest wait for a provider to say how a video job is, or that it is cancelled.",
  ),
  videoClientWaitMs: integer(
    "videos.client_wait_ms",
    5_000,
    1,
    "How long a client that asks for a video job waits for its provider; then it gets the last " +
      "known state.",
  ),
  videoNoAnswerPauseMs: integer(
    "videos.no_answer_pause_ms",
    5_000,
    0,
    "How long the video jobs of a listing are not polled after its provider gave no answer.",
  ),
  videoContentBytesMax: integer(
    "videos.content_bytes_max",
    2_147_483_648,
    1,
    "A video file longer than that is not passed on.",
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
    "Requests per minute of an organization and its keys until it holds credit.",
  ),
  refusalsPerMinute: integer(
    "limits.refusals_rpm",
    refusalsPerMinute,
    1,
    "Refused requests per minute of one key, and three times as many of one organization; above " +
      "that its requests are refused before their bodies are read.",
  ),
  keyRequestsPerMinute: integer(
    "limits.key_requests_per_minute",
    0,
    0,
    "Replaces every key's own ceiling when above 0 (load tests, single-tenant installations).",
  ),
  tokensPerMinute: integer(
    "limits.tokens_per_minute",
    1_000_000,
    1,
    "Tokens per minute of one organization, and of one key.",
  ),
  concurrentRequests: integer(
    "limits.concurrent_requests",
    8,
    1,
    "Requests in flight of one organization, and of one key.",
  ),
  concurrentDrains: integer(
    "limits.concurrent_drains",
    4_096,
    256,
    "Answers that are read to their end at once after their clients left, each in the slot of its " +
      "organization; one more is cut and billed as far as it was reported. At least 256.",
  ),
  platformRequestsPerMinute: integer(
    "limits.platform_requests_per_minute",
    0,
    0,
    "Requests per minute of everybody together; 0: no limit. Above it 503 `gateway_error`.",
  ),
  platformConcurrentRequests: integer(
    "limits.platform_concurrent_requests",
    0,
    0,
    "Requests in flight of everybody together; 0: no limit. Above it 503 `gateway_error`.",
  ),
  poolsFile: text(
    "pools_file",
    "",
    "YAML file that says which listings share a provider's capacity (see `examples/pools`); empty: " +
      "each listing has a pool of its own.",
  ),
  optimizeCallGapMs: integer(
    "optimize.call_gap_ms",
    1_050,
    0,
    "Time between the starts of two calls of one search; the key of a search may make 60 requests " +
      "a minute.",
  ),
  encryptionKey: {
    path: "encryption_key",
    kind: "string",
    fallback: "",
    secret: true,
    doc: "32 bytes in base64 that customers' own provider keys are encrypted with; empty: there are none.",
  },
  unusualUseWindowSeconds: integer(
    "unusual_use.window_seconds",
    300,
    0,
    "Unusual use of organizations that never bought credit is looked for in such a window; 0: not " +
      "at all.",
  ),
  unusualUseRefusedRequests: integer(
    "unusual_use.refused_requests",
    200,
    0,
    "Refused requests in the window that are unusual; 0: not looked at.",
  ),
  unusualUseClientAddresses: integer(
    "unusual_use.client_addresses",
    20,
    0,
    "Different client addresses in the window that are unusual; 0: not looked at.",
  ),
  unusualUseErrorPercent: integer(
    "unusual_use.error_percent",
    80,
    0,
    "Share of failed requests that is unusual, in percent; 0: not looked at.",
  ),
  unusualUseRequestsMin: integer(
    "unusual_use.requests_min",
    50,
    1,
    "Requests in the window below which the share of failed ones says nothing.",
  ),
  unusualUseSpendUsd: text(
    "unusual_use.spend_usd",
    "5.00",
    "Dollars spent in the window that are unusual; empty: not looked at.",
  ),
  unusualUseLimitedSeconds: integer(
    "unusual_use.limited_seconds",
    600,
    1,
    "How long the first finding limits a kind of request (`usage_limited`).",
  ),
  unusualUseRepeatHours: integer(
    "unusual_use.repeat_hours",
    24,
    1,
    "A second finding in this time restricts the kind of request until an operator lifts it.",
  ),
  retentionAttemptsDays: integer(
    "retention.attempts_days",
    90,
    0,
    "Whole days an attempt stays in the journal before `ledger retire` exports it; 0 keeps all.",
  ),
  retentionSigningKeyFile: text(
    "retention.signing_key_file",
    "",
    "PEM file of the Ed25519 key that signs exports; empty: `retention-signing-key.pem` in `data`.",
  ),
  ...CONSOLE_SETTINGS,
};
