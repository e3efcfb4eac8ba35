import {
  type JsonDocument,
  type JsonNode,
  type JsonText,
  scanJson,
} from "../../../kernel/index.ts";
import { chatVocabulary } from "../fields/chat-vocabulary.ts";

/**
 * The JSON object whose text a string value holds, digit for digit; `{}` for empty text and
 * undefined when it is not an object.
 */
export function argumentsObject(doc: JsonDocument, node: JsonNode): JsonText | undefined {
  const text = doc.text(node);
  if (text.trim() === "") return "{}" as JsonText;
  const inner = scanJson(
    Buffer.from(text.replaceAll(/\p{Surrogate}/gu, escapeUnit)),
    chatVocabulary,
  );
  return inner.ok && inner.doc.isObject(0) ? inner.doc.raw(0) : undefined;
}

/** Half of a surrogate pair has no UTF-8 form; inside a JSON string its escape says the same. */
function escapeUnit(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16)}`;
}
