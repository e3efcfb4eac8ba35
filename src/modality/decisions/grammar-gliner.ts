import type { JsonDocument } from "../../json/index.ts";
import { problem, type Problem } from "../../wire/index.ts";
import { checkType, type GlinerQuestion, type GlinerType, glinerTypes } from "./gliner-kinds.ts";
import { isProblem, type Members, readMembers, type Spellings, spellings } from "./members.ts";
import { atEntry, type Entry, nameFields } from "./question-entries.ts";
import { type ReadQuestion, labelProblem } from "./read-question.ts";

export type ReadGliner = ReadQuestion<GlinerQuestion>;

/** Reads a question of `questions`. */
export function readGlinerQuestion(doc: JsonDocument, entry: Entry): ReadGliner | Problem {
  const members = readMembers(doc, entry.node, entry.isInArray ? itemNames : questionNames);
  if (isProblem(members)) return atEntry(entry, members);
  const asked = members.get("type");
  if (asked === undefined) return atEntry(entry, problem(`required: ${ONE_OF_TYPES}`, "type"));
  const type = doc.isString(asked.node) ? glinerTypes.get(doc.text(asked.node)) : undefined;
  if (type === undefined) return atEntry(entry, problem(`use ${ONE_OF_TYPES}`, asked.sent));
  const own = new Map([...members].filter(([name]) => !everywhere.has(name)));
  const found = checkType(doc, own, type);
  return found === undefined ? readAs(doc, own, { entry, type }) : atEntry(entry, found);
}

/** A question whose members fit its type; what is left to check is its name. */
export function readAs(
  doc: JsonDocument,
  members: Members,
  { entry, type }: { readonly entry: Entry; readonly type: GlinerType },
): ReadGliner | Problem {
  const found = nameProblem(entry.id);
  if (found !== undefined) return atEntry(entry, found);
  const values = Array.from(members, ([name, { node }]) => [name, doc.value(node)] as const);
  const question: GlinerQuestion = {
    wire: "gliner",
    id: entry.id,
    kind: type.kind,
    resultName: entry.isNamed ? entry.id : (fixedNames.get(type.kind) ?? entry.id),
    body: { type: type.type, ...Object.fromEntries(values) },
  };
  return { question, entry, encoded: type.lower(doc, members, entry.id) };
}

/** Results of these kinds have a key of their own in the provider's answer. */
export const fixedNames: ReadonlyMap<GlinerQuestion["kind"], string> = new Map([
  ["entities", "entities"],
  ["relations", "relation_extraction"],
]);

const ONE_OF_TYPES = `one of ${[...glinerTypes.keys()].join(", ")}`;

/** What a question of any type may have. */
const everywhere = new Set(["type", "name", "id"]);

const questionNames: Spellings = spellings({
  type: "type",
  kind: "type",
  labels: "labels",
  fields: "fields",
  threshold: "threshold",
  multi_label: "multi_label",
  top_k: "top_k",
  examples: "examples",
  instructions: "instructions",
  question: "instructions",
  prompt: "instructions",
  text: "instructions",
});
/** Items of an array bring their name: it was read with their place. */
const itemNames: Spellings = new Map([...questionNames, ...nameFields]);

const NAME_CHARS_MAX = 100;

function nameProblem(name: string): Problem | undefined {
  if (name.length > NAME_CHARS_MAX)
    return problem(`a name has at most ${NAME_CHARS_MAX} characters`);
  return labelProblem(name);
}
