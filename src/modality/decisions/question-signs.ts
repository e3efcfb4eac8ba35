import type { JsonDocument, JsonNode } from "../../json/index.ts";
import { glinerTypes } from "./gliner-kinds.ts";
import type { Entry } from "./question-entries.ts";
import type { Question } from "./question.ts";
import { flatTypes } from "./systemone-types.ts";

export type Grammar = Question["wire"];

/**
 * What shows in which grammar a question is written, the clearest sign first: a `schema`, then a
 * type that only one grammar has, then fields that only one has. No question can carry the same
 * sign for both: a flat `boolean` is a GLiNER question, because a systemone one has it in a schema.
 */
export function grammarOf(doc: JsonDocument, question: JsonNode): Grammar | undefined {
  const fields = fieldsOf(doc, question);
  if (fields.has("schema")) return "systemone";
  const type = fields.get("type") ?? fields.get("kind");
  const named =
    type !== undefined && doc.isString(type) ? grammarOfType(doc.text(type)) : undefined;
  if (named !== undefined) return named;
  if (GLINER_FIELDS.some((name) => fields.has(name))) return "gliner";
  return fields.has("criteria") ? "systemone" : undefined;
}

/** Fields of a question that show that it is a GLiNER one, as the buyer sent them. */
export function glinerFieldsOf(doc: JsonDocument, question: JsonNode): readonly string[] {
  const fields = fieldsOf(doc, question);
  return GLINER_FIELDS.filter((name) => fields.has(name));
}

/** The grammar of a body: that of its first question with a sign, else of the fields beside them. */
export function grammarOfBody(doc: JsonDocument, entries: readonly Entry[]): Grammar {
  for (const { node } of entries) {
    const sign = grammarOf(doc, node);
    if (sign !== undefined) return sign;
  }
  const beside = fieldsOf(doc, 0);
  return GLINER_BODY_FIELDS.some((name) => beside.has(name)) ? "gliner" : "systemone";
}

const GLINER_FIELDS = ["labels", "fields", "multi_label", "top_k", "threshold"];

/** Fields of a body that only GLiNER models take; the options go upstream under their names. */
export const GLINER_OPTIONS: readonly string[] = [
  "threshold",
  "include_confidence",
  "include_spans",
];

export const GLINER_BODY_FIELDS: readonly string[] = ["text", ...GLINER_OPTIONS];

function grammarOfType(type: string): Grammar | undefined {
  if (flatTypes.has(type)) return "systemone";
  return glinerTypes.has(type) ? "gliner" : undefined;
}

/** The members of an object that are not null, by name. */
function fieldsOf(doc: JsonDocument, object: JsonNode): ReadonlyMap<string, JsonNode> {
  const fields = new Map<string, JsonNode>();
  for (const key of doc.keys(object)) {
    const value = doc.valueOf(key);
    if (!doc.isNull(value)) fields.set(doc.text(key), value);
  }
  return fields;
}
