import { type MetricRow, oneOf } from "./metric-row.ts";

const LANE = oneOf("lane", "reserve", "close", "refused");
const BOOKS = "Read from the database once a minute, so use `max()` over instances.";

export const STORE_ROWS = {
  tm_ledger_batches_total: {
    type: "counter",
    help: "Batches that the ledger sent to the database, by kind.",
    labels: [oneOf("kind", "batch", "late")],
  },
  tm_ledger_rows_total: {
    type: "counter",
    help: "Holds and closings in the batches of the ledger, by kind.",
    labels: [oneOf("kind", "hold", "closing", "late_closing")],
  },
  tm_ledger_batch_seconds: {
    type: "histogram",
    help: "From sending a batch of a lane to its commit or its fault.",
    unit: "seconds",
    labels: [LANE],
    buckets: [
      0.0005, 0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128, 0.256, 0.512, 1, 4, 10,
    ],
  },
  tm_ledger_batch_rows: {
    type: "histogram",
    help: "Rows of a batch: how many requests share one commit.",
    unit: "rows",
    labels: [LANE],
    buckets: [1, 2, 4, 8, 16, 32, 64, 128, 256, 512],
  },
  tm_ledger_queue_rows: {
    type: "gauge",
    help: "Rows that wait for the next batch of a lane.",
    unit: "rows",
    labels: [LANE],
  },
  tm_ledger_closings_pending: {
    type: "gauge",
    help: "Ended attempts whose closing has not committed yet.",
    unit: "rows",
  },
  tm_ledger_oldest_closing_seconds: {
    type: "gauge",
    help: "Age of the oldest closing that has not committed; 0 without one.",
    unit: "seconds",
  },
  tm_ledger_lease_seconds: {
    type: "gauge",
    help: "How long this instance may still take traffic without renewing its lease; 0: it may not.",
    unit: "seconds",
  },
  tm_ledger_faults_total: {
    type: "counter",
    help:
      "Batches that failed: `rejected` breaks a rule of the books, `busy` was not done, of an " +
      "`ambiguous` one the answer was lost.",
    labels: [LANE, oneOf("kind", "rejected", "busy", "ambiguous")],
  },
  tm_ledger_annulled_total: {
    type: "counter",
    help: "Attempts whose hold was annulled because it may have committed without being sent.",
  },
  tm_ledger_recovered_total: {
    type: "counter",
    help: "Attempts of dead instances that this one charged at their reserve.",
  },
  tm_ledger_stuck_attempts: {
    type: "gauge",
    help:
      "Open attempts of dead instances whose closing breaks a rule of the books: they keep their hold " +
      "and are not tried again before the next start or `ledger recover`.",
    unit: "rows",
  },
  tm_ledger_corrected_total: {
    type: "counter",
    help: "Attempts charged at their reserve whose observed end came later and was put right.",
  },
  tm_books_open_attempts: { type: "gauge", help: `Attempts that are open. ${BOOKS}` },
  tm_books_oldest_open_seconds: {
    type: "gauge",
    help: `Age of the oldest open attempt; 0 without one. ${BOOKS}`,
    unit: "seconds",
  },
  tm_books_partitions_ahead: {
    type: "gauge",
    help: `Days from tomorrow on that the journal has a partition for. ${BOOKS}`,
  },
  tm_books_partitions_unsummed: {
    type: "gauge",
    help: `Ended days of the journal that are not in the sums for reports yet. ${BOOKS}`,
  },
  tm_books_unclosed_periods: {
    type: "gauge",
    help: `Providers with a period that ended over 36 hours ago and is not closed. ${BOOKS}`,
  },
  tm_books_owed_usd: {
    type: "gauge",
    help: `What organizations owe after refunds and disputes. ${BOOKS}`,
    unit: "USD",
  },
  tm_books_went_back: {
    type: "gauge",
    help: "1: what this instance saw committed is gone from the database; 0: not.",
  },
  tm_books_last_audit_timestamp_seconds: {
    type: "gauge",
    help: `When an audit of the books last ended, in seconds since 1970. ${BOOKS}`,
    unit: "seconds",
    mayBeEmpty: true,
  },
  tm_books_last_audit_violations: {
    type: "gauge",
    help: `Violations that the last audit of the books found. ${BOOKS}`,
    mayBeEmpty: true,
  },
  tm_db_connections: {
    type: "gauge",
    help: "Connections to the database: `lanes` are those of the ledger.",
    labels: [oneOf("pool", "main", "reports", "lanes"), oneOf("state", "busy", "idle")],
  },
  tm_db_waiting: {
    type: "gauge",
    help: "Statements that wait for a connection of a pool.",
    labels: [oneOf("pool", "main", "reports", "lanes")],
  },
  tm_limit_store_seconds: {
    type: "histogram",
    help: "From asking the shared limit store to its answer; limits in memory have none.",
    unit: "seconds",
    labels: [oneOf("op", "claim", "peek", "change", "rebuild", "health")],
    buckets: [0.0005, 0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128, 0.256, 0.512],
    mayBeEmpty: true,
  },
  tm_limit_store_faults_total: {
    type: "counter",
    help: "Questions that the shared limit store did not answer, or not in time.",
  },
  tm_limit_store_up: {
    type: "gauge",
    help: "1: the limit store answers, or limits are in memory; 0: it did not answer lately.",
  },
} as const satisfies Readonly<Record<string, MetricRow>>;

