import { BOOKS_SETTINGS, type BooksConfig } from "./books-settings.ts";
import { CONFORMANCE_SETTINGS, type ConformanceConfig } from "./conformance-settings.ts";
import { ISSUER_SETTINGS, type IssuerConfig } from "./issuer-settings.ts";
import { LISTING_SETTINGS, type ListingConfig } from "./listing-settings.ts";
import { MAIL_SETTINGS, type MailConfig } from "./mail-settings.ts";
import { METRICS_SETTINGS, type MetricsConfig } from "./metrics-settings.ts";
import { OPERATOR_SETTINGS, type OperatorConfig } from "./operator-settings.ts";
import { networksProblem } from "../core/client-address.ts";
import { flag, integer, type Setting } from "./setting.ts";
import { STORE_SETTINGS, type StoreConfig } from "./store-settings.ts";
import { TELEMETRY_SETTINGS, type TelemetryConfig } from "./telemetry-settings.ts";

/** What an operator decides about starts and stops. */
export interface OperationsConfig
  extends
    ConformanceConfig,
    IssuerConfig,
    MailConfig,
    MetricsConfig,
    StoreConfig,
    TelemetryConfig,
    ListingConfig,
    BooksConfig,
    OperatorConfig {
  readonly autoMigrate: boolean;
  readonly trustedProxies: string;
  readonly shutdownDelayMs: number;
  readonly shutdownGraceMs: number;
  readonly retentionChangesDays: number;
}

export const OPERATIONS_SETTINGS: {
  readonly [K in keyof OperationsConfig]: Setting<OperationsConfig[K]>;
} = {
  autoMigrate: flag(
    "auto_migrate",
    "`serve` migrates the database schema before it opens its ports. Off: it refuses to start on an " +
      "older schema, and only `tokenmarket migrate` changes the schema.",
    true,
  ),
  trustedProxies: {
    path: "trusted_proxies",
    kind: "string",
    fallback: "",
    problem: networksProblem,
    doc:
      "Networks of your proxies, separated by commas (`10.0.0.0/8, 2001:db8::/32`). On a connection from " +
      "one of them, the client is the last address of `x-forwarded-for` outside these networks. On " +
      "other connections the header is ignored.",
  },
  shutdownDelayMs: integer(
    "shutdown_delay_ms",
    0,
    0,
    "How long requests are still accepted after SIGTERM, while `/readyz` answers 503 and every answer " +
      "closes its connection. Must be longer than a load balancer needs to notice.",
  ),
  shutdownGraceMs: integer(
    "shutdown_grace_ms",
    30_000,
    0,
    "How long running requests may take to finish after the ports are closed.",
  ),
  retentionChangesDays: integer(
    "retention.changes_days",
    400,
    0,
    "How many days the change log is kept: `tokenmarket changes retire` deletes what is older. 0: all of " +
      "it is kept.",
  ),
  ...BOOKS_SETTINGS,
  ...CONFORMANCE_SETTINGS,
  ...ISSUER_SETTINGS,
  ...LISTING_SETTINGS,
  ...MAIL_SETTINGS,
  ...METRICS_SETTINGS,
  ...OPERATOR_SETTINGS,
  ...STORE_SETTINGS,
  ...TELEMETRY_SETTINGS,
};
