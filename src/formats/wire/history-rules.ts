import type { HistoryRule } from "../../catalog/index.ts";
import {
  ABSENT,
  isBlankToken,
  joinTokens,
  type JsonDocument,
  type JsonNode,
  type JsonText,
  NODE_SIZE,
  type Splice,
} from "../../kernel/index.ts";
import type { RequestCodec } from "./contract.ts";
import { word } from "./fields/chat-vocabulary.ts";
import { readToolChange } from "./neutral/tool-calls.ts";
import { dropOthers, TranslationIssues } from "./neutral/translation-issues.ts";
import { markedMembers } from "./price-guard.ts";

type Rules = ReadonlySet<HistoryRule>;

interface HistoryEdits {
  readonly removed: { readonly object: JsonNode; readonly key: JsonNode }[];
  /** Byte ranges of the body, with the text that replaces them. */
  readonly replaced: { readonly start: number; readonly end: number; readonly text: string }[];
  /** Fields that the provider does not get, reported in `x-tm-dropped-params`. */
  readonly names: Set<string>;
}

export function historyLosses(
  doc: JsonDocument,
  rules: Rules,
  codec: RequestCodec,
): readonly string[] {
  return rules.size === 0 ? [] : [...memoizeEdits(doc, rules, codec).names];
}

export function applyHistoryRules(
  doc: JsonDocument,
  splice: Splice,
  rules: Rules,
  codec: RequestCodec,
): void {
  if (rules.size === 0) return;
  const { removed, replaced } = memoizeEdits(doc, rules, codec);
  for (const { object, key } of removed) splice.removeKey(object, key);
  for (const { text, ...place } of replaced) splice.replaceBetween(place, text);
}

// Edits are kept, because routing reads the names of the lost fields before the encoder edits.
const known = new WeakMap<JsonDocument, { readonly rules: Rules; readonly edits: HistoryEdits }>();

function memoizeEdits(doc: JsonDocument, rules: Rules, codec: RequestCodec): HistoryEdits {
  const last = known.get(doc);
  if (last?.rules === rules) return last.edits;
  const edits = findEdits(doc, rules, codec);
  known.set(doc, { rules, edits });
  return edits;
}

function findEdits(doc: JsonDocument, rules: Rules, codec: RequestCodec): HistoryEdits {
  const edits: HistoryEdits = { removed: [], replaced: [], names: new Set() };
  if (rules.has("no-cache-control")) findMarks(doc, edits);
  if (rules.has("no-strict")) findStrict(doc, edits);
  const messages = doc.present(0, word.messages);
  if (messages === ABSENT) return edits;
  if (rules.has("no-null")) findNulls(doc, messages, edits);
  if (rules.has("system-first")) {
    const keepsParts = !rules.has("text-only-content");
    joinSystem(doc, messages, { ...codec, keepsParts }, edits);
  }
  const end = doc.next(messages);
  for (let node = messages + NODE_SIZE; node < end; node = doc.next(node)) {
    editMessage(doc, node, rules, edits);
  }
  return edits;
}

const REASONING: ReadonlySet<number> = new Set([
  word.reasoning,
  word.reasoning_content,
  word.reasoning_details,
]);

function editMessage(doc: JsonDocument, node: JsonNode, rules: Rules, edits: HistoryEdits): void {
  let role = 0;
  let content = ABSENT;
  let name = ABSENT;
  for (let key = node + NODE_SIZE; key < doc.next(node); key = doc.next(doc.valueOf(key))) {
    const wordId = doc.keyWord(key);
    const value = doc.valueOf(key);
    if (wordId === word.role) {
      role = doc.word(value);
      if (role === word.developer && rules.has("system-for-developer")) {
        edits.replaced.push({ start: doc.start(value), end: doc.end(value), text: '"system"' });
      }
    } else if (wordId === word.content) content = value;
    else if (wordId === word.name) name = key;
    else if (REASONING.has(wordId) && rules.has("no-reasoning")) {
      edits.removed.push({ object: node, key });
      if (!doc.isNull(value)) edits.names.add(`messages.${doc.text(key)}`);
    }
  }
  // A message of role `function` needs its name, which matches it to its call.
  if (name !== ABSENT && role !== word.function && rules.has("no-name")) {
    edits.removed.push({ object: node, key: name });
    if (!doc.isNull(doc.valueOf(name))) edits.names.add("messages.name");
  }
  if (rules.has("text-only-content")) joinTexts(doc, content, edits);
}