export const INSTANCE_ROWS = {
  tm_build_info: {
    type: "gauge",
    help: "1, with the version of the program, the commit it was built of, and that of Node.",
    labels: [
      { name: "version", of: "the version of the program" },
      { name: "commit", of: "the setting `build_commit` of an image; empty: not known" },
      { name: "node", of: "the version of Node" },
    ],
  },
  tm_schema_level: {
    type: "gauge",
    help: "Number of the newest step of the schema, of the database and of this program.",
    labels: [oneOf("of", "database", "program")],
  },
  tm_catalog_info: {
    type: "gauge",
    help: "1, with the build id of the catalog in force: instances should have the same.",
    labels: [{ name: "build_id", of: "the digest of the catalog in force" }],
  },
  tm_instance_state: {
    type: "gauge",
    help: "1 for the current state of this instance, 0 for the other states.",
    labels: [oneOf("state", "starting", "serving", "draining")],
  },
  tm_event_loop_utilization: {
    type: "gauge",
    help: "The part of the last 5 seconds in which the event loop was busy.",
    unit: "share",
  },
  tm_reloads_total: {
    type: "counter",
    help: "Reloads by what was read again and what came of it.",
    labels: [
      oneOf("what", "catalog", "settings"),
      oneOf("result", "swapped", "unchanged", "failed"),
    ],
  },
  tm_purchases_total: {
    type: "counter",
    help: "Purchases by their end: the payment of `parked` ones credited nothing.",
    labels: [oneOf("end", "granted", "failed", "expired", "parked")],
  },
  tm_webhooks_total: {
    type: "counter",
    help: "Events of the payment provider, by what came of them.",
    labels: [oneOf("result", "taken", "bad_signature", "not_configured", "failed")],
  },
  tm_sign_ins_total: {
    type: "counter",
    help: "Sign-ins to the console that came back from the identity provider.",
    labels: [oneOf("result", "signed_in", "refused", "failed")],
  },
  tm_spans_total: {
    type: "counter",
    help: "Spans of traces: exported, or dropped because the collector did not take them.",
    labels: [oneOf("result", "exported", "dropped")],
    mayBeEmpty: true,
  },
  tm_traces_above_ceiling_total: {
    type: "counter",
    help: "Traces that would have been kept, but for `telemetry.kept_per_second`: no span was made.",
    mayBeEmpty: true,
  },
  tm_changes_total: {
    type: "counter",
    help: "Recorded changes by action.",
    labels: [{ name: "action", of: "actions of the change log" }],
    mayBeEmpty: true,
  },
} as const satisfies Readonly<Record<string, MetricRow>>;
