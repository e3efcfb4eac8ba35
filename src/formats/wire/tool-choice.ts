import type { Deployment } from "../../catalog/index.ts";
import { ABSENT, type JsonDocument, type JsonNode } from "../../kernel/index.ts";
import { word } from "./fields/chat-vocabulary.ts";

type Choice = "auto" | "none" | "required" | "named";

/** The names of each choice in a listing: those of both wires. */
const DECLARED: Readonly<Record<Choice, readonly string[]>> = {
  auto: ["auto"],
  none: ["none"],
  required: ["required", "any"],
  named: ["named", "function", "tool"],
};

/** What a listing takes as `tool_choice` instead of the one that was sent; undefined: it takes it. */
export function otherChoices(
  doc: JsonDocument,
  { supportedParameters }: Pick<Deployment, "supportedParameters">,
): readonly string[] | undefined {
  const descriptor = supportedParameters.get("tool_choice");
  if (descriptor?.type !== "enum") return undefined;
  const choice = choiceOf(doc);
  if (choice === undefined) return undefined;
  const isTaken = DECLARED[choice].some((name) => descriptor.values.includes(name));
  return isTaken ? undefined : descriptor.values;
}

/** What a body wants done with its tools; undefined: it does not say, or in terms of its own. */
function choiceOf(doc: JsonDocument): Choice | undefined {
  const older = doc.present(0, word.function_call);
  const sent = doc.present(0, word.tool_choice);
  const node = sent === ABSENT ? older : sent;
  if (node === ABSENT) return undefined;
  if (doc.isString(node)) return choiceOfWord(doc, node);
  const type = doc.present(node, word.type);
  if (type !== ABSENT) return choiceOfWord(doc, type);
  return doc.present(node, word.name) === ABSENT ? undefined : "named";
}

function choiceOfWord(doc: JsonDocument, node: JsonNode): Choice | undefined {
  switch (doc.word(node)) {
    case word.auto:
      return "auto";
    case word.none:
      return "none";
    case word.any:
    case word.required:
      return "required";
    case word.allowed_tools:
    case word.custom:
    case word.function:
    case word.tool:
      return "named";
    default:
      return undefined;
  }
}
