import { ERROR, type MetricRow, MODEL, oneOf, POOL, PROVIDER, ROUTE } from "./metric-row.ts";

const LISTING = [PROVIDER, MODEL];

export const CALL_ROWS = {
  tm_requests_total: {
    type: "counter",
    help:
      "Requests by route, status and error class. A stream that breaks after its 200 counts as 200 " +
      "without an error; `tm_request_duration_seconds` has it under `end=failed`.",
    labels: [ROUTE, { name: "status", of: "HTTP statuses; 0: the client left" }, ERROR],
  },
  tm_requests_in_flight: { type: "gauge", help: "Requests being served." },
  tm_detached_reads: {
    type: "gauge",
    help: "Answers that are read to their end after their client disconnected.",
  },
  tm_request_duration_seconds: {
    type: "histogram",
    help: "From the first byte of a request to the last of its answer.",
    unit: "seconds",
    labels: [
      ROUTE,
      oneOf("stream", "true", "false"),
      oneOf("end", "served", "refused", "failed", "gone"),
    ],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 450],
  },
  tm_overhead_seconds: {
    type: "histogram",
    help:
      "The gateway's own time of a request until its first dispatch: without the arrival of the body " +
      "and without the pacing delay.",
    unit: "seconds",
    labels: [ROUTE],
    buckets: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 3],
  },
  tm_attempts_total: {
    type: "counter",
    help: "Physical dispatches by provider, model and outcome.",
    labels: [
      ...LISTING,
      { name: "outcome", of: "`completed`, or the class of its [error](errors.md)" },
    ],
  },
  tm_attempt_duration_seconds: {
    type: "histogram",
    help: "From the dispatch of an attempt to the end of the provider's answer.",
    unit: "seconds",
    labels: LISTING,
    buckets: [0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 51.2, 102.4, 204.8, 409.6],
  },
  tm_first_output_seconds: {
    type: "histogram",
    help: "From the dispatch of a streamed attempt to its first output.",
    unit: "seconds",
    labels: LISTING,
    buckets: [0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 51.2, 102.4, 204.8, 409.6],
  },
  tm_output_token_seconds: {
    type: "histogram",
    help: "Time of one output token after the first output: the mean of each streamed attempt.",
    unit: "seconds",
    labels: LISTING,
    buckets: [0.002, 0.005, 0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64],
  },
  tm_tokens_total: {
    type: "counter",
    help: "Tokens that providers reported, by the buckets that are priced.",
    unit: "tokens",
    labels: [
      ...LISTING,
      oneOf("kind", "prompt", "cached_prompt", "cache_write", "completion", "internal_reasoning"),
    ],
  },
  tm_provider_cost_usd_total: {
    type: "counter",
    help: "What providers are owed for observed use; the ledger holds the exact amounts.",
    unit: "USD",
    labels: LISTING,
  },
  tm_overrun_usd_total: {
    type: "counter",
    help: "Cost above the reserve of its attempt: it is not debited, the platform bears it.",
    unit: "USD",
    labels: LISTING,
  },
  tm_debited_usd_total: {
    type: "counter",
    help: "Debited dollars by model, for dashboards; the ledger holds the exact amounts.",
    unit: "USD",
    labels: [MODEL],
  },
  tm_usage_missing_total: {
    type: "counter",
    help: "Complete answers of a listing that reported no usage, or no cost where the cost is billed, and were therefore not billed.",
    labels: LISTING,
    mayBeEmpty: true,
  },
  tm_usage_impossible_total: {
    type: "counter",
    help: "Answers of a listing that reported an impossible usage or cost; not billed.",
    labels: LISTING,
    mayBeEmpty: true,
  },
  tm_substituted_total: {
    type: "counter",
    help: "Answers of a listing whose provider reported a model that the listing does not allow.",
    labels: LISTING,
    mayBeEmpty: true,
  },
  tm_limit_refusals_total: {
    type: "counter",
    help: "Requests that a limit, a spend cap or a full pool refused.",
    labels: [
      { name: "scope", of: "scopes of limits: `key`, `org`, `model`, `pool`, `platform`, …" },
      { name: "kind", of: "kinds of limits: `rpm`, `tpm`, `concurrency`, `spend`, `capacity`, …" },
      { name: "origin", of: "values of `x-tm-error-origin`" },
    ],
    mayBeEmpty: true,
  },
  tm_failovers_total: {
    type: "counter",
    help: "Attempts that failed and were followed by one at another candidate.",
    labels: [PROVIDER, ERROR],
    mayBeEmpty: true,
  },
  tm_resends_total: {
    type: "counter",
    help:
      "Requests that were sent a second time to the same provider, as it had closed the kept " +
      "connection of the first.",
    labels: [PROVIDER],
    mayBeEmpty: true,
  },
  tm_circuit_open: {
    type: "gauge",
    help: "1: after failures this routed listing gets no request but a probe; 0: it gets requests.",
    labels: LISTING,
  },
  tm_pool_cooldown: {
    type: "gauge",
    help: "1: the provider throttled this pool, and it cools down; 0: it does not.",
    labels: [POOL],
  },
  tm_pool_usable_ratio: {
    type: "gauge",
    help: "The part of a pool's declared capacity that is used at most at the moment.",
    unit: "share",
    labels: [POOL],
  },
  tm_listing_verified: {
    type: "gauge",
    help: "1: the last conformance run of this routed listing passed and counts; 0: not.",
    labels: LISTING,
  },
  tm_listing_suspect: {
    type: "gauge",
    help: "1: live answers broke what this routed listing promises, so it is tried last; 0: not.",
    labels: LISTING,
  },
  tm_listing_below_cost: {
    type: "gauge",
    help: "1: the provider of this routed listing is owed more for some token than customers pay; 0: not.",
    labels: LISTING,
  },
  tm_metrics_folded_total: {
    type: "counter",
    help: "Attempts that were counted under `other`: there are more than `metrics.listings_max` listings.",
  },
  tm_video_polls_total: {
    type: "counter",
    help: "Polls of providers' video jobs by provider and result.",
    labels: [PROVIDER, { name: "result", of: "`reported`, `missing` or `failure`" }],
    mayBeEmpty: true,
  },
  tm_video_jobs_ended_total: {
    type: "counter",
    help: "Ended video jobs by provider, model and outcome.",
    labels: [
      ...LISTING,
      { name: "end", of: "`completed`, or the error code of [videos](../videos.md)" },
    ],
    mayBeEmpty: true,
  },
  tm_video_cost_missing_total: {
    type: "counter",
    help: "Videos without a reported cost: they were not billed.",
    labels: LISTING,
    mayBeEmpty: true,
  },
  tm_video_cost_over_reserve_total: {
    type: "counter",
    help: "Videos that cost more than was held: the platform bears the difference.",
    labels: LISTING,
    mayBeEmpty: true,
  },
  tm_video_sweeps_failed_total: {
    type: "counter",
    help: "Polling rounds that could not read the jobs.",
  },
} as const satisfies Readonly<Record<string, MetricRow>>;
