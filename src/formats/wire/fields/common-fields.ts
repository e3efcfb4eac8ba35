import type { Deployment, InputModality } from "../../../catalog/index.ts";
import {
  ABSENT,
  type JsonDocument,
  type JsonText,
  MEDIA_PART_TOKENS,
  NUMBER_KIND,
  type Splice,
} from "../../../kernel/index.ts";
import { type ChatWord, word } from "./chat-vocabulary.ts";
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
import { refuseCredential } from "./forbidden-fields.ts";

const ids = optional(listOf(isFilledText));
const connectionModes = new Set(["prefer", "only", "never"]);

/** Returns a check that refuses members other than `fields`. */
function closed(fields: Fields): Check {
  const names = Object.keys(fields);
  const known = `${names.slice(0, -1).join(", ")} or ${names.at(-1)}`;
  return shape(fields, {
    other: (name) => refuseCredential(name) ?? problem(`is not a known field; use ${known}`, name),
  });
}

const connections: Check = (doc, node) =>
  doc.isString(node) && connectionModes.has(doc.text(node))
    ? undefined
    : problem("must be prefer, only or never");

/** The `provider` object of a request, a closed set of controls (specification, point 10). */
export const checkProvider: Check = closed({
  only: ids,
  ignore: ids,
  order: ids,
  upstream: optional(
    closed({ only: ids, ignore: ids, order: ids, allow_fallbacks: optional(isBoolean) }),
  ),
  allow_fallbacks: optional(isBoolean),
  require_parameters: optional(isBoolean),
  connections: optional(connections),
});

const noControls: ProviderControls = {
  allowFallbacks: true,
  requireParameters: false,
  connections: "prefer",
};

function readControls(doc: JsonDocument): ProviderControls {
  const node = doc.present(0, word.provider);
  if (node === ABSENT) return noControls;
  const sent = doc.value(node) as SentControls;
  return {
    ...(sent.only && { only: sent.only }),
    ...(sent.ignore && { ignore: sent.ignore }),
    ...(sent.order && { order: sent.order }),
    ...(sent.upstream && { upstream: sent.upstream }),
    allowFallbacks: sent.allow_fallbacks ?? true,
    requireParameters: sent.require_parameters ?? false,
    connections: sent.connections ?? "prefer",
  };
}

type SentControls = {
  readonly [F in "only" | "ignore" | "order" | "upstream" | "connections"]?:
    ProviderControls[F] | null;
} & { readonly [F in "allow_fallbacks" | "require_parameters"]?: boolean | null };

/** The routing controls of a request (specification, "What the service does", 10). */
export interface ProviderControls {
  readonly only?: readonly string[];
  readonly ignore?: readonly string[];
  readonly order?: readonly string[];
  readonly allowFallbacks: boolean;
  readonly requireParameters: boolean;
  /** Sent to aggregators, which route requests themselves, as their own `provider` object. */
  readonly upstream?: Readonly<Record<string, unknown>>;
  readonly connections: "prefer" | "only" | "never";
}

const oneChoice: Check = (doc, node) =>
  isInteger(doc, node) ??
  (doc.number(node) === 1 ? undefined : problem("must be 1: a request has one choice"));

const temperature: Check = (doc, node) => {
  const value = doc.kind(node) === NUMBER_KIND ? doc.number(node) : NaN;
  return value >= 0 && value <= 2 ? undefined : problem("must be a number from 0 to 2");
};

/** A mark for the provider's prompt cache. Its `ttl` changes the price. */
const cacheMark: Check = shape({ type: isText, ttl: optional(isText) });

/** Members of a content part or a tool, on both chat wires. */
export const markedFields: Fields = { type: isText, cache_control: optional(cacheMark) };

/** Checks of top-level fields on both chat wires; wire_b replaces `metadata` and `thinking`. */
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

/** Top-level fields that the gateway itself reads or writes, on either chat wire. */
export const GATEWAY_FIELDS = [
  "model",
  "messages",
  "stream",
  "max_tokens",
  "max_completion_tokens",
  "provider",
  "route",
  "models",
  "transforms",
] as const satisfies readonly ChatWord[];

/** Routing fields of other gateways. They are never forwarded, and are reported as dropped. */
const DROPPED_EVERYWHERE = ["route", "models", "transforms"] as const;

/** Word ids (`WordTable`) of members cut out of a forwarded body; it may get a new `provider`. */
export const KEPT_BACK: readonly number[] = [
  word.provider,
  ...DROPPED_EVERYWHERE.map((name) => word[name]),
];

