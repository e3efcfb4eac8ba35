import {
  ABSENT,
  type JsonDocument,
  type JsonNode,
  type JsonText,
  scanJson,
} from "../../../kernel/index.ts";
import { chatVocabulary, word } from "../fields/chat-vocabulary.ts";
import type { AnswerLabel } from "./chat-answer.ts";

/** The JSON object in a string, digits unchanged; `{}` for empty text, undefined for other text. */
export function argumentsObject(doc: JsonDocument, node: JsonNode): JsonText | undefined {
  const text = doc.text(node);
  if (text.trim() === "") return "{}" as JsonText;
  // Half a surrogate pair cannot be written in UTF-8, but its escape means the same.
  const escaped = text.replaceAll(
    /\p{Surrogate}/gu,
    (unit) => `\\u${unit.charCodeAt(0).toString(16)}`,
  );
  const inner = scanJson(Buffer.from(escaped), chatVocabulary);
  return inner.ok && inner.doc.isObject(0) ? inner.doc.raw(0) : undefined;
}

/**
 * What a block does that adds or removes a tool during a conversation: a "hint" does not change the
 * answer, because `tools` has the tool, or because a removal only advises. Undefined: other blocks.
 */
export function readToolChange(
  doc: JsonDocument,
  block: JsonNode,
): "definition" | "hint" | undefined {
  const type = readType(doc, block);
  if (type === word.tool_removal) return "hint";
  if (type !== word.tool_addition) return undefined;
  const tool = doc.present(block, word.tool);
  const isNamed = tool !== ABSENT && readType(doc, tool) === word.tool_reference;
  return isNamed ? "hint" : "definition";
}

function readType(doc: JsonDocument, node: JsonNode): number {
  const type = doc.isObject(node) ? doc.present(node, word.type) : ABSENT;
  return type !== ABSENT && doc.isString(type) ? doc.word(type) : 0;
}

/** A packed id is a prefix and base64: of the id in UTF-8, or where that is lossy, in UTF-16. */
const PACKED_MARK = "tmid_";
const PACKED_WIDE_MARK = "tmiw_";
const LEGAL = /^[a-zA-Z0-9_-]+$/;

/**
 * Converts a wire_a id to one that wire_b accepts. Keeps a legal id that does not look packed.
 * Different ids stay different, and `fromMessagesToolId` undoes the conversion.
 */
export function toMessagesToolId(id: string): string {
  if (LEGAL.test(id) && !isMarked(id)) return id;
  const bytes = Buffer.from(id);
  if (bytes.toString() === id) return PACKED_MARK + bytes.toString("base64url");
  return PACKED_WIDE_MARK + Buffer.from(id, "utf16le").toString("base64url");
}

/** The id of a call in an answer of wire_b; empty if the provider gave none. */
export function answeredToolId(id: string): string {
  return id === "" ? "" : toMessagesToolId(id);
}

/** Undoes `toMessagesToolId`. An id that was not packed is returned unchanged. */
export function fromMessagesToolId(id: string): string {
  if (!isMarked(id)) return id;
  const bytes = Buffer.from(id.slice(PACKED_MARK.length), "base64url");
  const unpacked = bytes.toString(id.startsWith(PACKED_MARK) ? "utf8" : "utf16le");
  return toMessagesToolId(unpacked) === id ? unpacked : id;
}

function isMarked(id: string): boolean {
  return id.startsWith(PACKED_MARK) || id.startsWith(PACKED_WIDE_MARK);
}

/** Separates the provider's id from the signature in a signed call id. */
const MARK = "_tmsig_";
/** Maximum length of a signature that is sent to the client; a longer one is lost. */
const SIGNATURE_CHARS_MAX = 16_384;
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

export interface SignedId {
  readonly id: string;
  /** Base64, as the provider wrote it. */
  readonly signature?: string;
}

/**
 * Puts the signature into the call's id, which clients send back, because other wires have no field
 * for a signature. The result has only letters, digits, "_" and "-" after the provider's id.
 */
export function signedId({ id, signature }: SignedId): string {
  if (signature === undefined || signature.length > SIGNATURE_CHARS_MAX) return id;
  const carried = Buffer.from(signature, "base64").toString("base64url");
  if (!BASE64.test(signature) || original(carried) !== signature) return id;
  return `${id === "" ? `call_${carried.slice(-12)}` : id}${MARK}${carried}`;
}

