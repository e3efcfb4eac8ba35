export { debitOf, exactCost, quoteImages, quoteWorstCase } from "./quote.ts";
export {
  costElsewhere,
  dependsOnRequest,
  leastCostElsewhere,
  tierBounds,
} from "./cost-elsewhere.ts";
