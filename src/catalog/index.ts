export { CatalogHolder } from "./catalog-holder.ts";
export type { CatalogIssue, CatalogNote, ManifestFile } from "./catalog-input.ts";
export type {
  CapabilityDescriptor,
  CapacityDeclaration,
  Catalog,
  DecisionsListing,
  Deployment,
  InputModality,
  ListedModel,
  ListedProvider,
  ModalityId,
  OwnKey,
  PriceSheet,
  WireId,
} from "./catalog.ts";
export { compileCatalog } from "./compile-catalog.ts";
export { NO_POOLS, type StatedPool, type StatedPools } from "./compile-pools.ts";
export { type KeyOwners, keyProblems, parseKeyOrigins } from "./key-origins.ts";
export { type ManifestText, parseManifestFiles } from "./load-manifests.ts";
export { publishedSchema, validateManifest } from "./manifest/index.ts";
export { ownKeyDeployment, zeroPricePin } from "./own-key-deployment.ts";
