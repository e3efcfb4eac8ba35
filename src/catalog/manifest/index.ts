/**
 * The provider manifest: its types, its schema, and the authoritative validator. This is the
 * package's public entry `tokenmarket/manifest`.
 */
export type {
  Manifest,
  ManifestCapacity,
  ManifestDescriptor,
  ManifestEndpoint,
  ManifestInputModality,
  ManifestModel,
  ManifestPrice,
  ManifestPriceCardLine,
  ManifestProvider,
  ManifestSettlement,
  ManifestSku,
} from "./manifest.ts";
export type { ManifestProblem } from "./manifest-problem.ts";
export { manifestSchema, publishedSchema } from "./manifest-schema.ts";
export { listManifestRules, type ManifestRule } from "./manifest-rules.ts";
export { validateManifest, type ManifestVerdict } from "./validate-manifest.ts";
