import { ABSENT, type JsonDocument, type JsonNode, tokenText } from "../../../kernel/index.ts";
import { word } from "../fields/chat-vocabulary.ts";
import type { ToolChoice, ToolSpec } from "../neutral/chat-call.ts";
import { dropOthers } from "../neutral/drop-others.ts";
import { objectSchema } from "../neutral/object-schema.ts";
import { CANNOT_CROSS, type TranslationIssues } from "../neutral/translation-issues.ts";

const toolMembers = new Set([word.type, word.function]);
const functionMembers = new Set([word.name, word.description, word.parameters]);

/** The function tools; other kinds are refused by their place. */
export function decodeTools(doc: JsonDocument, notes: TranslationIssues): readonly ToolSpec[] {
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

/** How a function is described to the model, in either form of tools. */
export function functionSpec(doc: JsonDocument, spec: JsonNode): ToolSpec {
  const description = doc.present(spec, word.description);
  return {
    name: doc.raw(doc.member(spec, word.name)),
    description: description === ABSENT ? undefined : doc.raw(description),
    schema: objectSchema(doc, doc.present(spec, word.parameters)),
  };
}

export interface Chosen {
  readonly tools: readonly ToolSpec[];
  readonly toolChoice: ToolChoice | undefined;
  readonly parallelTools: boolean;
}

/** What the caller wants done with the tools; meaningless without any, so dropped then. */
export function decodeToolChoice(
  doc: JsonDocument,
  { tools, notes }: { tools: readonly ToolSpec[]; notes: TranslationIssues },
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
  const toolChoice = doc.isString(choice) ? choiceWord(doc, choice) : namedTool(doc, choice);
  if (toolChoice === undefined) notes.refuse("tool_choice", CANNOT_CROSS);
  return { tools, toolChoice, parallelTools };
}

export function choiceWord(doc: JsonDocument, choice: JsonNode): ToolChoice | undefined {
  switch (doc.word(choice)) {
    case word.auto:
      return { kind: "auto" };
    case word.none:
      return { kind: "none" };
    case word.required:
      return { kind: "any" };
    default:
      return undefined;
  }
}

function namedTool(doc: JsonDocument, choice: JsonNode): ToolChoice | undefined {
  const named = doc.member(choice, word.function);
  if (doc.word(doc.member(choice, word.type)) !== word.function || named === ABSENT) {
    return undefined;
  }
  return { kind: "tool", name: doc.raw(doc.member(named, word.name)) };
}

/** `allowed_tools` keeps the listed tools and lets the model choose among them, or makes it. */
function allowedTools(
  doc: JsonDocument,
  allowed: JsonNode,
  tools: readonly ToolSpec[],
): { tools: readonly ToolSpec[]; toolChoice: ToolChoice } {
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