function readDroppedParams(doc: JsonDocument): readonly string[] {
  let dropped: string[] | undefined;
  for (const name of DROPPED_EVERYWHERE) {
    if (doc.member(0, word[name]) >= 0) (dropped ??= []).push(name);
  }
  return dropped ?? NOTHING_DROPPED;
}

const NOTHING_DROPPED: readonly string[] = [];

/** The part that the checked requests of all modalities have in common. */
export class ParsedBody {
  readonly doc: JsonDocument;
  readonly modelId: string;
  readonly controls: ProviderControls;
  /** Which of `route`, `models` and `transforms` the client sent. They are never forwarded. */
  readonly droppedParams: readonly string[];

  constructor(doc: JsonDocument) {
    this.doc = doc;
    this.modelId = doc.text(doc.member(0, word.model));
    this.controls = readControls(doc);
    this.droppedParams = readDroppedParams(doc);
  }
}

export type OutputBoundName = "max_tokens" | "max_completion_tokens";

export const BOUND_NAMES: readonly OutputBoundName[] = ["max_tokens", "max_completion_tokens"];

/** The fields in which the client sent an output bound. */
export function sentBounds(doc: JsonDocument): readonly OutputBoundName[] {
  return BOUND_NAMES.filter((name) => doc.present(0, word[name]) !== ABSENT);
}

/** The output bound for a deployment: only the default is lowered to what it can write. */
export function boundFor(
  { outputTokens, hasDefaultBound }: AskedBound,
  { maxOutputTokens = outputTokens }: Pick<Deployment, "maxOutputTokens">,
): number {
  return hasDefaultBound === true ? Math.min(outputTokens, maxOutputTokens) : outputTokens;
}

export interface AskedBound {
  /** The client's output bound, or the default that is written into the body. */
  readonly outputTokens: number;
  /** True if the client sent no bound. */
  readonly hasDefaultBound?: boolean;
}

/**
 * The field of the output bound that the listing declares: the provider could ignore another field
 * and generate without a bound.
 */
export function outputBoundName(deployment: Deployment, sent?: OutputBoundName): OutputBoundName {
  const taken = deployment.supportedParameters;
  if (sent !== undefined && taken.has(sent)) return sent;
  return taken.has("max_completion_tokens") && !taken.has("max_tokens")
    ? "max_completion_tokens"
    : "max_tokens";
}

/**
 * Writes the bound if the client sent none. A null is replaced, because a second field of that name
 * would be a duplicate key.
 */
export function writeBound(
  doc: JsonDocument,
  splice: Splice,
  name: OutputBoundName,
  tokens: number,
): void {
  const sent = doc.member(0, word[name]);
  const text = String(tokens) as JsonText;
  if (sent === ABSENT) splice.insert(name, text);
  else if (doc.isNull(sent)) splice.replace(sent, text);
}

/** The client's `provider.upstream`, only for aggregators (priority 1 and above). */
export function upstreamControls(
  doc: JsonDocument,
  deployment: Pick<Deployment, "priority">,
): JsonText | undefined {
  const controls = doc.present(0, word.provider);
  if (controls === ABSENT || deployment.priority < 1) return undefined;
  const upstream = doc.present(controls, word.upstream);
  return upstream === ABSENT ? undefined : doc.raw(upstream);
}

export class MediaCollector {
  readonly parts: MediaPart[] = [];
  /** Added to the body's bytes: the media allowance, minus the bytes of inline images. */
  extraTokens = 0;

  /**
   * `imageBytes` is the length of the base64 text of an inline image, else 0. `isInline` is true if
   * the body contains the media itself, so the body's byte count includes it.
   */
  add(path: string, kind: MediaPart["kind"], imageBytes: number, isInline: boolean): void {
    this.parts.push({ path, kind });
    // A URL does not show how large the media is, so fetched media gets the whole allowance.
    const isFetched = (kind === "video" || kind === "audio") && !isInline;
    if (kind === "image" || kind === "file" || isFetched) this.extraTokens += MEDIA_PART_TOKENS;
    if (kind === "image") this.extraTokens -= imageBytes;
  }
}

export interface MediaPart {
  /** The part's place: `messages[2].content[0]` (wire_a) or `messages.2.content.0` (wire_b). */
  readonly path: string;
  readonly kind: Exclude<InputModality, "text">;
}
