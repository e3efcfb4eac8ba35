import { FALSE_KIND, type JsonDocument, type JsonNode, NULL_KIND } from "../../../kernel/index.ts";
import { readName, word } from "../fields/chat-vocabulary.ts";

const DROPPED_NAMES_MAX = 64;
const NAME_CHARS_MAX = 64;

export class TranslationIssues {
  /** Fields that prevent the translation. `message` begins with the field. */
  readonly refused: { readonly field: string; readonly message: string }[] = [];
  /** Reported in `x-tm-dropped-params`. */
  readonly dropped: Set<string> = new Set();

  /** `message` is the text that follows the field, as in "must be …". */
  refuse(field: string, message: string): void {
    this.refused.push({ field, message: `${field} ${message}` });
  }

  drop(name: string): void {
    if (this.dropped.size < DROPPED_NAMES_MAX) this.dropped.add(headerName(name));
  }
}

/** Makes a client's field name safe for a response header: short, printable, without commas. */
export function headerName(name: string): string {
  return name.slice(0, NAME_CHARS_MAX).replaceAll(/[^\w.[\]\-:/@+]/g, "?");
}

/**
 * `require_parameters` allows these losses: reasoning is read only by the model that wrote it, and
 * Claude Code's billing line by Anthropic.
 */
export const ALLOWED_LOSSES: ReadonlySet<string> = new Set([
  "messages.content.redacted_thinking",
  "messages.content.thinking",
  "messages.reasoning",
  "messages.reasoning_content",
  "messages.reasoning_details",
  "messages[].reasoning",
  "messages[].reasoning_content",
  "messages[].reasoning_details",
  "system.x-anthropic-billing-header",
]);

export const CANNOT_CROSS =
  "cannot be translated for the providers of this model; remove it or choose a model that accepts it";

interface DropRule {
  /** Word ids (`WordTable`) of members that are translated or refused. All others are dropped. */
  readonly carried: ReadonlySet<number>;
  /** Text before each dropped name in the report, such as `messages[].`. */
  readonly path: string;
  readonly notes: TranslationIssues;
}

/** Cache marks can be in many places, so they are reported once and without a path. */
const namedWithoutPlace = new Set([word.cache_control]);

/** Members for which false means the same as absence. */
const usuallyFalse = new Set([word.is_error, word.strict]);

/** Reports members outside `rule.carried` as dropped, except nulls and usual values. */
export function dropOthers(doc: JsonDocument, object: JsonNode, rule: DropRule): void {
  for (const key of doc.keys(object)) {
    const wordId = doc.keyWord(key);
    const kind = doc.kind(doc.valueOf(key));
    if (rule.carried.has(wordId) || kind === NULL_KIND) continue;
    if (kind === FALSE_KIND && usuallyFalse.has(wordId)) continue;
    const name = readName(doc, key);
    rule.notes.drop(namedWithoutPlace.has(wordId) ? name : rule.path + name);
  }
}
