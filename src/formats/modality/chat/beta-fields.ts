import { ABSENT, type JsonDocument, type JsonNode } from "../../../kernel/index.ts";
import { type ChatWord, word } from "../../wire/fields/chat-vocabulary.ts";

/** Fields that a provider accepts only if a name in `anthropic-beta` matches `beta`. */
interface OpenedFields {
  readonly beta: RegExp;
  readonly top?: readonly ChatWord[];
  readonly tools?: readonly ChatWord[];
  readonly outputConfig?: readonly ChatWord[];
}

/** Body fields that are dropped if their beta name is dropped. No answer depends on them. */
const OPENED: readonly OpenedFields[] = [
  { beta: /^(?:context-management|compact)-/, top: ["context_management"] },
  {
    beta: /^(?:advanced-tool-use|tool-search-tool|tool-examples)-/,
    tools: ["allowed_callers", "defer_loading", "input_examples"],
  },
  { beta: /^task-budgets-/, outputConfig: ["task_budget"] },
  { beta: /^cache-diagnosis-/, top: ["diagnostics"] },
  { beta: /^fallback-credit-/, top: ["fallback_credit_token"] },
  { beta: /^user-profiles-billing-/, top: ["billing_policy"] },
];

export const NO_DROPS: SameWireDrops = { words: [], inside: [], names: [] };

/** Finds fields that the provider would refuse, because they need a beta name in `dropped`. */
export function findBetaFields(doc: JsonDocument, dropped: readonly string[]): SameWireDrops {
  const rules = OPENED.filter(({ beta }) => dropped.some((name) => beta.test(name)));
  if (rules.length === 0) return NO_DROPS;
  const wanted = (place: "top" | "tools" | "outputConfig"): readonly ChatWord[] => [
    ...new Set(rules.flatMap((rule) => rule[place] ?? [])),
  ];
  const tools = doc.present(0, word.tools);
  const config = doc.present(0, word.output_config);
  const inTools = wanted("tools");
  const top = findPresent(doc, 0, wanted("top"));
  const inside = [
    ...(tools === ABSENT ? [] : doc.items(tools)).map((object) => ({
      object,
      path: "tools.",
      names: findPresent(doc, object, inTools),
    })),
    ...(config === ABSENT ? [] : [config]).map((object) => ({
      object,
      path: "output_config.",
      names: findPresent(doc, object, wanted("outputConfig")),
    })),
  ].filter(({ names }) => names.length > 0);
  const paths = inside.flatMap(({ path, names }) => names.map((name) => path + name));
  return {
    words: top.map((name) => word[name]),
    inside: inside.map(({ object, names }) => ({
      object,
      wordIds: names.map((name) => word[name]),
    })),
    names: [...top, ...new Set(paths)],
  };
}

function findPresent(
  doc: JsonDocument,
  object: JsonNode,
  wanted: readonly ChatWord[],
): readonly ChatWord[] {
  return wanted.filter((name) => doc.member(object, word[name]) !== ABSENT);
}

/** The fields that are removed from a request to a deployment that speaks the client's wire. */
export interface SameWireDrops {
  readonly words: readonly number[];
  readonly inside: readonly { readonly object: JsonNode; readonly wordIds: readonly number[] }[];
  readonly names: readonly string[];
}
