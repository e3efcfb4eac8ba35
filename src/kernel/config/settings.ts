import {
  ARRIVING_BYTES_MAX,
  BODY_BYTES_MAX,
  CONNECTIONS_MAX,
  UNREAD_BYTES_MAX,
  UNREAD_BYTES_MAX_PER_KEY,
  DATABASE_CONNECTIONS_MAX,
  KEY_CACHE_MS,
} from "../core/constants.ts";
import { CONSOLE_SETTINGS } from "./console-settings.ts";
import { OPERATIONS_SETTINGS } from "./operations-settings.ts";
import { LIMIT_SETTINGS, UNUSUAL_USE_SETTINGS } from "./limit-settings.ts";
import { TIMEOUT_SETTINGS, UPSTREAM_SETTINGS } from "./upstream-settings.ts";
import { type ConfigOf, flag, integer, text } from "./setting.ts";

export { environmentName, type Setting, SETTING_MS_MAX } from "./setting.ts";

/** Refuses a path, because pages, cookies and sign-in work only at the root of an origin. */
function consoleUrlProblem(value: string): string | undefined {
  if (value === "") return undefined;
  const url = URL.canParse(value) ? new URL(value) : undefined;
  return /^https?:$/.test(url?.protocol ?? "") && `${url?.origin}/` === url?.href
    ? undefined
    : "must be an http or https address without a path, such as https://console.example.com";
}

/**
 * `loadConfig`, the environment variables and the reference page derive from this table. Paths of
 * settings in milliseconds end in `_ms`.
 */
