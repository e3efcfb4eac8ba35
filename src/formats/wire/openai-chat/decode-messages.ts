import {
  ABSENT,
  isBlankToken,
  type JsonDocument,
  type JsonNode,
  type JsonText,
} from "../../../kernel/index.ts";
import { word } from "../fields/chat-vocabulary.ts";
import type {
  AssistantPart,
  ChatCall,
  Message,
  OpenAssistantMessage,
  OpenUserMessage,
  ToolCall,
  ToolResult,
} from "../neutral/chat-call.ts";
import { argumentsObject } from "../neutral/tool-calls.ts";
import { CANNOT_CROSS, dropOthers, type TranslationIssues } from "../neutral/translation-issues.ts";
import { partKind } from "./check-request.ts";

/**
 * Tool results become part of a user message. If only system texts remain, the last one becomes a
 * user message, because wire_b requires a user message and wire_a does not.
 */
export function decodeMessages(
  doc: JsonDocument,
  notes: TranslationIssues,
): Pick<ChatCall, "system" | "messages"> {
  const system: JsonText[] = [];
  const messages = new MessageList(notes);
  const legacy = new LegacyCalls();
  for (const [index, node] of doc.items(doc.member(0, word.messages)).entries()) {
    const message: SourceMessage = { doc, node, notes, legacy, path: `messages[${index}]` };
    switch (doc.word(doc.member(node, word.role))) {
      case word.user:
        dropMembers(message, plainMembers);
        messages.addUserTexts(contentTexts(message), message.path);
        break;
      case word.assistant:
        messages.addAssistant(assistantParts(message));
        break;
      case word.tool:
        dropMembers(message, toolMembers);
        messages.addResult({
          callId: doc.text(doc.member(node, word.tool_call_id)),
          texts: contentTexts(message),
        });
        break;
      case word.function: {
        dropMembers(message, functionMembers);
        const callId = legacy.answeredId();
        if (callId !== undefined) messages.addResult({ callId, texts: contentTexts(message) });
        else notes.refuse(`${message.path}.role`, "is function, but no function_call is before it");
        break;
      }
      default:
        dropMembers(message, plainMembers);
        for (const text of contentTexts(message)) system.push(text);
    }
  }
  const last = system.at(-1);
  if (last !== undefined && messages.isEmpty) {
    notes.drop("messages[].role");
    system.pop();
    return { system, messages: [{ role: "user", results: [], texts: [last] }] };
  }
  if (messages.isEmpty) notes.refuse("messages", "has no text; add a user message");
  return { system, messages: messages.finish() };
}

interface SourceMessage {
  readonly legacy: LegacyCalls;
  readonly doc: JsonDocument;
  readonly node: JsonNode;
  readonly notes: TranslationIssues;
  readonly path: string;
}

const plainMembers = new Set([word.role, word.content]);
const toolMembers = new Set([word.role, word.content, word.tool_call_id]);
const functionMembers = new Set([word.role, word.content, word.name]);
const assistantMembers = new Set([
  word.role,
  word.content,
  word.refusal,
  word.tool_calls,
  word.function_call,
  word.audio,
]);

function dropMembers({ doc, node, notes }: SourceMessage, carried: ReadonlySet<number>): void {
  dropOthers(doc, node, { carried, path: "messages[].", notes });
}

/** Leaves out blank texts, which wire_b refuses. */
function contentTexts(message: SourceMessage): readonly JsonText[] {
  const { doc, node } = message;
  const content = doc.present(node, word.content);
  if (content === ABSENT) return [];
  const texts = doc.isString(content) ? [doc.raw(content)] : partTexts(message, content);
  return texts.filter((text) => !isBlankToken(text));
}

const partMembers = new Set([word.type, word.text, word.refusal]);

function partTexts({ doc, notes, path }: SourceMessage, content: JsonNode): JsonText[] {
  const texts: JsonText[] = [];
  for (const [index, part] of doc.items(content).entries()) {
    const type = doc.word(doc.member(part, word.type));
    if (type === word.text || type === word.refusal) {
      dropOthers(doc, part, { carried: partMembers, path: "messages[].content[].", notes });
      texts.push(doc.raw(doc.member(part, type)));
    } else {
      const kind = partKind(doc, part) ?? doc.text(doc.member(part, word.type)).slice(0, 64);
      notes.refuse(`${path}.content[${index}]`, `is a part of kind ${kind}, which ${CANNOT_CROSS}`);
    }
  }
  return texts;
}

