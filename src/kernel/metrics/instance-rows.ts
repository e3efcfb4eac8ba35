import { type MetricRow, oneOf } from "./metric-row.ts";

/** The instance itself, and what happens beside requests. */
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
    help: "Purchases by their end: `parked` ones were paid, but not as ordered.",
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
