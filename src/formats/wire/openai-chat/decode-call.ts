import {
  ABSENT,
  isBlankToken,
  type JsonDocument,
  type JsonNode,
  type JsonText,
  tokenText,
} from "../../../kernel/index.ts";
import { type ChatWord, findRaw, word } from "../fields/chat-vocabulary.ts";
import { GATEWAY_FIELDS } from "../fields/common-fields.ts";
import {
  type ChatCall,
  type Effort,
  portableUserId,
  type ToolChoice,
  type ToolSpec,
} from "../neutral/chat-call.ts";
import { objectSchema } from "../neutral/tool-calls.ts";
import { CANNOT_CROSS, dropOthers, type TranslationIssues } from "../neutral/translation-issues.ts";
import { noteFields } from "../price-guard.ts";
import { decodeMessages } from "./decode-messages.ts";

/** Fields without which the answer would differ: refused if the provider speaks another wire. */
const refused: ReadonlySet<string> = new Set<ChatWord>(["response_format", "thinking"]);

/** Fields that are translated or that the gateway reads. All others are dropped or refused. */
const carried: ReadonlySet<string> = new Set<ChatWord>([
  ...GATEWAY_FIELDS,
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
]);

export function decodeCall(doc: JsonDocument, notes: TranslationIssues): ChatCall {
  noteFields(doc, notes, { refused, carried });
  const user = findRaw(doc, 0, word.user);
  const safetyId = findRaw(doc, 0, word.safety_identifier);
  if (user !== undefined && safetyId !== undefined) notes.drop("safety_identifier");
  return {
    ...decodeMessages(doc, notes),
    ...decodeChoice(doc, notes),
    stops: decodeStops(doc, notes),
    temperature: findRaw(doc, 0, word.temperature),
    topP: findRaw(doc, 0, word.top_p),
    effort: decodeEffort(doc),
    userId: portableUserId(user ?? safetyId),
  };
}

/** `functions`, the older format of `tools`, allows only one call in an answer. */
function decodeChoice(doc: JsonDocument, notes: TranslationIssues): Chosen {
  const legacy = decodeFunctions(doc, notes);
  if (legacy !== undefined) return { ...legacy, parallelTools: false };
  return decodeToolChoice(doc, decodeTools(doc, notes), notes);
}

function decodeEffort(doc: JsonDocument): Effort | undefined {
  const effort = doc.present(0, word.reasoning_effort);
  return effort === ABSENT ? undefined : { field: "reasoning_effort", value: doc.text(effort) };
}

/** Leaves out blank stop sequences, which wire_b refuses. */
function decodeStops(doc: JsonDocument, notes: TranslationIssues): readonly JsonText[] {
  const stop = doc.present(0, word.stop);
  if (stop === ABSENT) return [];
  const sent = doc.isString(stop) ? [stop] : doc.items(stop);
  const stops = sent.map((node) => doc.raw(node)).filter((token) => !isBlankToken(token));
  if (stops.length < sent.length) notes.drop("stop");
  return stops;
}

const toolMembers = new Set([word.type, word.function]);
const functionMembers = new Set([word.name, word.description, word.parameters]);

/** Decodes the tools, and refuses those of any other type than `function`. */
function decodeTools(doc: JsonDocument, notes: TranslationIssues): readonly ToolSpec[] {
  const list = doc.present(0, word.tools);
  if (list === ABSENT) return [];
  const tools: ToolSpec[] = [];
  for (const [index, tool] of doc.items(list).entries()) {
    const spec = doc.member(tool, word.function);
    if (doc.word(doc.member(tool, word.type)) !== word.function || spec === ABSENT) {
      notes.refuse(`tools[${index}].type`, CANNOT_CROSS);
      continue;
    }
    dropOthers(doc, tool, { carried: toolMembers, path: "tools[].", notes });
    dropOthers(doc, spec, { carried: functionMembers, path: "tools[].function.", notes });
    tools.push(functionSpec(doc, spec));
  }
  return tools;
}

function functionSpec(doc: JsonDocument, spec: JsonNode): ToolSpec {
  return {
    name: doc.raw(doc.member(spec, word.name)),
    description: findRaw(doc, spec, word.description),
    schema: objectSchema(doc, doc.present(spec, word.parameters)),
  };
}

