import { ABSENT, type JsonDocument, type JsonNode } from "../../../kernel/index.ts";
import { type ChatWord, word } from "../../wire/fields/chat-vocabulary.ts";

type Place = "" | "tools." | "output_config.";

/**
 * Body fields that a provider accepts only together with a matching name in the `anthropic-beta`
 * header. If the gateway drops that name, it drops the field too; an answer is valid without it.
 */
const OPENED: readonly (readonly [beta: RegExp, place: Place, names: readonly ChatWord[]])[] = [
  [/^(?:context-management|compact)-/, "", ["context_management"]],
  [/^cache-diagnosis-/, "", ["diagnostics"]],
  [/^fallback-credit-/, "", ["fallback_credit_token"]],
  [/^user-profiles-billing-/, "", ["billing_policy"]],
  [
    /^(?:advanced-tool-use|tool-search-tool|tool-examples)-/,
    "tools.",
    ["allowed_callers", "defer_loading", "input_examples"],
  ],
  [/^task-budgets-/, "output_config.", ["task_budget"]],
];

export const NO_DROPS: SameWireDrops = { members: [], names: [] };

/** Finds body fields that the provider would refuse, because their beta name is in `dropped`. */
export function findBetaFields(doc: JsonDocument, dropped: readonly string[]): SameWireDrops {
  const members: DroppedMembers[] = [];
  const names = new Set<string>();
  for (const [beta, place, wanted] of OPENED) {
    if (!dropped.some((name) => beta.test(name))) continue;
    for (const object of objectsAt(doc, place)) {
      const found = wanted.filter((name) => doc.member(object, word[name]) !== ABSENT);
      if (found.length === 0) continue;
      members.push({ object, wordIds: found.map((name) => word[name]) });
      for (const name of found) names.add(place + name);
    }
  }
  return { members, names: [...names] };
}

function objectsAt(doc: JsonDocument, place: Place): readonly JsonNode[] {
  if (place === "") return [0];
  const node = doc.present(0, place === "tools." ? word.tools : word.output_config);
  if (node === ABSENT) return [];
  return doc.isArray(node) ? doc.items(node) : [node];
}

interface DroppedMembers {
  readonly object: JsonNode;
  readonly wordIds: readonly number[];
}

/** Fields that are removed from a request to a deployment that speaks the client's wire. */
export interface SameWireDrops {
  readonly members: readonly DroppedMembers[];
  readonly names: readonly string[];
}
