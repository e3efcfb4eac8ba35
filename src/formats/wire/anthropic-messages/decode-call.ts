import {
  ABSENT,
  joinTokens,
  type JsonDocument,
  type JsonNode,
  type JsonText,
} from "../../../kernel/index.ts";
import { type ChatWord, findRaw, word } from "../fields/chat-vocabulary.ts";
import { GATEWAY_FIELDS } from "../fields/common-fields.ts";
import {
  type AssistantPart,
  type ChatCall,
  type Effort,
  type Message,
  type OpenAssistantMessage,
  type OpenUserMessage,
  portableUserId,
  type ToolChoice,
  type ToolResult,
  type ToolSpec,
} from "../neutral/chat-call.ts";
import {
  fromMessagesToolId,
  objectSchema,
  type SignedId,
  readToolChange,
  splitSignedId,
} from "../neutral/tool-calls.ts";
import { CANNOT_CROSS, dropOthers, type TranslationIssues } from "../neutral/translation-issues.ts";
import { noteFields } from "../price-guard.ts";

/** Fields without which the answer would differ: refused if the provider speaks another wire. */
const refused: ReadonlySet<string> = new Set<ChatWord>([
  "response_format",
  "thinking",
  "functions",
  "function_call",
]);

/** Fields that are translated or that the gateway reads. All others are dropped or refused. */
const carried: ReadonlySet<string> = new Set<ChatWord>([
  ...GATEWAY_FIELDS,
  "system",
  "temperature",
  "top_p",
  "stop_sequences",
  "tools",
  "tool_choice",
  "metadata",
  "output_config",
  "n",
]);

export function decodeCall(doc: JsonDocument, notes: TranslationIssues): ChatCall {
  noteFields(doc, notes, { refused, carried });
  noteOutputConfig(doc, notes);
  const tools = decodeTools(doc, notes);
  return {
    system: decodeSystem(doc, notes),
    messages: decodeMessages(doc, notes),
    tools,
    ...decodeToolChoice(doc, tools, notes),
    stops: decodeStops(doc, notes),
    temperature: findRaw(doc, 0, word.temperature),
    topP: findRaw(doc, 0, word.top_p),
    effort: decodeEffort(doc),
    userId: decodeUserId(doc, notes),
  };
}

/** Refuses the response format, keeps `effort`, and drops other members, which are only hints. */
function noteOutputConfig(doc: JsonDocument, notes: TranslationIssues): void {
  const config = doc.present(0, word.output_config);
  if (config === ABSENT) return;
  if (doc.present(config, word.format) !== ABSENT) {
    notes.refuse("output_config.format", CANNOT_CROSS);
  }
  dropOthers(doc, config, { carried: configMembers, path: "output_config.", notes });
}

const configMembers = new Set([word.format, word.effort]);

function decodeEffort(doc: JsonDocument): Effort | undefined {
  const config = doc.present(0, word.output_config);
  const effort = config === ABSENT ? ABSENT : doc.present(config, word.effort);
  if (effort === ABSENT) return undefined;
  return { field: "output_config.effort", value: doc.text(effort) };
}

/** Maximum number of stop sequences, because servers of wire_a refuse more. */
const STOPS_MAX = 4;

function decodeStops(doc: JsonDocument, notes: TranslationIssues): readonly JsonText[] {
  const sent = doc.present(0, word.stop_sequences);
  const stops = sent === ABSENT ? [] : doc.items(sent).map((node) => doc.raw(node));
  if (stops.length > STOPS_MAX) {
    const message =
      `has ${stops.length} entries, and the providers of this model accept ${STOPS_MAX} at most; ` +
      "send fewer or choose a model that accepts them";
    notes.refuse("stop_sequences", message);
  }
  return stops;
}

function decodeUserId(doc: JsonDocument, notes: TranslationIssues): JsonText | undefined {
  const metadata = doc.present(0, word.metadata);
  if (metadata === ABSENT) return undefined;
  dropOthers(doc, metadata, { carried: new Set([word.user_id]), path: "metadata.", notes });
  return portableUserId(findRaw(doc, metadata, word.user_id));
}

const toolMembers = new Set([word.type, word.name, word.description, word.input_schema]);
const choiceMembers = new Set([word.type, word.name, word.disable_parallel_tool_use]);

