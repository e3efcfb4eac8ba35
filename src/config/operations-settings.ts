import { networksProblem } from "../core/client-address.ts";
import { flag, integer, type Setting } from "./setting.ts";

/** What an operator decides about starts and stops. */
export interface OperationsConfig {
  readonly autoMigrate: boolean;
  readonly trustedProxies: string;
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
  trustedProxies: {
    path: "trusted_proxies",
    kind: "string",
    fallback: "",
    problem: networksProblem,
    doc:
      "Networks of your proxies, with commas (`10.0.0.0/8, 2001:db8::/32`): for a connection from one of " +
      "them the last address of `x-forwarded-for` outside of them counts as the client's. From others " +
      "that header is ignored.",
  },
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
