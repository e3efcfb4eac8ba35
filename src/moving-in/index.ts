export type { MoveNote } from "./fates.ts";
export { filesOf, type MovedFile } from "./files-of.ts";
export {
  type AskedModel,
  type ListedHere,
  matchModels,
  type ModelMatch,
  openrouterFields,
} from "./match-openrouter.ts";
export { type MovedConfig, moveLitellm } from "./move-litellm.ts";
export type { PlannedSetting } from "./plan-settings.ts";
export { priceFileListings } from "./price-file.ts";
export type { ListingFinder } from "./price-listing.ts";
export { rawSetting } from "./raw-setting.ts";
export { CONFIG_BOUNDS, readYaml, type YamlBounds, type YamlReading } from "./read-yaml.ts";
export { type Setting, settingAt, textAt } from "./setting-tree.ts";
export { shippedIds, shippedListings } from "./shipped-listings.ts";
