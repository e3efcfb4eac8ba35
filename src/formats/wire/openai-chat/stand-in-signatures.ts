import {
  ABSENT,
  type JsonDocument,
  type JsonNode,
  type JsonText,
  NODE_SIZE,
  type Splice,
} from "../../../kernel/index.ts";
import { chatVocabulary, word } from "../fields/chat-vocabulary.ts";
import { signatureJson, STAND_IN_SIGNATURE } from "./gemini-signature.ts";

/**
 * Gives the first call of a message the stand-in where no call of it has brought back what the
 * provider gave with them: many clients lose it.
 */
export function standInForSignatures(doc: JsonDocument, splice: Splice): void {
  const messages = doc.present(0, word.messages);
  if (messages === ABSENT) return;
  const end = doc.next(messages);
  for (let node = messages + NODE_SIZE; node < end; node = doc.next(node)) {
    const calls = doc.present(node, word.tool_calls);
    const [first, ...others] = calls === ABSENT ? [] : doc.items(calls);
    if (first === undefined || [first, ...others].some((call) => isSigned(doc, call))) continue;
    for (const key of doc.keys(first)) {
      if (nameOf(doc, key) === MEMBER) splice.removeKey(first, key);
    }
    splice.insertInto(first, MEMBER, signatureJson(STAND_IN_SIGNATURE) as JsonText);
  }
}

const MEMBER = "extra_content";

function nameOf(doc: JsonDocument, key: JsonNode): string {
  return chatVocabulary.nameOf(doc.keyWord(key)) ?? doc.text(key);
}

function isSigned(doc: JsonDocument, call: JsonNode): boolean {
  const google = memberOf(doc, memberOf(doc, call, MEMBER), "google");
  const signature = memberOf(doc, google, "thought_signature");
  return (
    signature !== ABSENT && doc.isString(signature) && doc.end(signature) - doc.start(signature) > 2
  );
}

function memberOf(doc: JsonDocument, object: JsonNode, name: string): JsonNode {
  if (object === ABSENT || !doc.isObject(object)) return ABSENT;
  const key = doc.keys(object).find((each) => nameOf(doc, each) === name);
  return key === undefined ? ABSENT : doc.valueOf(key);
}
