import { ABSENT, type JsonDocument, type JsonNode, type JsonText } from "../../../kernel/index.ts";
import { chatVocabulary, type ChatWord, word } from "../fields/chat-vocabulary.ts";
import type { ChatCall, Effort } from "../neutral/chat-call.ts";
import { dropOthers } from "../neutral/drop-others.ts";
import { isNoOp } from "../neutral/no-op-values.ts";
import { CANNOT_CROSS, type TranslationIssues } from "../neutral/translation-issues.ts";
import { notePricedFields, pricedNames } from "../price-guard.ts";
import { decodeMessages, decodeSystem } from "./decode-messages.ts";
import { decodeToolChoice, decodeTools } from "./decode-tools.ts";

/** Fields whose silent loss would change the answer or break a promise. */
const refused: ReadonlySet<string> = new Set<ChatWord>([
  "response_format",
  "thinking",
  "functions",
  "function_call",
]);

/** Fields that have a counterpart or are the gateway's own; everything else is dropped. */
const carried: ReadonlySet<string> = new Set<ChatWord>([
  "model",
  "messages",
  "system",
  "max_tokens",
  "max_completion_tokens",
  "stream",
  "temperature",
  "top_p",
  "stop_sequences",
  "tools",
  "tool_choice",
  "metadata",
  "output_config",
  "n",
  "provider",
  "route",
  "models",
  "transforms",
]);

/** Decodes a checked messages body for a chat-completions provider. */
export function decodeCall(doc: JsonDocument, notes: TranslationIssues): ChatCall {
  noteFields(doc, notes);
  const tools = decodeTools(doc, notes);
  return {
    system: decodeSystem(doc, notes),
    messages: decodeMessages(doc, notes),
    tools,
    ...decodeToolChoice(doc, { tools, notes }),
    stops: decodeStops(doc, notes),
    temperature: rawOf(doc, 0, word.temperature),
    topP: rawOf(doc, 0, word.top_p),
    effort: decodeEffort(doc),
    userId: decodeUserId(doc, notes),
  };
}

function noteFields(doc: JsonDocument, notes: TranslationIssues): void {
  for (const key of doc.keys(0)) {
    if (doc.isNull(doc.valueOf(key))) continue;
    const name = chatVocabulary.nameOf(doc.keyWord(key)) ?? doc.text(key);
    if (isNoOp(doc, name)) continue;
    if (refused.has(name)) notes.refuse(name, CANNOT_CROSS);
    else if (!carried.has(name) && !pricedNames.has(name)) notes.drop(name);
  }
  notePricedFields(doc, notes);
  noteOutputConfig(doc, notes);
}

/** `output_config.format` is this wire's response format; the rest are hints. */
function noteOutputConfig(doc: JsonDocument, notes: TranslationIssues): void {
  const config = doc.present(0, word.output_config);
  if (config === ABSENT) return;
  if (doc.present(config, word.format) !== ABSENT)
    notes.refuse("output_config.format", CANNOT_CROSS);
  dropOthers(doc, config, { carried: configMembers, path: "output_config.", notes });
}

const configMembers = new Set([word.format, word.effort]);

function decodeEffort(doc: JsonDocument): Effort | undefined {
  const config = doc.present(0, word.output_config);
  const effort = config === ABSENT ? ABSENT : doc.present(config, word.effort);
  if (effort === ABSENT) return undefined;
  return { field: "output_config.effort", value: doc.text(effort) };
}

/** The reference servers of wire_a refuse more. */
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
  return rawOf(doc, metadata, word.user_id);
}

function rawOf(doc: JsonDocument, object: JsonNode, wordId: number): JsonText | undefined {
  const node = doc.present(object, wordId);
  return node === ABSENT ? undefined : doc.raw(node);
}
