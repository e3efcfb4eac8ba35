import { flag, integer, type Setting } from "./setting.ts";

/** What an operator decides about starts and stops. */
export interface OperationsConfig {
  readonly autoMigrate: boolean;
  readonly shutdownDelayMs: number;
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
  shutdownDelayMs: integer(
    "shutdown_delay_ms",
    0,
    0,
    "How long requests are still accepted after SIGTERM, with `/readyz` answering 503 and every answer " +
      "ending its connection: longer than a balancer needs to notice it.",
  ),
  shutdownGraceMs: integer(
    "shutdown_grace_ms",
    30_000,
    0,
    "How long running requests may finish after that, when the ports are closed.",
  ),
};
