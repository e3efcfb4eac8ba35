import {
  ABSENT,
  type JsonDocument,
  type JsonNode,
  NODE_SIZE,
  type Splice,
} from "../../../kernel/index.ts";
import { word } from "../fields/chat-vocabulary.ts";

/**
 * Removes what clients write twice, because strict servers refuse fields that they do not know.
 * Helpers of the official clients add their own reading of an answer to its message, `parsed` and
 * `parsed_arguments`, and send both back with the history beside the text. Codex writes the name of
 * a function beside it as well.
 */
export function removeClientCopies(doc: JsonDocument, splice: Splice): void {
  eachItem(doc, doc.present(0, word.messages), (message) => {
    if (doc.member(message, word.parsed) !== ABSENT) splice.removeFrom(message, [word.parsed]);
    eachItem(doc, doc.present(message, word.tool_calls), (call) => {
      const called = doc.present(call, word.function);
      if (called !== ABSENT) splice.removeFrom(called, [word.parsed_arguments]);
    });
  });
  eachItem(doc, doc.present(0, word.tools), (tool) => {
    const isNamed = doc.present(tool, word.function) !== ABSENT;
    if (isNamed) splice.removeFrom(tool, [word.name]);
  });
}

function eachItem(doc: JsonDocument, array: JsonNode, act: (item: JsonNode) => void): void {
  if (array === ABSENT) return;
  const end = doc.next(array);
  for (let item = array + NODE_SIZE; item < end; item = doc.next(item)) act(item);
}
