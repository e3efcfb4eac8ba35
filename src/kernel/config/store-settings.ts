import { flag, integer, text, type Setting } from "./setting.ts";

/** Further addresses of the database, and which kind of Redis there is. */
export interface StoreConfig {
  readonly databaseDirectUrl: string;
  readonly databaseReportsUrl: string;
  readonly databasePasswordFile: string;
  readonly databaseStorageIsDurable: boolean;
  readonly reportsLagMs: number;
  readonly redisMode: string;
  readonly redisMaster: string;
  readonly redisCaFile: string;
  readonly redisSentinelPassword: string;
}

const REDIS_MODES: readonly string[] = ["auto", "single", "cluster", "sentinel"];

export const STORE_SETTINGS: { readonly [K in keyof StoreConfig]: Setting<StoreConfig[K]> } = {
  databaseDirectUrl: {
    path: "database_direct_url",
    alsoEnv: ["DATABASE_DIRECT_URL"],
    kind: "string",
    fallback: "",
    secret: true,
    doc:
      "Connection string of the same database without a pooler, or through one in session mode: for the " +
      "ledger, migrations, locks and notifications. `database_url` may then lead through a pooler in " +
      "transaction mode. Empty: the same as `database_url`.",
  },
  databaseReportsUrl: {
    path: "database_reports_url",
    alsoEnv: ["DATABASE_REPORTS_URL"],
    kind: "string",
    fallback: "",
    secret: true,
    doc:
      "Connection string of a streaming replica for the console's reports and CSV files. Balances, holds " +
      "and keys are never read from it. Empty: the same as `database_url`.",
  },
  databasePasswordFile: {
    path: "database.password_file",
    alsoEnv: ["DATABASE_PASSWORD_FILE"],
    kind: "string",
    fallback: "",
    doc:
      "File of the database's password, read for each new connection to an address without a password of " +
      "its own. For passwords that expire or are rotated. Empty: the addresses have their passwords.",
  },
  databaseStorageIsDurable: flag(
    "database.storage_is_durable",
    "Accept a PostgreSQL with `fsync` or `full_page_writes` off, because its storage keeps every commit by " +
      "other means, as that of some services does. Without this, such a server is refused at the start.",
  ),
  reportsLagMs: integer(
    "reports.lag_ms",
    10_000,
    0,
    "How old the replica's data may be; above that, and when it is away, reports are read from the " +
      "primary.",
  ),
  redisMode: {
    path: "redis.mode",
    kind: "string",
    fallback: "auto",
    problem: (mode) =>
      REDIS_MODES.includes(mode) ? undefined : `must be one of ${REDIS_MODES.join(", ")}`,
    doc:
      "`single`: `redis_url` names one server. `cluster`: it names one or more servers of a cluster. " +
      "`sentinel`: it names sentinels, which know where `redis.master` is. `auto`: `cluster` with several " +
      "addresses, else `single`.",
  },
  redisMaster: text(
    "redis.master",
    "",
    "Name of the master that the sentinels watch; required with `redis.mode: sentinel`.",
  ),
  redisCaFile: text(
    "redis.ca_file",
    "",
    "PEM file of the certificate authority of `rediss://` servers, when it is not a public one.",
  ),
  redisSentinelPassword: {
    path: "redis.sentinel_password",
    kind: "string",
    fallback: "",
    secret: true,
    doc: "Password of the sentinels. The user and password in `redis_url` are those of the servers.",
  },
};