/** Decodes the tools, and refuses those of any other type than `custom`. */
function decodeTools(doc: JsonDocument, notes: TranslationIssues): readonly ToolSpec[] {
  const list = doc.present(0, word.tools);
  if (list === ABSENT) return [];
  const tools: ToolSpec[] = [];
  for (const [index, tool] of doc.items(list).entries()) {
    const type = doc.present(tool, word.type);
    const name = doc.member(tool, word.name);
    if (type !== ABSENT && doc.word(type) !== word.custom) {
      notes.refuse(`tools.${index}.type`, CANNOT_CROSS);
    } else if (name === ABSENT) {
      notes.refuse(`tools.${index}.name`, "is missing; add it");
    } else {
      dropOthers(doc, tool, { carried: toolMembers, path: "tools.", notes });
      tools.push({
        name: doc.raw(name),
        description: findRaw(doc, tool, word.description),
        schema: objectSchema(doc, doc.present(tool, word.input_schema)),
      });
    }
  }
  return tools;
}

function decodeToolChoice(
  doc: JsonDocument,
  tools: readonly ToolSpec[],
  notes: TranslationIssues,
): Pick<ChatCall, "toolChoice" | "parallelTools"> {
  const choice = doc.present(0, word.tool_choice);
  if (choice !== ABSENT && tools.length === 0) notes.drop("tool_choice");
  if (choice === ABSENT || tools.length === 0) {
    return { toolChoice: undefined, parallelTools: true };
  }
  dropOthers(doc, choice, { carried: choiceMembers, path: "tool_choice.", notes });
  const alone = doc.present(choice, word.disable_parallel_tool_use);
  const toolChoice = readChoice(doc, choice);
  if (toolChoice === undefined) notes.refuse("tool_choice", CANNOT_CROSS);
  return { toolChoice, parallelTools: alone === ABSENT || !doc.isTrue(alone) };
}

const CHOICES: ReadonlyMap<number, ToolChoice> = new Map([
  [word.auto, { kind: "auto" }],
  [word.any, { kind: "any" }],
  [word.none, { kind: "none" }],
]);

function readChoice(doc: JsonDocument, choice: JsonNode): ToolChoice | undefined {
  const type = doc.word(doc.member(choice, word.type));
  if (type !== word.tool) return CHOICES.get(type);
  const name = doc.member(choice, word.name);
  return name === ABSENT ? undefined : { kind: "tool", name: doc.raw(name) };
}

interface Content {
  readonly doc: JsonDocument;
  readonly node: JsonNode;
  readonly notes: TranslationIssues;
  readonly path: string;
}

function decodeSystem(doc: JsonDocument, notes: TranslationIssues): readonly JsonText[] {
  const node = doc.present(0, word.system);
  if (node === ABSENT) return [];
  const texts = collectTexts({ doc, node, notes, path: "system" }).filter((text) => text !== '""');
  if (!BILLING_LINE.test(texts[0] ?? "")) return texts;
  notes.drop("system.x-anthropic-billing-header");
  return texts.slice(1);
}

/**
 * Claude Code's first system block, a line with a new value in every request: in front of the
 * prompt, it would keep all the rest out of the caches of providers.
 */
const BILLING_LINE = /^"x-anthropic-billing-header:[^\\]*"$/;

function decodeMessages(doc: JsonDocument, notes: TranslationIssues): readonly Message[] {
  const messages = doc
    .items(doc.member(0, word.messages))
    .flatMap((message, index): OpenMessage[] => {
      dropOthers(doc, message, { carried: messageMembers, path: "messages.", notes });
      const node = doc.member(message, word.content);
      const content: Content = { doc, node, notes, path: `messages.${index}.content` };
      switch (doc.word(doc.member(message, word.role))) {
        case word.assistant: {
          const parts = assistantParts(content);
          // Thinking is dropped, so a message that has nothing else is lost.
          const isLost = parts.length === 0 && doc.isArray(node) && doc.items(node).length > 0;
          return isLost ? [] : [{ role: "assistant", parts }];
        }
        case word.system: {
          const texts = node === ABSENT ? [] : collectTexts(content);
          const isLost = texts.length === 0;
          return isLost ? [] : [{ role: "system", text: joinTokens(texts, "\\n\\n") }];
        }
        default:
          return [userMessage(content)];
      }
    });
  return joinTurns(messages);
}

type OpenMessage =
  Extract<Message, { readonly role: "system" }> | OpenUserMessage | OpenAssistantMessage;

/**
 * Joins messages so that all results directly follow all calls of a turn, which wire_a requires:
 * wire_b reads adjacent messages of one role as one message.
 */
