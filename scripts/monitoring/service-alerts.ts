import type { Alert } from "./alert.ts";

const OK = 'tm_requests_total{route="/v1/chat/completions",status="200",error=""}';
const FAULT = 'tm_requests_total{route="/v1/chat/completions",status="503",error="gateway_error"}';
const MISTAKE = FAULT.replace("503", "400");
const LEFT = FAULT.replace("503", "0");
const RESERVE_FAULTS = {
  'tm_ledger_faults_total{lane="reserve",kind="busy"}': "0+1x12",
  tm_ledger_lease_seconds: "8x12",
};
const FAST_BUCKET = 'tm_first_output_seconds_bucket{provider="p",model="m",le="0.1"}';
const FAST_OUTPUTS = {
  [FAST_BUCKET]: "0+20x640",
  'tm_first_output_seconds_bucket{provider="p",model="m",le="1.6"}': "0+20x640",
  'tm_first_output_seconds_bucket{provider="p",model="m",le="+Inf"}': "0+20x640",
  'tm_first_output_seconds_count{provider="p",model="m"}': "0+20x640",
};

/** Alerts about requests, instances and providers. */
export const SERVICE_ALERTS = {
  TmErrorBudgetFast: {
    expr: "tm:gateway_faults:ratio_1h > 0.0144 and tm:gateway_faults:ratio_5m > 0.0144",
    level: "page",
    summary: "Our own faults use up the month's error budget within two days.",
    fires: { series: { [OK]: "0+98x70", [FAULT]: "0+2x70" }, at: "65m" },
    quiet: {
      series: {
        [OK]: "0+99x70",
        [FAULT]: "0+2x60 120x10",
        [MISTAKE]: "0+50x70",
        [LEFT]: "0+50x70",
      },
      at: "70m",
    },
  },
  TmErrorBudgetSlow: {
    expr: "tm:gateway_faults:ratio_6h > 0.006 and tm:gateway_faults:ratio_30m > 0.006",
    level: "ticket",
    summary: "Our own faults use up the month's error budget within five days.",
    fires: { series: { [OK]: "0+99x400", [FAULT]: "0+1x400" }, at: "380m" },
    quiet: {
      series: {
        [OK]: "0+9990x400",
        [FAULT]: "0+10x400",
        [MISTAKE]: "0+500x400",
        [LEFT]: "0+500x400",
      },
      at: "380m",
    },
    isLong: true,
  },
  TmReservesFail: {
    // A ledger that has lost its lease writes no batches, so it counts no failed ones.
    expr:
      '(sum(rate(tm_ledger_faults_total{lane="reserve"}[5m])) > 0 or min(tm_ledger_lease_seconds) == 0) ' +
      'and sum(rate(tm_requests_total{status="503"}[5m])) / sum(rate(tm_requests_total[5m])) > 0.05',
    for: "2m",
    level: "page",
    summary: "Holds cannot be written, and requests end with 503.",
    fires: { series: { ...RESERVE_FAULTS, [OK]: "0+9x12", [FAULT]: "0+9x12" }, at: "10m" },
    quiet: { series: { ...RESERVE_FAULTS, [OK]: "0+99x12", [FAULT]: "0+1x12" }, at: "10m" },
  },
  TmNoInstance: {
    expr: 'absent(tm_instance_state{state="serving"} == 1)',
    for: "1m",
    level: "page",
    summary: "No instance serves, or Prometheus reaches none.",
    fires: { series: { 'tm_instance_state{state="serving"}': "1 0x9" }, at: "5m" },
    quiet: {
      series: {
        'tm_instance_state{state="serving",instance="a"}': "0x9",
        'tm_instance_state{state="serving",instance="b"}': "1x9",
      },
      at: "5m",
    },
  },
  TmLimitStoreDown: {
    expr: "tm_limit_store_up == 0",
    for: "1m",
    level: "page",
    summary: "{{ $labels.instance }} does not reach the limit store.",
    fires: { series: { 'tm_limit_store_up{instance="a"}': "1 0x9" }, at: "5m" },
    quiet: { series: { 'tm_limit_store_up{instance="a"}': "1 0 1x9" }, at: "5m" },
  },
  TmModelDown: {
    expr: 'max by (model) (min by (instance, model) (tm_circuit_open{model!="other"})) == 1',
    for: "5m",
    level: "page",
    summary: "Every circuit of {{ $labels.model }} is open: the model is not served.",
    fires: {
      series: {
        'tm_circuit_open{instance="a",provider="p",model="m"}': "1x9",
        'tm_circuit_open{instance="a",provider="q",model="m"}': "1x9",
      },
      at: "7m",
    },
    quiet: {
      series: {
        'tm_circuit_open{instance="a",provider="p",model="m"}': "1x9",
        'tm_circuit_open{instance="a",provider="q",model="m"}': "0x9",
      },
      at: "7m",
    },
  },
  TmProviderSlow: {
    expr:
      "(tm:first_output_seconds:p95_10m > 3 * tm:first_output_seconds:p95_1d) " +
      "and sum by (provider, model) (increase(tm_first_output_seconds_count[10m])) > 20",
    for: "10m",
    level: "ticket",
    summary:
      "The first output of {{ $labels.model }} at {{ $labels.provider }} takes over three times as long as on its own day.",
    fires: { series: { ...FAST_OUTPUTS, [FAST_BUCKET]: "0+20x600 12000x40" }, at: "630m" },
    quiet: { series: FAST_OUTPUTS, at: "630m" },
    isLong: true,
  },
  TmEventLoopBusy: {
    expr: "tm_event_loop_utilization > 0.85",
    for: "10m",
    level: "ticket",
    summary: "{{ $labels.instance }} has been close to what one process can do for ten minutes.",
    fires: { series: { 'tm_event_loop_utilization{instance="a"}': "0.9x15" }, at: "12m" },
    quiet: { series: { 'tm_event_loop_utilization{instance="a"}': "0.9x5 0.5 0.9x9" }, at: "12m" },
  },
  TmCatalogsDiffer: {
    expr: "count(count by (build_id) (tm_catalog_info)) > 1",
    for: "15m",
    level: "ticket",
    summary: "Instances serve different catalogs.",
    fires: {
      series: {
        'tm_catalog_info{instance="a",build_id="x"}': "1x20",
        'tm_catalog_info{instance="b",build_id="y"}': "1x20",
      },
      at: "17m",
    },
    quiet: {
      series: {
        'tm_catalog_info{instance="a",build_id="x"}': "1x20",
        'tm_catalog_info{instance="b",build_id="x"}': "1x20",
      },
      at: "17m",
    },
  },
  TmSeriesFolded: {
    expr: "sum(increase(tm_metrics_folded_total[1h])) > 0",
    level: "ticket",
    summary: "There are more listings than metrics.listings_max: some have no series of their own.",
    fires: { series: { tm_metrics_folded_total: "0x5 1x5" }, at: "8m" },
    quiet: { series: { tm_metrics_folded_total: "0x9" }, at: "8m" },
  },
  TmSpansDropped: {
    expr: 'sum(increase(tm_spans_total{result="dropped"}[15m])) > 0',
    level: "ticket",
    summary: "Spans of traces were dropped: the collector does not take them.",
    fires: { series: { 'tm_spans_total{result="dropped"}': "0x5 7x5" }, at: "8m" },
    quiet: {
      series: {
        'tm_spans_total{result="dropped"}': "0x9",
        'tm_spans_total{result="exported"}': "0+5x9",
      },
      at: "8m",
    },
  },
  TmReloadFailed: {
    expr: 'sum by (what) (increase(tm_reloads_total{result="failed"}[1h])) > 0',
    level: "ticket",
    summary: "A reload of the {{ $labels.what }} failed; the old one stays in force.",
    fires: { series: { 'tm_reloads_total{what="catalog",result="failed"}': "0x5 1x5" }, at: "8m" },
    quiet: {
      series: {
        'tm_reloads_total{what="catalog",result="failed"}': "1x9",
        'tm_reloads_total{what="catalog",result="swapped"}': "0+1x9",
      },
      at: "8m",
    },
  },
} as const satisfies Readonly<Record<string, Alert>>;