/** Joins content that has only texts: a line break replaces the bytes between two texts. */
function joinTexts(doc: JsonDocument, content: JsonNode, { replaced }: HistoryEdits): void {
  if (content === ABSENT || !doc.isArray(content)) return;
  const gaps: HistoryEdits["replaced"] = [];
  let start = doc.start(content);
  const end = doc.next(content);
  for (let part = content + NODE_SIZE; part < end; part = doc.next(part)) {
    const text = doc.isObject(part) ? doc.present(part, word.text) : ABSENT;
    if (text === ABSENT || !doc.isString(text)) return;
    const isFirst = gaps.length === 0;
    gaps.push({ start, end: doc.start(text) + 1, text: isFirst ? '"' : "\\n" });
    start = doc.end(text) - 1;
  }
  const isEmpty = gaps.length === 0;
  gaps.push({ start, end: doc.end(content), text: isEmpty ? '""' : '"' });
  for (const gap of gaps) replaced.push(gap);
}

interface KeptParts {
  /** False if content must be one text. */
  readonly keepsParts: boolean;
}

/** Moves the texts of later system messages to the first system text. */
function joinSystem(
  doc: JsonDocument,
  messages: JsonNode,
  { hasSystemMember, keepsParts }: Pick<RequestCodec, "hasSystemMember"> & KeptParts,
  edits: HistoryEdits,
): void {
  const all = doc.items(messages);
  const [first = ABSENT] = all;
  const movable = hasSystemMember ? all : all.slice(1);
  const late = movable.filter((each) => isSystem(doc, each));
  // A wire with a system member needs at least one message that is none.
  if (late.length === 0 || (hasSystemMember && late.length === movable.length)) return;
  const issues = new TranslationIssues();
  const texts: JsonText[] = [];
  for (const node of late) {
    const found = systemTexts(doc, node, issues);
    if (found === undefined) return;
    texts.push(...found);
  }
  const insert = (): readonly Replaced[] | undefined =>
    hasSystemMember
      ? systemMember(doc, messages, texts)
      : systemMessage(doc, first, texts, { issues, keepsParts });
  const inserted = texts.length === 0 ? [] : insert();
  if (inserted === undefined) return;
  for (const name of issues.dropped) edits.names.add(name);
  for (const key of late) edits.removed.push({ object: messages, key });
  edits.replaced.push(...inserted);
}

function isSystem(doc: JsonDocument, message: JsonNode): boolean {
  const role = doc.word(doc.member(message, word.role));
  return role === word.system || role === word.developer;
}

const messageMembers = new Set([word.role, word.content]);
const partMembers = new Set([word.type, word.text]);

/** The texts that are not blank. Undefined if the message has content of another kind. */
function systemTexts(
  doc: JsonDocument,
  message: JsonNode,
  notes: TranslationIssues,
): readonly JsonText[] | undefined {
  dropOthers(doc, message, { carried: messageMembers, path: "messages.", notes });
  if (doc.member(message, word.content) === ABSENT) return [];
  const content = doc.present(message, word.content);
  const texts: JsonText[] = [];
  for (const part of content !== ABSENT && doc.isArray(content) ? doc.items(content) : [content]) {
    const isPart = part !== ABSENT && doc.isObject(part);
    if (isPart && readToolChange(doc, part) === "hint") {
      notes.drop(`messages.content.${doc.text(doc.member(part, word.type))}`);
      continue;
    }
    const text = isPart ? doc.present(part, word.text) : part;
    if (text === ABSENT || !doc.isString(text)) return undefined;
    if (isPart) dropOthers(doc, part, { carried: partMembers, path: "messages.content.", notes });
    if (!isBlankToken(doc.raw(text))) texts.push(doc.raw(text));
  }
  return texts;
}

type Replaced = HistoryEdits["replaced"][number];