function assistantParts(message: SourceMessage): readonly AssistantPart[] {
  const { doc, node, notes, path } = message;
  dropMembers(message, assistantMembers);
  if (doc.present(node, word.audio) !== ABSENT) notes.refuse(`${path}.audio`, CANNOT_CROSS);
  const texts = [...contentTexts(message)];
  const refusal = doc.present(node, word.refusal);
  if (refusal !== ABSENT && !isBlankToken(doc.raw(refusal))) texts.push(doc.raw(refusal));
  const calls = [...toolCalls(message), ...legacyCall(message)];
  return [
    ...texts.map((text) => ({ kind: "text", text }) as const),
    ...calls.map((call) => ({ kind: "call", call }) as const),
  ];
}

const ARGUMENTS_RULE = "must be the text of one JSON object without a field named __proto__";

function legacyCall({ doc, node, notes, legacy, path }: SourceMessage): readonly ToolCall[] {
  const called = doc.present(node, word.function_call);
  if (called === ABSENT) return [];
  const call = legacy.call(doc, called);
  if (call !== undefined) return [call];
  notes.refuse(`${path}.function_call.arguments`, ARGUMENTS_RULE);
  return [];
}

function toolCalls({ doc, node, notes, path }: SourceMessage): readonly ToolCall[] {
  const list = doc.present(node, word.tool_calls);
  const calls: ToolCall[] = [];
  for (const [index, call] of (list === ABSENT ? [] : doc.items(list)).entries()) {
    const place = `${path}.tool_calls[${index}]`;
    const called = doc.present(call, word.function);
    if (called === ABSENT) {
      notes.refuse(`${place}.type`, CANNOT_CROSS);
      continue;
    }
    const input = callInput(doc, called);
    if (input === undefined) {
      notes.refuse(`${place}.function.arguments`, ARGUMENTS_RULE);
      continue;
    }
    const id = doc.text(doc.member(call, word.id));
    calls.push({ id, name: doc.raw(doc.member(called, word.name)), input });
  }
  return calls;
}

function callInput(doc: JsonDocument, called: JsonNode): JsonText | undefined {
  const text = doc.present(called, word.arguments);
  return text === ABSENT ? ("{}" as JsonText) : argumentsObject(doc, text);
}

/**
 * Joins adjacent messages of one role: wire_b requires all parallel results in one message. Empty
 * messages are left out; an empty user message is refused unless another one is next to it.
 */
class MessageList {
  readonly #notes: TranslationIssues;
  readonly #messages: (OpenUserMessage | OpenAssistantMessage)[] = [];
  /** Path of an empty user message that has no user message next to it so far. */
  #emptyPath: string | undefined;

  constructor(notes: TranslationIssues) {
    this.#notes = notes;
  }

  /** True if there is neither a message nor an empty message that will be refused. */
  get isEmpty(): boolean {
    return this.#messages.length === 0 && this.#emptyPath === undefined;
  }

  addUserTexts(texts: readonly JsonText[], path: string): void {
    if (texts.length > 0) append(this.#userMessage().texts, texts);
    else if (this.#messages.at(-1)?.role !== "user") this.#emptyPath = path;
  }

  addResult(result: ToolResult): void {
    this.#userMessage().results.push(result);
  }

  addAssistant(parts: readonly AssistantPart[]): void {
    if (parts.length === 0) return;
    this.#refuseEmpty();
    const last = this.#messages.at(-1);
    if (last?.role === "assistant") append(last.parts, parts);
    else this.#messages.push({ role: "assistant", parts: [...parts] });
  }

  finish(): readonly Message[] {
    this.#refuseEmpty();
    return this.#messages;
  }

  #userMessage(): OpenUserMessage {
    this.#emptyPath = undefined;
    const last = this.#messages.at(-1);
    if (last?.role === "user") return last;
    const message: OpenUserMessage = { role: "user", results: [], texts: [] };
    this.#messages.push(message);
    return message;
  }

  #refuseEmpty(): void {
    if (this.#emptyPath === undefined) return;
    this.#notes.refuse(`${this.#emptyPath}.content`, "is empty; add text or leave it out");
    this.#emptyPath = undefined;
  }
}

/** `push(...more)` would fail: a body can have more parts than JavaScript allows as arguments. */
function append<T>(list: T[], more: readonly T[]): void {
  for (const item of more) list.push(item);
}

/** `function_call` has no ids: a call gets an id by position, and the next result takes that id. */
class LegacyCalls {
  #count = 0;
  #openId: string | undefined;

  call(doc: JsonDocument, called: JsonNode): ToolCall | undefined {
    const input = callInput(doc, called);
    if (input === undefined) return undefined;
    this.#openId = `call_function_${this.#count++}`;
    return { id: this.#openId, name: doc.raw(doc.member(called, word.name)), input };
  }

  answeredId(): string | undefined {
    const id = this.#openId;
    this.#openId = undefined;
    return id;
  }
}
