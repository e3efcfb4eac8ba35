export { undatedName } from "./entry-rules.ts";
export { marketplaceId } from "./ids.ts";
export { readPrice } from "./price-text.ts";
export {
  ceilingBody,
  findHead,
  headParameters,
  isImportable,
  isListingSource,
  LISTING_SOURCES,
  type ListingSource,
  type ProviderHead,
  providerHeads,
} from "./provider-heads.ts";
export {
  importListings,
  type ImportInput,
  type ImportResult,
  type SourceInput,
} from "./import-listings.ts";
export { listingHash } from "./listing-hash.ts";
export { isMargin, withMargin } from "./price-text.ts";
