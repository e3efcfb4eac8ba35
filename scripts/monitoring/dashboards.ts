import type { MetricNameOf } from "../../src/kernel/metrics/metrics-table.ts";
import type { Dashboard, Panel } from "./panel.ts";

const RATE = "$__rate_interval";
const QUANTILES = { p50: 0.5, p95: 0.95, p99: 0.99 } as const;

/** Selects this program's series: other scraped programs have metrics of the same names. */
const OURS = "and on(instance) tm_build_info";

type Histogram = MetricNameOf<"histogram">;
type Counter = MetricNameOf<"counter">;
type Gauge = MetricNameOf<"gauge">;

/** Each dashboard becomes one file in deploy/grafana. */
export const DASHBOARDS: Readonly<Record<string, Dashboard>> = {
  overview: {
    title: "Token Market: overview",
    panels: [
      perSecond("Requests by status", "tm_requests_total", "status"),
      {
        ...by(
          "Errors by class",
          `sum by (error) (rate(tm_requests_total{error!=""}[${RATE}]))`,
          "error",
        ),
        as: "each second",
      },
      gauges("Our own faults", {
        "5 minutes": "tm:gateway_faults:ratio_5m",
        "1 hour": "tm:gateway_faults:ratio_1h",
        "6 hours": "tm:gateway_faults:ratio_6h",
      }),
      quantiles("The gateway's own time", "tm_overhead_seconds"),
      quantiles("First output", "tm_first_output_seconds"),
      quantiles("Request", "tm_request_duration_seconds"),
      gauges("In flight", {
        requests: "sum(tm_requests_in_flight)",
        "detached reads": "sum(tm_detached_reads)",
      }),
      perHour("Debited", "tm_debited_usd_total"),
      perHour("Owed to providers", "tm_provider_cost_usd_total"),
      perSecond("Refused by limits", "tm_limit_refusals_total", "scope, kind"),
      perSecond("Sign-ins", "tm_sign_ins_total", "result"),
      perSecond("Changes", "tm_changes_total", "action"),
    ],
  },
  providers: {
    title: "Token Market: providers",
    panels: [
      perSecond("Attempts by listing", "tm_attempts_total", "provider, model"),
      perSecond("Attempts by outcome", "tm_attempts_total", "provider, outcome"),
      perSecond("Failovers", "tm_failovers_total", "provider, error"),
      perSecond("Resends on new connections", "tm_resends_total", "provider"),
      by("First output, p95", p95("tm_first_output_seconds", "provider, model"), "provider, model"),
      by("Attempt, p95", p95("tm_attempt_duration_seconds", "provider, model"), "provider, model"),
      by(
        "One output token, p95",
        p95("tm_output_token_seconds", "provider, model"),
        "provider, model",
      ),
      perSecond("Tokens", "tm_tokens_total", "provider, model"),
      perSecond("Tokens by kind", "tm_tokens_total", "kind"),
      worst("Circuits open", "tm_circuit_open", "provider, model"),
      worst("Pools in cooldown", "tm_pool_cooldown", "pool"),
      by("Usable part of a pool", "min by (pool) (tm_pool_usable_ratio)", "pool"),
      worst("Suspect listings", "tm_listing_suspect", "provider, model"),
      worst("Listings below cost", "tm_listing_below_cost", "provider, model"),
      by("Verified listings", "min by (provider, model) (tm_listing_verified)", "provider, model"),
      perSecond("Polls of video jobs", "tm_video_polls_total", "provider, result"),
      perSecond("Ended video jobs", "tm_video_jobs_ended_total", "provider, end"),
      perSecond("Answers of another model", "tm_substituted_total", "provider, model"),
      perSecond("Impossible usage", "tm_usage_impossible_total", "provider, model"),
      perSecond("Failed polling rounds", "tm_video_sweeps_failed_total"),
    ],
  },
  money: {
    title: "Token Market: money",
    panels: [
      gauges("Holds", { "open attempts": "max(tm_books_open_attempts)" }),
      worst("Oldest hold", "tm_books_oldest_open_seconds"),
      gauges("Pending closings", { all: "sum(tm_ledger_closings_pending)" }),
      worst("Oldest pending closing", "tm_ledger_oldest_closing_seconds"),
      events("Charged at the reserve", "tm_ledger_recovered_total"),
      worst("Closings that break a rule", "tm_ledger_stuck_attempts"),
      events("Put right later", "tm_ledger_corrected_total"),
      events("Annulled", "tm_ledger_annulled_total"),
      perHour("Overrun", "tm_overrun_usd_total"),
      events("Without usage", "tm_usage_missing_total", "provider, model"),
      events("Videos without cost", "tm_video_cost_missing_total", "provider, model"),
      events("Videos above their hold", "tm_video_cost_over_reserve_total", "provider, model"),
      worst("Owed by organizations", "tm_books_owed_usd"),
      events("Purchases", "tm_purchases_total", "end"),
      events("Events of the payment provider", "tm_webhooks_total", "result"),
      worst("Periods not closed", "tm_books_unclosed_periods"),
      worst("Violations of the last audit", "tm_books_last_audit_violations"),
      by("Since the last audit", "time() - max(tm_books_last_audit_timestamp_seconds)", "audit"),
      worst("Database went back", "tm_books_went_back"),
    ],
  },
  database: {
    title: "Token Market: database",
    panels: [
      by("Batch, p95", p95("tm_ledger_batch_seconds", "lane"), "lane"),
      by("Rows of a batch, p95", p95("tm_ledger_batch_rows", "lane"), "lane"),
      perSecond("Batches", "tm_ledger_batches_total", "kind"),
      perSecond("Rows", "tm_ledger_rows_total", "kind"),
      by("Waiting rows", "sum by (lane) (tm_ledger_queue_rows)", "lane"),
      perSecond("Failed batches", "tm_ledger_faults_total", "lane, kind"),
      by("Lease", "min by (instance) (tm_ledger_lease_seconds)", "instance"),
      by("Connections", "sum by (pool, state) (tm_db_connections)", "pool, state"),
      by("Waiting for a connection", "sum by (pool) (tm_db_waiting)", "pool"),
      worst("Partitions ahead", "tm_books_partitions_ahead"),
      worst("Days not summed", "tm_books_partitions_unsummed"),
      by("Limit store, p95", p95("tm_limit_store_seconds", "op"), "op"),
      by("Limit store answers", "min by (instance) (tm_limit_store_up)", "instance"),
      perSecond("Faults of the limit store", "tm_limit_store_faults_total"),
    ],
  },
  instances: {
    title: "Token Market: instances",
    panels: [
      worst("Event loop busy", "tm_event_loop_utilization", "instance"),
      by("Event loop lag, p99", `nodejs_eventloop_lag_p99_seconds ${OURS}`, "instance"),
      by("Memory", `process_resident_memory_bytes ${OURS}`, "instance"),
      by("JavaScript heap", `nodejs_heap_size_used_bytes ${OURS}`, "instance"),
      {
        ...by("Processor", `rate(process_cpu_seconds_total[${RATE}]) ${OURS}`, "instance"),
        as: "share",
      },
      by("Open files", `process_open_fds ${OURS}`, "instance"),
      worst("State", "tm_instance_state", "instance, state"),
      by("Requests in flight", "sum by (instance) (tm_requests_in_flight)", "instance"),
      events("Reloads", "tm_reloads_total", "what, result"),
      by("Versions", "count by (version, commit, node) (tm_build_info)", "version, commit, node"),
      worst("Level of the schema", "tm_schema_level", "of"),
      by("Catalogs", "count by (build_id) (tm_catalog_info)", "build_id"),
      perSecond("Spans", "tm_spans_total", "result"),
      events("Traces above the ceiling", "tm_traces_above_ceiling_total"),
      events("Attempts under `other`", "tm_metrics_folded_total"),
    ],
  },
};

