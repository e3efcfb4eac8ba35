import { ABSENT, type JsonDocument, type JsonNode, type JsonText } from "../../../kernel/index.ts";
import { word } from "../fields/chat-vocabulary.ts";
import type { ToolCall, ToolChoice, ToolSpec } from "../neutral/chat-call.ts";
import { dropOthers } from "../neutral/drop-others.ts";
import { argumentsObject } from "../neutral/tool-arguments.ts";
import { CANNOT_CROSS, type TranslationIssues } from "../neutral/translation-issues.ts";
import { choiceWord, functionSpec } from "./decode-tools.ts";

const functionMembers = new Set([word.name, word.description, word.parameters]);

interface LegacyTools {
  readonly tools: readonly ToolSpec[];
  readonly toolChoice: ToolChoice | undefined;
}

/** `functions` and `function_call`, the older form of tools; undefined where there are none. */
export function decodeFunctions(
  doc: JsonDocument,
  notes: TranslationIssues,
): LegacyTools | undefined {
  const list = doc.present(0, word.functions);
  const chosen = doc.present(0, word.function_call);
  if (list === ABSENT || doc.items(list).length === 0) {
    // Like tool_choice without tools: there is nothing to choose from.
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
  const toolChoice = chosen === ABSENT ? undefined : decodeChoice(doc, chosen);
  if (chosen !== ABSENT && toolChoice === undefined) notes.refuse("function_call", CANNOT_CROSS);
  return { tools, toolChoice };
}

function decodeChoice(doc: JsonDocument, chosen: JsonNode): ToolChoice | undefined {
  if (doc.isString(chosen)) return choiceWord(doc, chosen);
  return { kind: "tool", name: doc.raw(doc.member(chosen, word.name)) };
}

/**
 * The legacy calls of a history. They have no ids, and a result follows its call: each call gets
 * an id by its place, and the next result takes it.
 */
export class LegacyCalls {
  #count = 0;
  #openId: string | undefined;

  /** Undefined when its arguments are not an object. */
  call(doc: JsonDocument, called: JsonNode): ToolCall | undefined {
    const text = doc.present(called, word.arguments);
    const input = text === ABSENT ? ("{}" as JsonText) : argumentsObject(doc, text);
    if (input === undefined) return undefined;
    this.#openId = `call_function_${this.#count++}`;
    return { id: this.#openId, name: doc.raw(doc.member(called, word.name)), input };
  }

  /** The id of the call that a result answers; undefined when no call is open. */
  answeredId(): string | undefined {
    const id = this.#openId;
    this.#openId = undefined;
    return id;
  }
}
