export { CatalogHolder } from "./catalog-holder.ts";
export type { CatalogIssue, CatalogNote, ManifestFile } from "./catalog-input.ts";
export type {
  CapabilityDescriptor,
  Catalog,
  DatedPrices,
  DecisionsListing,
  Deployment,
  InputModality,
  ListedModel,
  ListedProvider,
  ModalityId,
  OwnKey,
  PriceSheet,
  PriceTier,
  WireId,
} from "./catalog.ts";
export { costsMore, pricesHourWrites, ratesOf } from "./sku-rates.ts";
export { extraPricing, statedRates } from "./stated-rates.ts";
export { compileCatalog } from "./compile-catalog.ts";
export { describeModel } from "./describe-model.ts";
export { NO_POOLS } from "./compile-pools.ts";
export { type ParsedPools, parsePoolsFile } from "./pools-file.ts";
export { comingPrices, deploymentAt, nextPricesMs } from "./deployment-at.ts";
export { isBelowCost, priceJumps } from "./price-notes.ts";
export { type KeyOwners, keyProblems, parseKeyOrigins } from "./key-origins.ts";
export { type ManifestText, parseManifestFiles } from "./load-manifests.ts";
export {
  BILLED_SKUS,
  type BilledSku,
  type HistoryRule,
  type Manifest,
  type ManifestCapacity,
  type ManifestDescriptor,
  type ManifestEndpoint,
  MANIFEST_SKUS,
  type ManifestExtraPricing,
  type ManifestInputModality,
  type ManifestListingTerms,
  type ManifestModel,
  type ManifestPrice,
  type ManifestPriceTier,
  type ManifestProvider,
  type ManifestSettlement,
  type ManifestSourceFile,
  type ManifestTermPrices,
  type ManifestWireProfile,
  publishedSchema,
  validateManifest,
} from "./manifest/index.ts";
export type { FixedMember } from "./wire-profile.ts";
export { CHECK_DAYS_MAX, OLD_DAYS, staleListings } from "./price-doubts.ts";
export { OWN_KEY_PINS, ownKeyDeployment, zeroPricePin } from "./own-key-deployment.ts";
