import { integer, type Setting, text } from "./setting.ts";

export interface MetricsConfig {
  readonly metricsListingsMax: number;
  readonly buildCommit: string;
}

/** What `/metrics` shows. */
export const METRICS_SETTINGS: {
  readonly [K in keyof MetricsConfig]: Setting<MetricsConfig[K]>;
} = {
  metricsListingsMax: integer(
    "metrics.listings_max",
    1_000,
    1,
    "Most listings with metrics of their own, first come, first served; all others together are " +
      "`other`, and their attempts count in `tm_metrics_folded_total`.",
  ),
  buildCommit: text(
    "build_commit",
    "",
    "The commit that the program was built of, shown by `tm_build_info`; images set it.",
  ),
};
