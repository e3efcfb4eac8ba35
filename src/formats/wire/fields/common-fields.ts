import { type JsonDocument, NUMBER_KIND } from "../../../kernel/index.ts";
import { word } from "./chat-vocabulary.ts";
import {
  anything,
  type Check,
  type Fields,
  isArray,
  isBoolean,
  isFilledText,
  isInteger,
  isNumber,
  isObject,
  isText,
  listOf,
  optional,
  problem,
  shape,
  textOr,
} from "./check-shape.ts";
import { checkProvider } from "./provider-controls.ts";

const oneChoice: Check = (doc, node) =>
  isInteger(doc, node) ??
  (doc.number(node) === 1 ? undefined : problem("must be 1: a request has one choice"));

const temperature: Check = (doc, node) => {
  const value = doc.kind(node) === NUMBER_KIND ? doc.number(node) : NaN;
  return value >= 0 && value <= 2 ? undefined : problem("must be a number from 0 to 2");
};

/** A mark for the provider's prompt cache: how long it lasts changes its price. */
export const cacheMark: Check = shape({ type: isText, ttl: optional(isText) });

/** Top-level fields that mean the same on both chat wires. */
export const commonFields: Fields = {
  model: isFilledText,
  stream: optional(isBoolean),
  max_tokens: optional(isInteger),
  max_completion_tokens: optional(isInteger),
  n: optional(oneChoice),
  temperature: optional(temperature),
  top_p: optional(isNumber),
  top_k: optional(isNumber),
  response_format: optional(isObject),
  thinking: optional(isObject),
  service_tier: optional(isText),
  speed: optional(isText),
  audio: optional(isObject),
  container: optional(textOr(isObject, "must be a string or an object")),
  fallbacks: anything,
  inference_geo: optional(isText),
  mcp_servers: optional(isArray),
  modalities: optional(listOf(isText)),
  plugins: optional(isArray),
  search_parameters: optional(isObject),
  web_search_options: optional(isObject),
  cache_control: optional(cacheMark),
  thread: anything,
  metadata: optional(isObject),
  provider: optional(checkProvider),
  route: anything,
  models: anything,
  transforms: anything,
};

export const textList: Check = listOf(isText);

/** Routing fields of other gateways: dropped on every route, and named. */
const DROPPED_EVERYWHERE = ["route", "models", "transforms"] as const;

/** Ids of the members that never go upstream as they came. */
export const KEPT_BACK: readonly number[] = [
  word.provider,
  ...DROPPED_EVERYWHERE.map((name) => word[name]),
];

/** The dropped routing fields that this body has. */
export function readDroppedParams(doc: JsonDocument): readonly string[] {
  let dropped: string[] | undefined;
  for (const name of DROPPED_EVERYWHERE) {
    if (doc.member(0, word[name]) >= 0) (dropped ??= []).push(name);
  }
  return dropped ?? NOTHING_DROPPED;
}

const NOTHING_DROPPED: readonly string[] = [];