function legend(labels: string): string {
  return labels
    .split(", ")
    .map((label) => `{{${label}}}`)
    .join(" ");
}

function by(title: string, expr: string, labels: string): Panel {
  return { title, queries: { [legend(labels)]: expr } };
}

function gauges(title: string, queries: Readonly<Record<string, string>>): Panel {
  return { title, queries };
}

function worst(title: string, name: Gauge, labels = ""): Panel {
  const expr = labels === "" ? `max(${name})` : `max by (${labels}) (${name})`;
  return { title, queries: { [labels === "" ? "now" : legend(labels)]: expr } };
}

function perSecond(title: string, name: Counter, labels = ""): Panel {
  return { title, as: "each second", queries: summed(labels, `rate(${name}[${RATE}])`) };
}

function summed(labels: string, expr: string): Panel["queries"] {
  if (labels === "") return { all: `sum (${expr})` };
  return { [legend(labels)]: `sum by (${labels}) (${expr})` };
}

function perHour(title: string, name: Counter): Panel {
  const queries = { all: `sum(rate(${name}[${RATE}])) * 3600` };
  return { title, as: "each hour", queries };
}

/** For rare events: how often they happened in the last hour. */
function events(title: string, name: Counter, labels = ""): Panel {
  return { title: `${title}, last hour`, queries: summed(labels, `increase(${name}[1h])`) };
}

function quantiles(title: string, name: Histogram): Panel {
  const queries = Object.entries(QUANTILES).map(([quantile, share]) => [
    quantile,
    `histogram_quantile(${share}, sum by (le) (rate(${name}_bucket[${RATE}])))`,
  ]);
  return { title, queries: Object.fromEntries(queries) as Readonly<Record<string, string>> };
}

function p95(name: Histogram, labels: string): string {
  return `histogram_quantile(0.95, sum by (${labels}, le) (rate(${name}_bucket[${RATE}])))`;
}