type OfferedTools = Pick<ChatCall, "tools" | "toolChoice">;
type Chosen = OfferedTools & Pick<ChatCall, "parallelTools">;

function decodeToolChoice(
  doc: JsonDocument,
  tools: readonly ToolSpec[],
  notes: TranslationIssues,
): Chosen {
  const choice = doc.present(0, word.tool_choice);
  const parallel = doc.present(0, word.parallel_tool_calls);
  if (tools.length === 0) {
    if (choice !== ABSENT) notes.drop("tool_choice");
    if (parallel !== ABSENT) notes.drop("parallel_tool_calls");
    return { tools, toolChoice: undefined, parallelTools: true };
  }
  const parallelTools = parallel === ABSENT || doc.isTrue(parallel);
  if (choice === ABSENT) return { tools, toolChoice: undefined, parallelTools };
  const allowed = doc.isObject(choice) ? doc.member(choice, word.allowed_tools) : ABSENT;
  if (allowed !== ABSENT) return { ...allowedTools(doc, allowed, tools), parallelTools };
  const toolChoice = doc.isString(choice)
    ? CHOICES.get(doc.word(choice))
    : readNamedTool(doc, choice);
  if (toolChoice === undefined) notes.refuse("tool_choice", CANNOT_CROSS);
  return { tools, toolChoice, parallelTools };
}

const CHOICES: ReadonlyMap<number, ToolChoice> = new Map([
  [word.auto, { kind: "auto" }],
  [word.none, { kind: "none" }],
  [word.required, { kind: "any" }],
]);

function readNamedTool(doc: JsonDocument, choice: JsonNode): ToolChoice | undefined {
  const named = doc.member(choice, word.function);
  const isNamed = doc.word(doc.member(choice, word.type)) === word.function && named !== ABSENT;
  return isNamed ? { kind: "tool", name: doc.raw(doc.member(named, word.name)) } : undefined;
}

/** Only the listed tools are offered, and one must be called if the mode is `required`. */
function allowedTools(
  doc: JsonDocument,
  allowed: JsonNode,
  tools: readonly ToolSpec[],
): OfferedTools {
  const names = new Set<string>();
  const list = doc.member(allowed, word.tools);
  for (const item of list === ABSENT ? [] : doc.items(list)) {
    const named = doc.member(item, word.function);
    const name = named !== ABSENT && doc.isObject(named) ? doc.member(named, word.name) : ABSENT;
    if (name !== ABSENT && doc.isString(name)) names.add(doc.text(name));
  }
  const mode = doc.member(allowed, word.mode);
  const required = mode !== ABSENT && doc.word(mode) === word.required;
  return {
    tools: tools.filter((tool) => names.has(tokenText(tool.name))),
    toolChoice: { kind: required ? "any" : "auto" },
  };
}

function decodeFunctions(doc: JsonDocument, notes: TranslationIssues): OfferedTools | undefined {
  const list = doc.present(0, word.functions);
  const chosen = doc.present(0, word.function_call);
  if (list === ABSENT || doc.items(list).length === 0) {
    if (chosen !== ABSENT) notes.drop("function_call");
    return undefined;
  }
  if (doc.present(0, word.tools) !== ABSENT) {
    notes.refuse("functions", "cannot be combined with tools; send one of them");
  }
  const tools = doc.items(list).map((spec) => {
    dropOthers(doc, spec, { carried: functionMembers, path: "functions[].", notes });
    return functionSpec(doc, spec);
  });
  const toolChoice = chosen === ABSENT ? undefined : parseFunctionChoice(doc, chosen);
  if (chosen !== ABSENT && toolChoice === undefined) notes.refuse("function_call", CANNOT_CROSS);
  return { tools, toolChoice };
}

function parseFunctionChoice(doc: JsonDocument, chosen: JsonNode): ToolChoice | undefined {
  if (doc.isString(chosen)) return CHOICES.get(doc.word(chosen));
  return { kind: "tool", name: doc.raw(doc.member(chosen, word.name)) };
}
