import { flag, integer, text } from "./setting.ts";

const REDIS_MODES: readonly string[] = ["auto", "single", "cluster", "sentinel"];

export const STORE_SETTINGS = {
  databaseDirectUrl: text("database_direct_url", "", {
    doc:
      "Connection string of the same database without a pooler, or through one in session mode: for the " +
      "ledger, migrations, locks and notifications. `database_url` may then lead through a pooler in " +
      "transaction mode. Empty: the same as `database_url`.",
    alsoEnv: ["DATABASE_DIRECT_URL"],
    secret: true,
  }),
  databaseReportsUrl: text("database_reports_url", "", {
    doc:
      "Connection string of a streaming replica for the console's reports and CSV files. Balances, holds " +
      "and keys are never read from it. Empty: the same as `database_url`.",
    alsoEnv: ["DATABASE_REPORTS_URL"],
    secret: true,
  }),
  databasePasswordFile: text("database.password_file", "", {
    doc:
      "File of the database's password, read for each new connection to an address without a password of " +
      "its own. For passwords that expire or are rotated. Empty: the addresses have their passwords.",
    alsoEnv: ["DATABASE_PASSWORD_FILE"],
  }),
  databaseStorageIsDurable: flag("database.storage_is_durable", {
    doc:
      "Accept a PostgreSQL with `fsync` or `full_page_writes` off, because its storage keeps every commit by " +
      "other means, as that of some services does. Without this, such a server is refused at the start.",
  }),
  reportsLagMs: integer("reports.lag_ms", 10_000, {
    min: 0,
    doc:
      "How old the replica's data may be; above that, and when it is away, reports are read from the " +
      "primary.",
  }),
  redisMode: text("redis.mode", "auto", {
    doc:
      "`single`: `redis_url` names one server. `cluster`: it names one or more servers of a cluster. " +
      "`sentinel`: it names sentinels, which know where `redis.master` is. `auto`: `cluster` with several " +
      "addresses, else `single`.",
    problem: (mode) =>
      REDIS_MODES.includes(mode) ? undefined : `must be one of ${REDIS_MODES.join(", ")}`,
  }),
  redisMaster: text("redis.master", "", {
    doc: "Name of the master that the sentinels watch; required with `redis.mode: sentinel`.",
  }),
  redisCaFile: text("redis.ca_file", "", {
    doc: "PEM file of the certificate authority of `rediss://` servers, when it is not a public one.",
  }),
  redisSentinelPassword: text("redis.sentinel_password", "", {
    doc: "Password of the sentinels. The user and password in `redis_url` are those of the servers.",
    secret: true,
  }),
};