/** Undoes `signedId`. The signature is not verified, because the provider refuses a wrong one. */
export function splitSignedId(signed: string): SignedId {
  const at = signed.lastIndexOf(MARK);
  if (at <= 0 || signed.length - at > SIGNATURE_CHARS_MAX + MARK.length) return { id: signed };
  const carried = signed.slice(at + MARK.length);
  if (!/^[A-Za-z0-9_-]+$/.test(carried)) return { id: signed };
  return { id: signed.slice(0, at), signature: original(carried) };
}

function original(carried: string): string {
  return Buffer.from(carried, "base64url").toString("base64");
}

/**
 * Keeps a provider's id if it is unique. `listUsed` gives ids of earlier answers, because clients
 * pair results with calls by id alone, and some providers restart their ids in every answer.
 */
export class UniqueIds {
  readonly #make: (index: number) => string;
  readonly #listUsed: () => readonly string[];
  #taken: Set<string> | undefined;
  #count = 0;

  constructor(make: (index: number) => string, listUsed: () => readonly string[] = () => []) {
    this.#make = make;
    this.#listUsed = listUsed;
  }

  take(offered: string): string {
    const taken = (this.#taken ??= new Set(this.#listUsed()));
    let id = offered !== "" && !taken.has(offered) ? offered : this.#make(this.#count);
    while (taken.has(id)) id += "x";
    taken.add(id);
    this.#count += 1;
    return id;
  }
}

/** OpenAI refuses a history with a longer call id. */
const ID_CHARS_MAX = 40;

/** An id of the gateway's own: `idTail` is random, so its start can be left out. */
export function ownCallId(prefix: "call_" | "toolu_", idTail: string, index: number): string {
  return prefix + `${idTail}_${index}`.slice(prefix.length - ID_CHARS_MAX);
}

type IdLabel = Pick<AnswerLabel, "idTail" | "listUsedIds">;

export function answerToolIds({ idTail, listUsedIds }: IdLabel): UniqueIds {
  const make = (index: number): string => ownCallId("toolu_", idTail, index);
  return new UniqueIds(make, () => listUsedIds().map(answeredToolId));
}

export function answerCallIds({ idTail, listUsedIds }: IdLabel): UniqueIds {
  return new UniqueIds((index) => ownCallId("call_", idTail, index), listUsedIds);
}

/**
 * wire_b refuses a call id that was used before, so a later use gets another id, the same in every
 * request. The results that follow such a call get its new id too.
 */
export class HistoryIds {
  readonly #ids = new UniqueIds((index) => `toolu_${index}`);
  #open = new Map<string, { readonly names: string[]; answered: number }>();

  /** Begins an assistant message: the results that follow belong only to its calls. */
  begin(): void {
    this.#open = new Map();
  }

  callId(id: string): string {
    const taken = this.#ids.take(toMessagesToolId(id));
    const named = this.#open.get(id) ?? { names: [], answered: 0 };
    named.names.push(taken);
    this.#open.set(id, named);
    return taken;
  }

  resultId(id: string): string {
    const named = this.#open.get(id);
    return named?.names[named.answered++] ?? named?.names.at(-1) ?? toMessagesToolId(id);
  }
}

export const EMPTY_SCHEMA = '{"type":"object","properties":{}}' as JsonText;

/** Adds `type`, which wire_b requires, and `properties`, which some wire_a servers require. */
export function objectSchema(doc: JsonDocument, schema: JsonNode): JsonText {
  if (schema === ABSENT || doc.keys(schema).length === 0) return EMPTY_SCHEMA;
  let raw: string = doc.raw(schema);
  let missing = "";
  const nulls: { readonly at: number; readonly value: string }[] = [];
  for (const [name, { wordId, value }] of Object.entries(needed)) {
    const node = doc.member(schema, wordId);
    if (node === ABSENT) missing += `"${name}":${value},`;
    // A null is replaced in its place, because an added member would be a duplicate key.
    else if (doc.isNull(node)) nulls.push({ at: doc.start(node) - doc.start(schema), value });
  }
  for (const { at, value } of nulls.toSorted((a, b) => b.at - a.at)) {
    raw = raw.slice(0, at) + value + raw.slice(at + "null".length);
  }
  return (missing === "" ? raw : `{${missing}${raw.slice(1)}`) as JsonText;
}

const needed = {
  type: { wordId: word.type, value: '"object"' },
  properties: { wordId: word.properties, value: "{}" },
} as const;
