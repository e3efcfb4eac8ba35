import { ABSENT, type JsonDocument, type JsonNode } from "../../../kernel/index.ts";
import { type ChatWord, word } from "../../wire/fields/chat-vocabulary.ts";

/** Fields that a provider accepts only with a matching name in the beta header. */
interface OpenedFields {
  readonly beta: RegExp;
  readonly top?: readonly ChatWord[];
  /** Members of each tool. */
  readonly tools?: readonly ChatWord[];
  readonly outputConfig?: readonly ChatWord[];
}

/** No answer depends on these; fields that an answer depends on are refused. */
const OPENED: readonly OpenedFields[] = [
  { beta: /^context-management-/, top: ["context_management"] },
  { beta: /^compact-/, top: ["compaction", "context_management"] },
  {
    beta: /^(?:advanced-tool-use|tool-search-tool|tool-examples)-/,
    tools: ["allowed_callers", "defer_loading", "input_examples"],
  },
  { beta: /^task-budgets-/, outputConfig: ["task_budget"] },
  { beta: /^cache-diagnosis-/, top: ["diagnostics"] },
  { beta: /^fallback-credit-/, top: ["fallback_credit_token"] },
  { beta: /^user-profiles-billing-/, top: ["billing_policy"] },
];

/** No drops. */
export const NO_DROPS: SameWireDrops = { words: [], inside: [], names: [] };

/** Finds the fields of a body that need one of these dropped betas. */
export function findBetaFields(doc: JsonDocument, dropped: readonly string[]): SameWireDrops {
  const rules = OPENED.filter(({ beta }) => dropped.some((name) => beta.test(name)));
  if (rules.length === 0) return NO_DROPS;
  const config = doc.present(0, word.output_config);
  const top = presentIn(doc, 0, collectNames(rules, "top"));
  const tools = inPlace(doc, listTools(doc), collectNames(rules, "tools"));
  const inConfig = inPlace(
    doc,
    config === ABSENT ? [] : [config],
    collectNames(rules, "outputConfig"),
  );
  return {
    words: top.map((name) => word[name]),
    inside: [...tools, ...inConfig].map(({ object, names }) => ({
      object,
      wordIds: names.map((name) => word[name]),
    })),
    names: [
      ...top,
      ...new Set(tools.flatMap(({ names }) => names.map((name) => `tools.${name}`))),
      ...inConfig.flatMap(({ names }) => names.map((name) => `output_config.${name}`)),
    ],
  };
}

interface Present {
  readonly object: JsonNode;
  readonly names: readonly ChatWord[];
}

function inPlace(
  doc: JsonDocument,
  objects: readonly JsonNode[],
  wanted: readonly ChatWord[],
): readonly Present[] {
  return objects
    .map((object) => ({ object, names: presentIn(doc, object, wanted) }))
    .filter(({ names }) => names.length > 0);
}

function presentIn(
  doc: JsonDocument,
  object: JsonNode,
  wanted: readonly ChatWord[],
): readonly ChatWord[] {
  return wanted.filter((name) => doc.member(object, word[name]) !== ABSENT);
}

function collectNames(
  rules: readonly OpenedFields[],
  place: "top" | "tools" | "outputConfig",
): readonly ChatWord[] {
  return [...new Set(rules.flatMap((rule) => rule[place] ?? []))];
}

function listTools(doc: JsonDocument): readonly JsonNode[] {
  const list = doc.present(0, word.tools);
  return list === ABSENT ? [] : doc.items(list);
}

/** The fields that a same-wire body loses on its way to a deployment. */
export interface SameWireDrops {
  /** Word ids of top-level members. */
  readonly words: readonly number[];
  /** Members of objects inside the body. */
  readonly inside: readonly { readonly object: JsonNode; readonly wordIds: readonly number[] }[];
  /** For `x-tm-dropped-params`. */
  readonly names: readonly string[];
}
