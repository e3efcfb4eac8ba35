import { ABSENT, type JsonDocument, type JsonNode } from "../../../kernel/index.ts";
import { word } from "../fields/chat-vocabulary.ts";
import type { ToolChoice, ToolSpec } from "../neutral/chat-call.ts";
import { dropOthers } from "../neutral/drop-others.ts";
import { objectSchema } from "../neutral/object-schema.ts";
import { CANNOT_CROSS, type TranslationIssues } from "../neutral/translation-issues.ts";

const toolMembers = new Set([word.type, word.name, word.description, word.input_schema]);
const choiceMembers = new Set([word.type, word.name, word.disable_parallel_tool_use]);

/** The custom tools; tools that only this wire's servers run are refused by their place. */
export function decodeTools(doc: JsonDocument, notes: TranslationIssues): readonly ToolSpec[] {
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
      const description = doc.present(tool, word.description);
      tools.push({
        name: doc.raw(name),
        description: description === ABSENT ? undefined : doc.raw(description),
        schema: objectSchema(doc, doc.present(tool, word.input_schema)),
      });
    }
  }
  return tools;
}

interface Chosen {
  readonly toolChoice: ToolChoice | undefined;
  readonly parallelTools: boolean;
}

/** What the caller wants done with the tools; meaningless without any, so dropped then. */
export function decodeToolChoice(
  doc: JsonDocument,
  { tools, notes }: { tools: readonly ToolSpec[]; notes: TranslationIssues },
): Chosen {
  const choice = doc.present(0, word.tool_choice);
  if (choice === ABSENT) return { toolChoice: undefined, parallelTools: true };
  if (tools.length === 0) {
    notes.drop("tool_choice");
    return { toolChoice: undefined, parallelTools: true };
  }
  dropOthers(doc, choice, { carried: choiceMembers, path: "tool_choice.", notes });
  const alone = doc.present(choice, word.disable_parallel_tool_use);
  const toolChoice = readChoice(doc, choice);
  if (toolChoice === undefined) notes.refuse("tool_choice", CANNOT_CROSS);
  return { toolChoice, parallelTools: alone === ABSENT || !doc.isTrue(alone) };
}

function readChoice(doc: JsonDocument, choice: JsonNode): ToolChoice | undefined {
  switch (doc.word(doc.member(choice, word.type))) {
    case word.auto:
      return { kind: "auto" };
    case word.any:
      return { kind: "any" };
    case word.none:
      return { kind: "none" };
    case word.tool: {
      const name = doc.member(choice, word.name);
      return name === ABSENT ? undefined : { kind: "tool", name: doc.raw(name) };
    }
    default:
      return undefined;
  }
}
