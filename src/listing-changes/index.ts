export {
  diffManifests,
  type ListingDifference,
  type ManifestDifference,
} from "./diff-manifests.ts";
export type { FactDifference } from "./diff-facts.ts";
export type { PriceDifference } from "./diff-prices.ts";
export { costOfTraffic, type TrafficCost, type UseCost } from "./traffic-cost.ts";
export type { PriceRules } from "./merge-listing.ts";
export { type RefreshFinding, refreshManifest } from "./refresh-manifest.ts";
