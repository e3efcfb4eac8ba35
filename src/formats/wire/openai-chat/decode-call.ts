import { ABSENT, isBlankToken, type JsonDocument, type JsonText } from "../../../kernel/index.ts";
import { chatVocabulary, type ChatWord, word } from "../fields/chat-vocabulary.ts";
import { type ChatCall, type Effort, isNoOp } from "../neutral/chat-call.ts";
import { CANNOT_CROSS, type TranslationIssues } from "../neutral/translation-issues.ts";
import { notePricedFields, pricedNames } from "../price-guard.ts";
import { type Chosen, decodeFunctions, decodeToolChoice, decodeTools } from "./decode-tools.ts";
import { decodeMessages } from "./decode-messages.ts";

/** Fields whose silent loss would change the answer. */
const refused: ReadonlySet<string> = new Set<ChatWord>(["response_format", "thinking"]);

/** Fields that have a counterpart or are the gateway's own; everything else is dropped. */
const carried: ReadonlySet<string> = new Set<ChatWord>([
  "model",
  "messages",
  "max_tokens",
  "max_completion_tokens",
  "stream",
  "stream_options",
  "temperature",
  "top_p",
  "stop",
  "tools",
  "tool_choice",
  "functions",
  "function_call",
  "parallel_tool_calls",
  "reasoning_effort",
  "user",
  "safety_identifier",
  "n",
  "provider",
  "route",
  "models",
  "transforms",
]);

/** Decodes a checked chat-completions body for a messages provider. */
export function decodeCall(doc: JsonDocument, notes: TranslationIssues): ChatCall {
  noteFields(doc, notes);
  const { system, messages } = decodeMessages(doc, notes);
  const choice = decodeChoice(doc, notes);
  return {
    system,
    messages,
    tools: choice.tools,
    toolChoice: choice.toolChoice,
    parallelTools: choice.parallelTools,
    stops: decodeStops(doc, notes),
    temperature: findRaw(doc, "temperature"),
    topP: findRaw(doc, "top_p"),
    effort: decodeEffort(doc),
    userId: findRaw(doc, "user") ?? findRaw(doc, "safety_identifier"),
  };
}

/** The tools in the newer format, or in the older one, which has one call at a time. */
function decodeChoice(doc: JsonDocument, notes: TranslationIssues): Chosen {
  const legacy = decodeFunctions(doc, notes);
  if (legacy !== undefined) return { ...legacy, parallelTools: false };
  const tools = decodeTools(doc, notes);
  return decodeToolChoice(doc, { tools, notes });
}

function decodeEffort(doc: JsonDocument): Effort | undefined {
  const effort = doc.present(0, word.reasoning_effort);
  return effort === ABSENT ? undefined : { field: "reasoning_effort", value: doc.text(effort) };
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
  const bothUsers =
    doc.present(0, word.user) !== ABSENT && doc.present(0, word.safety_identifier) !== ABSENT;
  if (bothUsers) notes.drop("safety_identifier");
}

/** Leaves out blank sequences, which wire_b refuses. */
function decodeStops(doc: JsonDocument, notes: TranslationIssues): readonly JsonText[] {
  const stop = doc.present(0, word.stop);
  if (stop === ABSENT) return [];
  const sent = doc.isString(stop) ? [stop] : doc.items(stop);
  const stops = sent.map((node) => doc.raw(node)).filter((token) => !isBlankToken(token));
  if (stops.length < sent.length) notes.drop("stop");
  return stops;
}

function findRaw(doc: JsonDocument, name: ChatWord): JsonText | undefined {
  const node = doc.present(0, word[name]);
  return node === ABSENT ? undefined : doc.raw(node);
}