/** Undefined if the first message is a system message with content of another kind. */
function systemMessage(
  doc: JsonDocument,
  first: JsonNode,
  later: readonly JsonText[],
  { issues, keepsParts }: { readonly issues: TranslationIssues } & KeptParts,
): readonly Replaced[] | undefined {
  const start = doc.start(first);
  const whole = (texts: readonly JsonText[]): string =>
    `{"role":"system","content":${joinTokens(texts, "\\n\\n")}}`;
  if (!isSystem(doc, first)) return [{ start, end: start, text: `${whole(later)},` }];
  const content = doc.present(first, word.content);
  if (content === ABSENT || !doc.isArray(content) || !keepsParts) {
    const own = systemTexts(doc, first, issues);
    return own && [{ start, end: doc.end(first), text: whole([...own, ...later]) }];
  }
  // Its parts stay as they are, because they may have marks of the prompt cache.
  if (systemTexts(doc, first, new TranslationIssues()) === undefined) return undefined;
  const role = doc.member(first, word.role);
  return [
    { start: doc.start(role), end: doc.end(role), text: '"system"' },
    // Providers may join the parts without a gap.
    appendedBlocks(
      doc,
      content,
      later.map((text) => `"\\n\\n${text.slice(1)}` as JsonText),
    ),
  ];
}

function systemMember(
  doc: JsonDocument,
  messages: JsonNode,
  later: readonly JsonText[],
): readonly Replaced[] {
  const system = doc.member(0, word.system);
  if (system === ABSENT) {
    const start = doc.start(doc.keyOf(messages));
    return [{ start, end: start, text: `"system":[${blockTexts(later)}],` }];
  }
  if (doc.isArray(system)) return [appendedBlocks(doc, system, later)];
  const own = doc.isString(system) ? [doc.raw(system)] : [];
  const texts = [...own, ...later].filter((text) => !isBlankToken(text));
  return [{ start: doc.start(system), end: doc.end(system), text: `[${blockTexts(texts)}]` }];
}

function blockTexts(texts: readonly JsonText[]): string {
  return texts.map((text) => `{"type":"text","text":${text}}`).join(",");
}

function appendedBlocks(doc: JsonDocument, list: JsonNode, later: readonly JsonText[]): Replaced {
  const end = doc.end(list) - 1;
  const comma = doc.items(list).length > 0 ? "," : "";
  return { start: end, end, text: comma + blockTexts(later) };
}

function findStrict(doc: JsonDocument, edits: HistoryEdits): void {
  for (const list of [doc.present(0, word.tools), doc.present(0, word.functions)]) {
    if (list === ABSENT) continue;
    for (const tool of doc.items(list)) {
      const spec = doc.present(tool, word.function);
      for (const object of spec === ABSENT ? [tool] : [tool, spec]) {
        const value = doc.member(object, word.strict);
        if (value === ABSENT) continue;
        edits.removed.push({ object, key: doc.keyOf(value) });
        if (!doc.isNull(value)) edits.names.add("tools.strict");
      }
    }
  }
}

type Visit = (object: JsonNode, key: JsonNode) => void;

/** The recursion is bounded, because a document has no nodes below `READ_DEPTH_MAX`. */
function eachMember(doc: JsonDocument, node: JsonNode, visit: Visit): void {
  const end = doc.next(node);
  if (doc.isArray(node)) {
    for (let item = node + NODE_SIZE; item < end; item = doc.next(item)) {
      eachMember(doc, item, visit);
    }
  } else if (doc.isObject(node)) {
    for (let key = node + NODE_SIZE; key < end; key = doc.next(doc.valueOf(key))) visit(node, key);
  }
}

function findMarks(doc: JsonDocument, { removed, names }: HistoryEdits): void {
  eachCacheMark(doc, (object, key) => {
    removed.push({ object, key });
    if (!doc.isNull(doc.valueOf(key))) names.add("cache_control");
  });
}

export function eachCacheMark(doc: JsonDocument, visitMark: Visit): void {
  const visit: Visit = (object, key) => {
    const wordId = doc.keyWord(key);
    if (wordId === word.cache_control) visitMark(object, key);
    else if (markedMembers.has(wordId)) eachMember(doc, doc.valueOf(key), visit);
  };
  eachMember(doc, 0, visit);
}

/** Nulls in the arguments of a tool call are kept: those are the client's own data. */
function findNulls(doc: JsonDocument, messages: JsonNode, { removed }: HistoryEdits): void {
  const visit: Visit = (object, key) => {
    const value = doc.valueOf(key);
    if (doc.isNull(value)) removed.push({ object, key });
    else if (doc.keyWord(key) !== word.input) eachMember(doc, value, visit);
  };
  eachMember(doc, messages, visit);
}
