export type { FedEvents } from "./answer-feed.ts";
export { openModelCaller } from "./model-caller.ts";
export { openOptimize } from "./open-optimize.ts";
export type {
  OptimizeRefusal,
  OptimizeResult,
  OptimizeSearch,
  OptimizeSearches,
  SearchEstimate,
} from "./optimize.ts";
export { type OptimizeStore, PostgresOptimizeStore } from "./postgres-optimize-store.ts";
