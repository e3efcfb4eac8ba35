export { Exposition, type Scrape } from "./exposition.ts";
export {
  type Family,
  HistogramFamily,
  mapped,
  oneValue,
  ReadFamily,
  type Sample,
} from "./family.ts";
export type { Histogram } from "./histogram.ts";
export { ListingFold } from "./listing-fold.ts";
export { type MetricName, METRICS } from "./metrics-table.ts";
export { processMetrics } from "./process-metrics.ts";
