import { flag, integer, type Setting } from "./setting.ts";

/** What an operator decides about starts and stops. */
export interface OperationsConfig {
  readonly autoMigrate: boolean;
  readonly shutdownGraceMs: number;
}

export const OPERATIONS_SETTINGS: {
  readonly [K in keyof OperationsConfig]: Setting<OperationsConfig[K]>;
} = {
  autoMigrate: flag(
    "auto_migrate",
    "`serve` brings the database schema up to date before it opens its ports; off: it refuses to " +
      "start on an older schema, and only `tokenmarket migrate` changes one.",
    true,
  ),
  shutdownGraceMs: integer(
    "shutdown_grace_ms",
    30_000,
    0,
    "How long running requests may finish after SIGTERM.",
  ),
};
