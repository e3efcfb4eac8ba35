import type { JsonDocument, JsonNode } from "../../../kernel/index.ts";
import { chatVocabulary, word } from "../fields/chat-vocabulary.ts";
import type { TranslationIssues } from "./translation-issues.ts";

export interface DropRule {
  /** Word ids of the members that are carried over or refused by name. */
  readonly carried: ReadonlySet<number>;
  /** Prefix of the dropped names: `messages[].`. */
  readonly path: string;
  readonly notes: TranslationIssues;
}

/** Caching hints can be in many places and are named once, without a path. */
const namedWithoutPlace = new Set([word.cache_control]);

/** Notes each member that is not carried over as dropped; null members count as absent. */
export function dropOthers(doc: JsonDocument, object: JsonNode, rule: DropRule): void {
  for (const key of doc.keys(object)) {
    const wordId = doc.keyWord(key);
    if (rule.carried.has(wordId) || doc.isNull(doc.valueOf(key))) continue;
    const name = chatVocabulary.nameOf(wordId) ?? doc.text(key);
    rule.notes.drop(namedWithoutPlace.has(wordId) ? name : rule.path + name);
  }
}
