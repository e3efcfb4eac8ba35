/**
 * The provider manifest: its types, its schema, and the authoritative validator. This is the
 * package's public entry `tokenmarket/manifest`.
 */
export {
  type Manifest,
  type ManifestEndpoint,
  type ManifestProvider,
  type ManifestSettlement,
  manifestSchema,
  publishedSchema,
} from "./manifest-schema.ts";
export type {
  ManifestCapacity,
  ManifestDescriptor,
  ManifestInputModality,
  ManifestModel,
} from "./model-schema.ts";
export {
  BILLED_SKUS,
  type BilledSku,
  EXTRA_SKUS,
  MANIFEST_SKUS,
  type ManifestPrice,
  type ManifestPriceCardLine,
  type ManifestSku,
} from "./price-schema.ts";
export type {
  ManifestCatalogSource,
  ManifestSourceFile,
  ManifestSourceName,
} from "./source-schema.ts";
export type {
  ManifestChecked,
  ManifestExtraPricing,
  ManifestImageTokens,
  ManifestListingTerms,
  ManifestPriceChange,
  ManifestPriceTier,
  ManifestTermPrices,
} from "./terms-schema.ts";
export type { HistoryRule, ManifestWireProfile } from "./wire-profile-schema.ts";
export type { ManifestProblem } from "./schema-parts.ts";
export { listManifestRules, type ManifestRule } from "./manifest-rules.ts";
export { validateManifest, type ManifestVerdict } from "./validate-manifest.ts";
