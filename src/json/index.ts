export {
  byType,
  closed,
  conforms,
  NOT_BLANK,
  pathText,
  schemaCheck,
  schemaFaults,
  type SchemaCheck,
  type SchemaFault,
} from "./check-schema.ts";
export type { EditedBytes } from "./edited-bytes.ts";
export { foldName } from "./fold-name.ts";
export { JsonBudget } from "./json-budget.ts";
export {
  ABSENT,
  ARRAY_KIND,
  FALSE_KIND,
  JsonDocument,
  type JsonNode,
  NODE_SIZE,
  NUMBER_KIND,
  OBJECT_KIND,
  STRING_KIND,
  TRUE_KIND,
} from "./json-document.ts";
export {
  asObject,
  compactJson,
  findElements,
  findMember,
  findMembers,
  findPath,
  skipSpace,
  type Span,
  textOf,
  tryParse,
  tryPrint,
  withMember,
  withoutMember,
} from "./json-edit.ts";
export { READ_DEPTH_MAX, UNKNOWN_FIELDS_MAX } from "./json-limits.ts";
export { placeName, pointerTo } from "./json-pointer.ts";
export { JsonProgress } from "./json-progress.ts";
export {
  arrayText,
  isBlankToken,
  joinTokens,
  type JsonText,
  objectText,
  quoteText,
  textBytes,
  textToken,
  tokenText,
} from "./json-text.ts";
export { FORBIDDEN_KEYS, FREE_DATA_FORBIDDEN_KEYS, type KeyRules } from "./key-rules.ts";
export { readJsonObject } from "./read-json-object.ts";
export {
  JSON_DEPTH_MAX,
  JSON_VALUES_MAX,
  type JsonFlaw,
  type RawJson,
  RawNumber,
  type RawObject,
  readJson,
  readRawJson,
} from "./read-manifest-json.ts";
export { MicroUsdNumber, type ReadRoute, UsdNumber, Whole, Word } from "./read-route.ts";
export { scanJson, valueEndIn } from "./scan-json.ts";
export {
  Count,
  Instant,
  List,
  MaybeInstant,
  MaybeInteger,
  MaybeText,
  nullable,
  oneOf,
  showTokens,
  Tokens,
} from "./schema-parts.ts";
export { type DefineField, shape } from "./shape.ts";
export {
  canonicalText,
  documentParts,
  documentReader,
  isSignedBy,
  publicKeyText,
  readPublicKey,
  signedFile,
  type TextDocument,
} from "./signed-document.ts";
export { Splice } from "./splice.ts";
export { WordTable } from "./word-table.ts";
