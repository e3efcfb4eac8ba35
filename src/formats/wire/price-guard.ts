import { type Deployment, pricesHourWrites } from "../../catalog/index.ts";
import {
  ABSENT,
  FALSE_KIND,
  type JsonDocument,
  type JsonNode,
  NODE_SIZE,
} from "../../kernel/index.ts";
import type { RequestCodec } from "./contract.ts";
import { describeAccepted } from "./fields/accepted-values.ts";
import { type ChatWord, readName, word } from "./fields/chat-vocabulary.ts";
import { isEmptyArray } from "./fields/check-shape.ts";
import { isUsual } from "./neutral/chat-call.ts";
import { CANNOT_CROSS, type TranslationIssues } from "./neutral/translation-issues.ts";

/** Fields that the answer depends on and that can raise the price, in requests of either wire. */
const REFUSED_FIELDS = [
  "audio",
  "compaction",
  "container",
  "enable_search",
  "fallbacks",
  "inference_geo",
  "mcp_servers",
  "modalities",
  "plugins",
  "search_options",
  "search_parameters",
  "web_search_options",
] as const satisfies readonly ChatWord[];

const DROPPED_FIELDS = ["service_tier", "speed"] as const satisfies readonly ChatWord[];

/** Top-level fields that the price guard handles, so other rules skip them. */
export const pricedNames: ReadonlySet<string> = new Set([...REFUSED_FIELDS, ...DROPPED_FIELDS]);

interface FieldRules {
  readonly refused: ReadonlySet<string>;
  readonly carried: ReadonlySet<string>;
}

/** Reports fields a translation refuses or drops, even priced ones that a listing declares. */
export function noteFields(
  doc: JsonDocument,
  notes: TranslationIssues,
  { refused, carried }: FieldRules,
): void {
  for (const key of doc.keys(0)) {
    const name = readName(doc, key);
    if (isUsual(doc, name, doc.valueOf(key))) continue;
    if (refused.has(name)) notes.refuse(name, CANNOT_CROSS);
    else if (!carried.has(name) && !pricedNames.has(name)) notes.drop(name);
  }
  for (const { field } of findRefusedFields(doc)) notes.refuse(field, CANNOT_CROSS);
  if (isTextOnly(doc, doc.present(0, word.modalities))) notes.drop("modalities");
  for (const name of DROPPED_FIELDS) {
    const node = doc.present(0, word[name]);
    if (node !== ABSENT && !isUsual(doc, name, node)) notes.drop(name);
  }
}

export interface PricedField {
  readonly field: string;
  /** Names under which a listing can declare the field. */
  readonly names: readonly string[];
  readonly node: JsonNode;
}

export interface PricedFields {
  /** Fields that the answer depends on: the request is refused unless `isOpen` is true for all. */
  readonly refused: readonly PricedField[];
  /** Fields without effect on the answer; without them, the provider's usual price applies. */
  readonly dropped: readonly (PricedField & { readonly wordId: number })[];
  readonly longMarks: readonly LongMark[];
}

/** A cache mark with an unusual lifetime, which the provider prices differently. */
export interface LongMark {
  readonly field: string;
  readonly object: JsonNode;
  /** True for a cache write that lasts an hour, on a wire whose providers report such writes. */
  readonly isHour: boolean;
}

export function isPricedMark({ isHour }: LongMark, { prices }: Deployment): boolean {
  return isHour && pricesHourWrites(prices);
}

export function findPricedFields(doc: JsonDocument, codec: RequestCodec): PricedFields {
  const refused = findRefusedFields(doc);
  addHostedTools(doc, codec, refused);
  const dropped = DROPPED_FIELDS.flatMap((name) => {
    const node = doc.present(0, word[name]);
    if (node === ABSENT || codec.isUsualPrice(name, doc.text(node))) return [];
    return { field: name, names: [name], node, wordId: word[name] };
  });
  const longMarks: LongMark[] = [];
  findLongMarks(doc, 0, codec, longMarks);
  return { refused, dropped, longMarks };
}

function findRefusedFields(doc: JsonDocument): PricedField[] {
  const found: PricedField[] = [];
  for (const name of REFUSED_FIELDS) {
    const node = doc.present(0, word[name]);
    if (node === ABSENT || isEmptyArray(doc, node) || doc.kind(node) === FALSE_KIND) continue;
    if (name === "modalities" && isTextOnly(doc, node)) continue;
    found.push({ field: name, names: [name], node });
  }
  return found;
}

/**
 * Fields that a listing must declare even if the customer pays the provider: they need a beta
 * header, or let another model answer.
 */
const neverOpen: ReadonlySet<string> = new Set([
  "compaction",
  "container",
  "fallbacks",
  "mcp_servers",
  "speed",
]);

