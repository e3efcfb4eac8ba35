import {
  ABSENT,
  joinTokens,
  type JsonDocument,
  type JsonNode,
  type JsonText,
} from "../../../kernel/index.ts";
import { word } from "../fields/chat-vocabulary.ts";
import type { AssistantPart, Message, ToolResult } from "../neutral/chat-call.ts";
import { dropOthers } from "../neutral/drop-others.ts";
import { fromMessagesToolId } from "../neutral/tool-ids.ts";
import { type SignedId, splitSignedId } from "../neutral/tool-signatures.ts";
import { CANNOT_CROSS, type TranslationIssues } from "../neutral/translation-issues.ts";

/** A content that is being read, and where it is. */
interface Content {
  readonly doc: JsonDocument;
  readonly node: JsonNode;
  readonly notes: TranslationIssues;
  readonly path: string;
}

/** The system texts before the conversation. */
export function decodeSystem(doc: JsonDocument, notes: TranslationIssues): readonly JsonText[] {
  const node = doc.present(0, word.system);
  if (node === ABSENT) return [];
  return textsOf({ doc, node, notes, path: "system" }).filter((text) => text !== '""');
}

/** Decodes the messages one to one; this wire's order is kept, results before texts. */
export function decodeMessages(doc: JsonDocument, notes: TranslationIssues): readonly Message[] {
  return doc.items(doc.member(0, word.messages)).flatMap((message, index): readonly Message[] => {
    dropOthers(doc, message, { carried: messageMembers, path: "messages.", notes });
    const node = doc.member(message, word.content);
    const content: Content = { doc, node, notes, path: `messages.${index}.content` };
    switch (doc.word(doc.member(message, word.role))) {
      case word.assistant:
        return assistantMessage(content);
      case word.system:
        return [{ role: "system", text: joinTokens(textsOf(content), "\\n\\n") }];
      default:
        return [userMessage(content)];
    }
  });
}

const messageMembers = new Set([word.role, word.content]);
const textMembers = new Set([word.type, word.text]);
const callMembers = new Set([word.type, word.id, word.name, word.input]);
const resultMembers = new Set([word.type, word.tool_use_id, word.content]);

/** Content of which only text can be translated: system, and the inside of a tool result. */
function textsOf(content: Content): readonly JsonText[] {
  const { doc, node } = content;
  if (doc.isString(node)) return [doc.raw(node)];
  const texts: JsonText[] = [];
  for (const [index, block] of doc.items(node).entries()) {
    if (typeWord(doc, block) === word.text) texts.push(blockText(content, block));
    else refuseBlock(content, block, index);
  }
  return texts;
}

function userMessage(content: Content): Message {
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
    callId: signedIdOf(doc, doc.member(block, word.tool_use_id)).id,
    texts: node === ABSENT ? [] : textsOf({ doc, node, notes, path: `${path}.${index}.content` }),
  };
}

/** Nothing is left of a message that held thinking only. */
function assistantMessage(content: Content): readonly Message[] {
  const parts = assistantParts(content);
  const { doc, node } = content;
  const isLost = parts.length === 0 && doc.isArray(node) && doc.items(node).length > 0;
  return isLost ? [] : [{ role: "assistant", parts }];
}

const thoughts = new Set([word.thinking, word.redacted_thinking]);

function assistantParts(content: Content): readonly AssistantPart[] {
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
          ...signedIdOf(doc, doc.member(block, word.id)),
          name,
          input: doc.raw(doc.member(block, word.input)),
        },
      });
    } else if (thoughts.has(type)) {
      // Only the model that thought it can read it.
      notes.drop(`messages.content.${doc.text(doc.member(block, word.type))}`);
    } else refuseBlock(content, block, index);
  }
  return parts;
}

function signedIdOf(doc: JsonDocument, node: JsonNode): SignedId {
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
