export { microDollars, picoDollars } from "./dollars.ts";
export { Exposition } from "./exposition.ts";
export {
  type Family,
  HistogramFamily,
  mapped,
  oneValue,
  ReadFamily,
  type Sample,
} from "./family.ts";
export type { Histogram, KeptTrace } from "./histogram.ts";
export { ListingFold, type ListingLabels, LISTINGS_MAX } from "./listing-fold.ts";
export { processMetrics } from "./process-metrics.ts";
