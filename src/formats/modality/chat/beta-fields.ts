import { ABSENT, type JsonDocument, type JsonNode } from "../../../kernel/index.ts";
import { type ChatWord, word } from "../../wire/fields/chat-vocabulary.ts";
import { eachCacheMark } from "../../wire/history-rules.ts";
import type { Unservable } from "../../wire/modality.ts";
import { readToolChange } from "../../wire/neutral/tool-calls.ts";

type Place = "" | "cache_control." | "messages." | "output_config." | "thinking." | "tools.";

/**
 * Body fields that a provider accepts only together with a matching name in the `anthropic-beta`
 * header. If the gateway drops that name, it drops the field too; an answer is valid without it.
 */
const OPENED: readonly (readonly [
  beta: RegExp,
  place: Place,
  names: readonly ChatWord[],
  /** Only this value needs the beta name. Absent: every value does. */
  value?: ChatWord,
])[] = [
  [/^(?:context-management|compact)-/, "", ["context_management"]],
  [/^cache-diagnosis-/, "", ["diagnostics"]],
  [/^fallback-credit-/, "", ["fallback_credit_token"]],
  [/^user-profiles-billing-/, "", ["billing_policy"]],
  [/^dangerous-tool-use-/, "", ["safeguards"]],
  [
    /^(?:advanced-tool-use|tool-search-tool|tool-examples)-/,
    "tools.",
    ["allowed_callers", "defer_loading", "input_examples"],
  ],
  [/^task-budgets-/, "output_config.", ["task_budget"]],
  [/^prompt-caching-scope-/, "cache_control.", ["scope"]],
  [/^prompt-caching-evict-/, "cache_control.", ["evict_on_complete"]],
  [
    /^(?:per-turn-control|mid-conversation-(?:output-config|effort)|per-message-effort|timing)-/,
    "messages.",
    ["output_config"],
  ],
  [/^mid-conversation-system-clear-at-/, "messages.", ["clear_at"]],
  [/^thinking-binding-controls-/, "thinking.", ["block_binding"]],
  [/^thinking-display-/, "thinking.", ["display"], "updates"],
];
const OPENS_TOOL_CHANGES = /^(?:mid-conversation-tool-changes|inline-tools)-/;

export const NO_DROPS: SameWireDrops = { members: [], items: [], names: [] };

/** Finds body fields that the provider would refuse, because their beta name is in `dropped`. */
export function findBetaFields(doc: JsonDocument, dropped: readonly string[]): SameWireDrops {
  const lost = new Map<JsonNode, number[]>();
  const names = new Set<string>();
  for (const [beta, place, wanted, value] of OPENED) {
    if (!dropped.some((name) => beta.test(name))) continue;
    for (const object of objectsAt(doc, place)) {
      const found = wanted.filter((name) => {
        const node = doc.member(object, word[name]);
        return node !== ABSENT && (value === undefined || doc.word(node) === word[value]);
      });
      if (found.length === 0) continue;
      lost.set(object, [...(lost.get(object) ?? []), ...found.map((name) => word[name])]);
      for (const name of found) names.add(place + name);
    }
  }
  const list = doc.member(0, word.messages);
  const emptied = objectsAt(doc, "messages.").filter((item) =>
    isEmptied(doc, item, lost.get(item)),
  );
  const items: DroppedItem[] = emptied.map((item) => ({ list, item }));
  const refused = dropped.some((name) => OPENS_TOOL_CHANGES.test(name))
    ? findToolChanges(doc, items, names)
    : undefined;
  const members = [...lost].map(([object, wordIds]) => ({ object, wordIds }));
  return { members, items, names: [...names], ...(refused && { refused }) };
}

/** True if nothing but its role, and perhaps an empty content, is left of a message. */
function isEmptied(doc: JsonDocument, message: JsonNode, lost: readonly number[] = []): boolean {
  if (lost.length === 0) return false;
  const content = doc.member(message, word.content);
  const isBlank =
    content !== ABSENT &&
    (doc.isArray(content) ? doc.items(content).length === 0 : doc.text(content) === "");
  return doc.keys(message).length - lost.length === (isBlank ? 2 : 1);
}

/** Adds the tool changes of system messages; a message that has nothing else goes as a whole. */
function findToolChanges(
  doc: JsonDocument,
  items: DroppedItem[],
  names: Set<string>,
): Unservable | undefined {
  let refused: Unservable | undefined;
  const list = doc.member(0, word.messages);
  for (const [index, message] of doc.items(list).entries()) {
    const content = doc.member(message, word.content);
    const isSystem = doc.word(doc.member(message, word.role)) === word.system;
    if (!isSystem || content === ABSENT || !doc.isArray(content)) continue;
    const blocks = doc.items(content);
    const lost: DroppedItem[] = [];
    for (const [position, item] of blocks.entries()) {
      const change = readToolChange(doc, item);
      if (change === undefined) continue;
      lost.push({ list: content, item });
      names.add(`messages.content.${doc.text(doc.member(item, word.type))}`);
      if (change === "definition") refused ??= messageTool(`messages.${index}.content.${position}`);
    }
    const isWhole = lost.length > 0 && lost.length === blocks.length;
    items.push(...(isWhole ? [{ list, item: message }] : lost));
  }
  return refused;
}

function messageTool(field: string): Unservable {
  const reason = "defines a tool, which no provider of this model takes in a message";
  return { field, message: `${field} ${reason}; define it in tools` };
}

const PLACES = {
  "messages.": word.messages,
  "output_config.": word.output_config,
  "thinking.": word.thinking,
  "tools.": word.tools,
};

function objectsAt(doc: JsonDocument, place: Place): readonly JsonNode[] {
  if (place === "") return [0];
  if (place === "cache_control.") {
    const marks: JsonNode[] = [];
    eachCacheMark(doc, (_object, key) => marks.push(doc.valueOf(key)));
    return marks.filter((mark) => doc.isObject(mark));
  }
  const node = doc.present(0, PLACES[place]);
  if (node === ABSENT) return [];
  return doc.isArray(node) ? doc.items(node) : [node];
}

interface DroppedMembers {
  readonly object: JsonNode;
  readonly wordIds: readonly number[];
}

interface DroppedItem {
  readonly list: JsonNode;
  readonly item: JsonNode;
}

/** What is removed from a request to a deployment that speaks the client's wire. */
export interface SameWireDrops {
  readonly members: readonly DroppedMembers[];
  readonly items: readonly DroppedItem[];
  readonly names: readonly string[];
  /** Why the request cannot be served; absent: without what is dropped, the answer is the same. */
  readonly refused?: Unservable;
}
