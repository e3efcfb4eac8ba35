export interface RecordingRule {
  readonly record: string;
  readonly expr: string;
}

const WINDOWS = ["5m", "30m", "1h", "6h"] as const;
const DAY_P95 = ["10m", "1d"] as const;

/** Expressions that alerts and dashboards evaluate often, or over a long time. */
export const RECORDING_RULES: readonly RecordingRule[] = [
  ...WINDOWS.map((window) => ({
    record: `tm:gateway_faults:ratio_${window}`,
    // A 400 is the caller's output limit, and at 0 the client left. Without any fault, the series
    // of faults does not exist.
    expr:
      `(sum(rate(tm_requests_total{error="gateway_error",status!~"0|400"}[${window}])) ` +
      "or vector(0)) " +
      `/ sum(rate(tm_requests_total[${window}]))`,
  })),
  ...DAY_P95.map((window) => ({
    record: `tm:first_output_seconds:p95_${window}`,
    expr:
      "histogram_quantile(0.95, sum by (provider, model, le) " +
      `(rate(tm_first_output_seconds_bucket[${window}])))`,
  })),
];

/**
 * Our metrics under the names of the OpenTelemetry semantic conventions 1.41. No rule adds up
 * series of several instances, so that `rate()` works.
 */
export const GENAI_RULES: readonly RecordingRule[] = [
  ...histogram("gen_ai_client_operation_duration_seconds", "tm_attempt_duration_seconds"),
  ...histogram("gen_ai_server_time_to_first_token_seconds", "tm_first_output_seconds"),
  ...histogram("gen_ai_server_time_per_output_token_seconds", "tm_output_token_seconds"),
  {
    record: "gen_ai_client_token_usage_sum",
    expr: `sum without (kind) (${tokensByType()})`,
  },
  { record: "gen_ai_client_token_usage_count", expr: named("tm_attempt_duration_seconds_count") },
];

function histogram(record: string, metric: string): readonly RecordingRule[] {
  return ["bucket", "sum", "count"].map((part) => ({
    record: `${record}_${part}`,
    expr: named(`${metric}_${part}`),
  }));
}

/** Copies the labels `provider` and `model` to the names that OpenTelemetry's conventions use. */
function named(metric: string): string {
  const provider = `label_replace(${metric}, "gen_ai_provider_name", "$1", "provider", "(.*)")`;
  return `label_replace(${provider}, "gen_ai_request_model", "$1", "model", "(.*)")`;
}

function tokensByType(): string {
  const kindsOf = {
    input: "prompt|cached_prompt|cache_write",
    output: "completion|internal_reasoning",
  };
  return Object.entries(kindsOf).reduce(
    (expr, [type, kinds]) =>
      `label_replace(${expr}, "gen_ai_token_type", "${type}", "kind", "${kinds}")`,
    named("tm_tokens_total"),
  );
}
