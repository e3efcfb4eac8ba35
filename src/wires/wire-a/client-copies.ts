import { word } from "../chat/chat-words.ts";
import { absent, nodeSize, type JsonDocument, type JsonNode } from "../json/json-document.ts";
import type { Splice } from "../json/splice.ts";

/**
 * Helpers of the official clients add their own reading of an answer to its message, `parsed` and
 * `parsed_arguments`, and send both back with the history. The text is there as well, and strict
 * servers refuse fields that they do not know.
 */
export function removeClientCopies(doc: JsonDocument, splice: Splice): void {
  const end = doc.next(doc.member(0, word.messages));
  const first = doc.member(0, word.messages) + nodeSize;
  for (let message = first; message < end; message = doc.next(message)) {
    removeCopy(doc, splice, message);
  }
}

function removeCopy(doc: JsonDocument, splice: Splice, message: JsonNode): void {
  if (doc.member(message, word.parsed) !== absent) splice.removeFrom(message, [word.parsed]);
  const calls = doc.present(message, word.tool_calls);
  if (calls === absent) return;
  for (const call of doc.items(calls)) {
    const called = doc.present(call, word.function);
    if (called !== absent) splice.removeFrom(called, [word.parsed_arguments]);
  }
}
