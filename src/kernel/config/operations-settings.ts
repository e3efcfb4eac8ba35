import { networksProblem } from "../core/client-address.ts";
import { ISSUER_SETTINGS, MAIL_SETTINGS, OPERATOR_SETTINGS } from "./console-settings.ts";
import { LISTING_SETTINGS } from "./listing-settings.ts";
import { flag, integer, text } from "./setting.ts";
import { STORE_SETTINGS } from "./store-settings.ts";
import { TELEMETRY_SETTINGS } from "./telemetry-settings.ts";

const BOOKS_SETTINGS = {
  booksGoneBack: text("books.gone_back", "stop", {
    doc:
      "What an instance does when committed work is gone from the database (a restore under it, a failover " +
      "that lost commits): `stop` takes no traffic until `tokenmarket ledger reopen`, on all instances; " +
      "`go_on` logs an error, sets `tm_books_went_back` and continues, so that what was lost may be " +
      "spent again.",
    problem: (value) =>
      value === "stop" || value === "go_on" ? undefined : "must be stop or go_on",
  }),
};

const CONFORMANCE_SETTINGS = {
  requireVerified: flag("catalog.require_verified", {
    doc:
      "Routes only to listings whose last conformance run passed, or only warned, with this manifest, " +
      "in the last 30 days.",
  }),
  liveBadPercent: integer("conformance.live_bad_percent", 1, {
    min: 0,
    max: 100,
    doc:
      "Share of a listing's live answers that may break its promises (another model, usage that is missing " +
      "or impossible, more tokens than the bound, a wrong finish reason, unreadable), in percent. " +
      "Above it the listing is suspect and tried last.",
  }),
  liveAnswersMin: integer("conformance.live_answers_min", 200, {
    max: 1_000,
    doc: "Answers of a listing to one process below which their share says nothing, at most 1000.",
  }),
};

const METRICS_SETTINGS = {
  metricsListingsMax: integer("metrics.listings_max", 1_000, {
    doc:
      "Most listings with metrics of their own, first come, first served; all others together are " +
      "`other`, and their attempts count in `tm_metrics_folded_total`.",
  }),
  buildCommit: text("build_commit", "", {
    doc: "The commit that the program was built of, shown by `tm_build_info`; images set it.",
  }),
};

export const OPERATIONS_SETTINGS = {
  autoMigrate: flag("auto_migrate", {
    doc:
      "`serve` migrates the database schema before it opens its ports. Off: it refuses to start on an " +
      "older schema. `tokenmarket migrate`, `init` and `dev` change the schema in any case.",
    fallback: true,
  }),
  trustedProxies: text("trusted_proxies", "", {
    doc:
      "Networks of your proxies, separated by commas (`10.0.0.0/8, 2001:db8::/32`). On a connection from " +
      "one of them, the client is the last address of `x-forwarded-for` outside these networks. On " +
      "other connections the header is ignored.",
    problem: networksProblem,
  }),
  shutdownDelayMs: integer("shutdown_delay_ms", 0, {
    min: 0,
    doc:
      "How long requests are still accepted after SIGTERM, while `/readyz` answers 503 and every answer " +
      "closes its connection. Must be longer than a load balancer needs to notice.",
  }),
  shutdownGraceMs: integer("shutdown_grace_ms", 30_000, {
    min: 0,
    doc: "How long running requests may take to finish after the ports are closed.",
  }),
  retentionChangesDays: integer("retention.changes_days", 400, {
    min: 0,
    doc:
      "How many days the change log is kept: `tokenmarket changes retire` deletes what is older. 0: all of " +
      "it is kept.",
  }),
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
