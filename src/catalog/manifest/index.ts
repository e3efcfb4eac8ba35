/**
 * The provider manifest: its types, its schema, and the authoritative validator. This is the
 * package's public entry `tokenmarket/manifest`.
 */
export type {
  Manifest,
  ManifestCapacity,
  ManifestCatalogSource,
  ManifestChecked,
  ManifestDescriptor,
  ManifestEndpoint,
  ManifestExtraPricing,
  ManifestInputModality,
  ManifestListingTerms,
  ManifestModel,
  ManifestPrice,
  ManifestPriceCardLine,
  ManifestPriceChange,
  ManifestPriceTier,
  ManifestProvider,
  ManifestSettlement,
  ManifestSku,
  ManifestSourceFile,
  ManifestSourceName,
  ManifestTermPrices,
} from "./manifest.ts";
export { BILLED_SKUS, type BilledSku, EXTRA_SKUS, MANIFEST_SKUS } from "./manifest.ts";
export type { HistoryRule, ManifestWireProfile } from "./manifest.ts";
export type { ManifestProblem } from "./manifest-problem.ts";
export { manifestSchema, publishedSchema } from "./manifest-schema.ts";
export { listManifestRules, type ManifestRule } from "./manifest-rules.ts";
export { validateManifest, type ManifestVerdict } from "./validate-manifest.ts";