function joinTurns(messages: readonly OpenMessage[]): readonly Message[] {
  const joined: OpenMessage[] = [];
  /** The last assistant message, if it has calls and no user message follows it. */
  let caller: OpenAssistantMessage | undefined;
  let resultsAt = 0;
  for (const message of messages) {
    if (message.role === "assistant" && caller !== undefined) {
      for (const part of message.parts) caller.parts.push(part);
    } else if (message.role === "assistant") {
      if (message.parts.some(({ kind }) => kind === "call")) caller = message;
      resultsAt = joined.push(message);
    } else if (message.role === "system") joined.push(message);
    else {
      caller = undefined;
      const next = joined[resultsAt];
      const { results, texts } = message;
      if (next === undefined || results.length === 0) joined.push(message);
      else {
        if (next.role === "user") for (const each of results) next.results.push(each);
        else joined.splice(resultsAt, 0, { role: "user", results, texts: [] });
        if (texts.length > 0) joined.push({ role: "user", results: [], texts });
      }
    }
  }
  return joined;
}

const messageMembers = new Set([word.role, word.content]);
const textMembers = new Set([word.type, word.text]);
const callMembers = new Set([word.type, word.id, word.name, word.input]);
const resultMembers = new Set([word.type, word.tool_use_id, word.content]);

/** Returns the texts of system content or a tool result, and refuses blocks of other kinds. */
function collectTexts(content: Content): readonly JsonText[] {
  const { doc, node } = content;
  if (doc.isString(node)) return [doc.raw(node)];
  const texts: JsonText[] = [];
  for (const [index, block] of doc.items(node).entries()) {
    if (typeWord(doc, block) === word.text) texts.push(blockText(content, block));
    else if (readToolChange(doc, block) === "hint") {
      content.notes.drop(`messages.content.${doc.text(doc.member(block, word.type))}`);
    } else refuseBlock(content, block, index);
  }
  return texts;
}

function userMessage(content: Content): OpenUserMessage {
  const { doc, node } = content;
  if (doc.isString(node)) return { role: "user", results: [], texts: [doc.raw(node)] };
  const results: ToolResult[] = [];
  const texts: JsonText[] = [];
  for (const [index, block] of doc.items(node).entries()) {
    const type = typeWord(doc, block);
    if (type === word.text) texts.push(blockText(content, block));
    else if (type === word.tool_result) results.push(toolResult(content, block, index));
    else refuseBlock(content, block, index);
  }
  return { role: "user", results, texts };
}

function toolResult({ doc, notes, path }: Content, block: JsonNode, index: number): ToolResult {
  dropOthers(doc, block, { carried: resultMembers, path: "messages.content.", notes });
  const node = doc.present(block, word.content);
  return {
    callId: parseSignedId(doc, doc.member(block, word.tool_use_id)).id,
    texts:
      node === ABSENT ? [] : collectTexts({ doc, node, notes, path: `${path}.${index}.content` }),
  };
}

const thoughts = new Set([word.thinking, word.redacted_thinking]);

function assistantParts(content: Content): AssistantPart[] {
  const { doc, node, notes } = content;
  if (doc.isString(node)) return [{ kind: "text", text: doc.raw(node) }];
  const parts: AssistantPart[] = [];
  for (const [index, block] of doc.items(node).entries()) {
    const type = typeWord(doc, block);
    if (type === word.text) parts.push({ kind: "text", text: blockText(content, block) });
    else if (type === word.tool_use) {
      dropOthers(doc, block, { carried: callMembers, path: "messages.content.", notes });
      const name = doc.raw(doc.member(block, word.name));
      parts.push({
        kind: "call",
        call: {
          ...parseSignedId(doc, doc.member(block, word.id)),
          name,
          input: doc.raw(doc.member(block, word.input)),
        },
      });
    } else if (thoughts.has(type)) {
      // Thinking is dropped, because only the model that wrote it can read it.
      notes.drop(`messages.content.${doc.text(doc.member(block, word.type))}`);
    } else refuseBlock(content, block, index);
  }
  return parts;
}

function parseSignedId(doc: JsonDocument, node: JsonNode): SignedId {
  return splitSignedId(fromMessagesToolId(doc.text(node)));
}

function blockText({ doc, notes }: Content, block: JsonNode): JsonText {
  dropOthers(doc, block, { carried: textMembers, path: "messages.content.", notes });
  return doc.raw(doc.member(block, word.text));
}

function refuseBlock({ doc, notes, path }: Content, block: JsonNode, index: number): void {
  const type = doc.text(doc.member(block, word.type)).slice(0, 64);
  notes.refuse(`${path}.${index}`, `is a block of type ${type}, which ${CANNOT_CROSS}`);
}

function typeWord(doc: JsonDocument, block: JsonNode): number {
  return doc.word(doc.member(block, word.type));
}