export const SETTINGS = {
  port: integer("port", 8080, { min: 0, doc: "Gateway port; 0 picks a free one." }),
  consolePort: integer("console_port", 8081, { min: 0, doc: "Console port; 0 picks a free one." }),
  internalPort: integer("internal_port", 8082, {
    min: 0,
    doc: "Internal port: `/metrics`, `/livez` and `/readyz`; 0 picks a free one.",
  }),
  host: text("host", "127.0.0.1", { doc: "Address the gateway and the console listen on." }),
  internalHost: text("internal_host", "127.0.0.1", {
    doc: "Address the internal port listens on. It requires no key: never use a public address.",
  }),
  maxConnections: integer("max_connections", CONNECTIONS_MAX, {
    doc:
      "Open connections per process, for the gateway and the console each. The gateway answers a " +
      "connection above that with 503 and closes it.",
  }),
  unreadBytesMax: integer("unread_bytes_max", UNREAD_BYTES_MAX, {
    doc:
      "Bytes of whole answers that wait for their clients, per process. Above it the connection is " +
      "closed whose client has taken nothing for longest; its request is charged all the same.",
  }),
  unreadBytesMaxPerKey: integer("unread_bytes_max_per_key", UNREAD_BYTES_MAX_PER_KEY, {
    doc: "The same for the answers of one key.",
  }),
  arrivingBytesMax: integer("arriving_bytes_max", ARRIVING_BYTES_MAX, {
    min: BODY_BYTES_MAX,
    doc:
      "Bytes of request bodies that have not arrived whole, per process. Above it one of them is " +
      "answered with 503: of the organization with the most bytes, the one that has waited longest " +
      "for its next byte.",
  }),
  dataDir: text("data", "./data", {
    doc: "Folder of the embedded PostgreSQL and other local files.",
  }),
  manifestsDir: text("manifests", "./manifests", {
    doc: "Folder of provider manifests (`*.json`).",
  }),
  gatewayUrl: text("gateway_url", "", {
    kind: "base",
    doc: "Public base URL of the gateway when it is behind a proxy.",
  }),
  consoleUrl: text("console_url", "", {
    kind: "base",
    doc: "Public URL of the console when it is behind a proxy; without a path.",
    problem: consoleUrlProblem,
  }),
  databaseUrl: text("database_url", "", {
    doc: "Connection string of your PostgreSQL. Empty: the embedded PostgreSQL is started.",
    alsoEnv: ["DATABASE_URL"],
    secret: true,
  }),
  databasePoolMax: integer("database.pool_max", DATABASE_CONNECTIONS_MAX, {
    doc:
      "Maximum database connections per process, in addition to 3 for reports, 3 for the ledger and 1 " +
      "that listens for changes.",
  }),
  redisUrl: text("redis_url", "", {
    doc:
      "`redis[s]://[user:password@]host[:port][/database]` of the Redis or Valkey that shares limits and " +
      "cooldowns between processes; several with commas for a cluster. Empty: each process counts alone.",
    alsoEnv: ["REDIS_URL"],
    secret: true,
  }),
  logLevel: text("log_level", "info", {
    doc: "One of trace, debug, info, warn, error, fatal, silent.",
    kind: "level",
    alsoEnv: ["LOG_LEVEL"],
  }),
  allowPrivateUpstreams: flag("allow_private_upstreams", {
    doc: "Allows provider URLs with loopback and private addresses.",
  }),
  providerKeyOrigins: text("provider_key_origins", "", {
    doc:
      "`NAME=origin` pairs, separated by commas. A variable listed here is sent as a provider key to " +
      "these origins only. A variable that is not listed is bound to one origin: at a start, that of the " +
      "first manifest by file name that names it; later, the origin keeps it for as long as a manifest " +
      "of that origin names it. So list a variable that manifests of two origins name: an instance that " +
      "starts may bind it to another origin than those that run.",
  }),
  keyCacheMs: integer("auth.key_cache_ms", KEY_CACHE_MS, {
    min: 0,
    max: KEY_CACHE_MS,
    doc:
      "How long a key and its account's rules are cached after they were read, at most 5000. A change " +
      "takes effect at once in the process that made it and within 250 ms in the others; while the " +
      "database's notifications do not arrive, a disabled key works for this time. 0: no cache.",
  }),
  ...OPERATIONS_SETTINGS,
  ...TIMEOUT_SETTINGS,
  ...UPSTREAM_SETTINGS,
  decisionsPublicForm: text("decisions.public_form_providers", "", {
    doc:
      "Provider ids, separated by commas. These receive questions in the public form of their API; " +
      "the others receive them as the client wrote them.",
  }),
  videoDeadlineMs: integer("videos.deadline_ms", 7_200_000, {
    doc: "Age at which an unfinished video job is abandoned.",
  }),
  videoPollMinMs: integer("videos.poll_min_ms", 3_000, {
    doc: "Minimum time between two polls of a video job.",
  }),
  videoSweepMs: integer("videos.sweep_ms", 5_000, {
    doc: "Interval at which due video jobs are polled.",
  }),
  videoAnswerTimeoutMs: integer("videos.answer_timeout_ms", 10_000, {
    doc: "Maximum wait for a provider's answer to a poll or a cancellation of a video job.",
  }),
  videoClientWaitMs: integer("videos.client_wait_ms", 5_000, {
    doc:
      "How long a client's request for a video job waits for the provider; after that it gets the " +
      "last known state.",
  }),
  videoNoAnswerPauseMs: integer("videos.no_answer_pause_ms", 5_000, {
    min: 0,
    doc: "How long a listing's video jobs are not polled after its provider did not answer.",
  }),
  videoContentBytesMax: integer("videos.content_bytes_max", 2_147_483_648, {
    doc: "Maximum size of a video file; a larger one is not delivered.",
  }),
  ...LIMIT_SETTINGS,
  poolsFile: text("pools_file", "", {
    doc:
      "YAML file that defines which listings share a provider's capacity (see `examples/pools`). " +
      "Empty: each listing has its own pool.",
  }),
  optimizeCallGapMs: integer("optimize.call_gap_ms", 1_050, {
    min: 0,
    doc: "Time between the starts of two calls of one Optimize search; 60 per minute is its key's limit.",
  }),
  encryptionKey: text("encryption_key", "", {
    doc: "32 bytes in base64 that encrypt customers' own provider keys and the secrets of webhooks; several with commas: the first encrypts, all decrypt. Empty: customers can have neither.",
    secret: true,
  }),
  ...UNUSUAL_USE_SETTINGS,
  retentionAttemptsDays: integer("retention.attempts_days", 90, {
    min: 0,
    doc: "Whole days an attempt stays in the journal before `ledger retire` exports it; 0: kept permanently.",
  }),
  retentionSigningKeyFile: text("retention.signing_key_file", "", {
    doc: "PEM file of the Ed25519 key that signs exports. Empty: `retention-signing-key.pem` in `data`.",
  }),
  ...CONSOLE_SETTINGS,
};

/** The whole configuration. `loadConfig` freezes it. */
export type Config = ConfigOf<typeof SETTINGS>;

export type SettingName = keyof Config;