/** True if the listing declares the field, or the customer pays and it is not in `neverOpen`. */
export function isOpen(doc: JsonDocument, priced: PricedField, deployment: Deployment): boolean {
  const isFree = deployment.passesPricedFields === true && !neverOpen.has(priced.field);
  return isFree || isDeclared(doc, priced, deployment);
}

function isDeclared(
  doc: JsonDocument,
  { names, node }: PricedField,
  deployment: Deployment,
): boolean {
  const isWhole = doc.isObject(node) || doc.isArray(node);
  return names.some((name) => {
    const descriptor = deployment.supportedParameters.get(name);
    if (descriptor === undefined) return false;
    return isWhole || describeAccepted(doc, node, descriptor) === undefined;
  });
}

/** Adds the tools that the provider runs itself at a price. */
function addHostedTools(doc: JsonDocument, codec: RequestCodec, found: PricedField[]): void {
  const list = doc.present(0, word.tools);
  const { isClientTool } = codec;
  if (list === ABSENT || doc.hasPassed(list, isClientTool)) return;
  const foundBefore = found.length;
  let index = 0;
  const end = doc.next(list);
  for (let tool = list + NODE_SIZE; tool < end; tool = doc.next(tool)) {
    const type = doc.present(tool, word.type);
    if (type !== ABSENT && !isClientTool(doc, type)) {
      const text = doc.text(type).slice(0, TYPE_CHARS_MAX);
      // A listing declares a hosted tool by its type, as a parameter; `tools` is not enough.
      const names = [text, text.replace(/_\d+$/, "")];
      found.push({ field: codec.renderPath(["tools", index, "type"]), names, node: tool });
    }
    index += 1;
  }
  if (found.length === foundBefore) doc.notePassed(list, isClientTool);
}

const TYPE_CHARS_MAX = 64;
/** The usual lifetime of each cache mark. OpenAI's marks for 12 hours cost twice as much. */
const USUAL_TTLS: ReadonlyMap<number, readonly [field: string, usual: string]> = new Map([
  [word.cache_control, ["cache_control", "5m"]],
  [word.prompt_cache_breakpoint, ["prompt_cache_breakpoint", "30m"]],
  [word.prompt_cache_options, ["prompt_cache_options", "30m"]],
]);
const HOUR_TTL = "1h";

/** Members in which a provider reads cache marks. The client's own data is not searched. */
export const markedMembers: ReadonlySet<number> = new Set([
  word.content,
  word.function,
  word.messages,
  word.source,
  word.system,
  word.tools,
]);

/** The recursion is bounded: a document has no nodes below `READ_DEPTH_MAX`. */
function findLongMarks(
  doc: JsonDocument,
  node: JsonNode,
  codec: RequestCodec,
  found: LongMark[],
): void {
  const end = doc.next(node);
  if (doc.isArray(node)) {
    for (let item = node + NODE_SIZE; item < end; item = doc.next(item)) {
      findLongMarks(doc, item, codec, found);
    }
  } else if (doc.isObject(node)) {
    for (let key = node + NODE_SIZE; key < end; key = doc.next(key + NODE_SIZE)) {
      const wordId = doc.keyWord(key);
      const value = doc.valueOf(key);
      const mark = USUAL_TTLS.get(wordId);
      if (mark !== undefined) {
        const long = readLongMark(doc, value, mark, codec);
        if (long !== undefined) found.push(long);
      } else if (markedMembers.has(wordId) && !doc.hasPassed(value, findLongMarks)) {
        const foundBefore = found.length;
        findLongMarks(doc, value, codec, found);
        if (found.length === foundBefore) doc.notePassed(value, findLongMarks);
      }
    }
  }
}

function readLongMark(
  doc: JsonDocument,
  mark: JsonNode,
  [field, usual]: readonly [field: string, usual: string],
  codec: RequestCodec,
): LongMark | undefined {
  if (!doc.isObject(mark)) return undefined;
  // The key may be duplicated, and any of the values may be the one that the provider reads.
  const unusual = doc.keys(mark).flatMap((key) => {
    const ttl = doc.valueOf(key);
    if (doc.keyWord(key) !== word.ttl || doc.isNull(ttl)) return [];
    const text = doc.isString(ttl) ? doc.text(ttl) : "";
    return text === usual ? [] : [text];
  });
  if (unusual.length === 0) return undefined;
  const isHour =
    field === "cache_control" &&
    codec.countsHourWrites &&
    unusual.every((text) => text === HOUR_TTL);
  return { field, object: mark, isHour };
}

function isTextOnly(doc: JsonDocument, node: JsonNode): boolean {
  if (node === ABSENT || !doc.isArray(node)) return false;
  return doc.items(node).every((item) => doc.word(item) === word.text);
}
