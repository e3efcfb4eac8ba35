import { Type, type TSchema } from "typebox";
import {
  unreachable,
  ABSENT,
  byType,
  closed,
  type JsonDocument,
  type JsonNode,
  type JsonText,
  objectText,
  schemaCheck,
  textToken,
} from "../../../kernel/index.ts";
import { isProblem, problem, type Problem } from "../../wire/fields/check-shape.ts";
import {
  atEntry,
  DECISION_WORDS,
  FILLED,
  TEXT,
  plainSpellings,
  questionSpellings,
  duplicate,
  type Entry,
  type GlinerQuestion,
  labelSchema,
  type Members,
  indexMembers,
  namedText,
  nameProblem,
  findNode,
  orNull,
  problemIn,
  readEntry,
  readMembers,
  type ReadQuestion,
  type Spellings,
  parseValues,
} from "./question.ts";

export const FRACTION = {
  type: "number",
  minimum: 0,
  maximum: 1,
  description: "a number from 0 to 1",
};
const FORM = { type: "string", pattern: "^(?:str|list)$", description: '"str" or "list"' };

/** Accepts at least `min` labels: an array, or an object that maps each label to a description. */
function labels(min: number, description: object): TSchema {
  return Type.Unsafe({
    type: ["array", "object"],
    items: labelSchema("label"),
    uniqueItems: true,
    minItems: min,
    propertyNames: labelSchema("label"),
    additionalProperties: { ...description, title: "label" },
    minProperties: min,
    description: "an array of labels, or an object by label",
  });
}

function textOr(fields: Record<string, TSchema>): object {
  return { ...closed(fields), type: ["string", "object"], description: "a description" };
}

const field = closed(
  {
    name: labelSchema(),
    dtype: orNull(FORM),
    choices: orNull({
      type: "array",
      items: labelSchema("choice"),
      minItems: 1,
      uniqueItems: true,
      description: "an array of labels",
    }),
    description: orNull(TEXT),
    threshold: orNull(FRACTION),
  },
  { title: "field" },
);

const threshold = orNull(FRACTION);
const ofTask = {
  threshold,
  instructions: orNull(FILLED),
  examples: orNull({
    type: "array",
    items: {
      type: "array",
      items: TEXT,
      minItems: 2,
      maxItems: 2,
      description: "an input and its label",
    },
    description: "an array",
  }),
};
const entityFields = { description: orNull(TEXT), dtype: orNull(FORM), threshold };
const relationFields = { description: orNull(TEXT), threshold };

const types = {
  classification: {
    ...ofTask,
    labels: labels(2, TEXT),
    multi_label: orNull({ type: "boolean" }),
    top_k: orNull({ type: "integer", minimum: 1, description: "a whole number of at least 1" }),
  },
  /** A `boolean` question has no `labels`; they are always `yes` and `no`. */
  boolean: ofTask,
  entities: { labels: labels(1, textOr(entityFields)), threshold },
  relations: { labels: labels(1, textOr(relationFields)), threshold },
  structure: {
    fields: Type.Unsafe({ type: "array", items: field, minItems: 1, description: "an array" }),
  },
};
const fault = schemaCheck(byType(types), DECISION_WORDS);

export const GLINER_TYPES: ReadonlySet<string> = new Set(Object.keys(types));

/** Maps a kind of question to the fixed key under which the provider answers it. */
export const fixedNames: ReadonlyMap<GlinerQuestion["kind"], string> = new Map([
  ["entities", "entities"],
  ["relations", "relation_extraction"],
]);

export type ReadGliner = ReadQuestion<GlinerQuestion>;

const spellings = questionSpellings(
  "labels",
  "fields",
  "threshold",
  "multi_label",
  "top_k",
  "examples",
);

export function readGlinerQuestion(doc: JsonDocument, entry: Entry): ReadGliner | Problem {
  const members = readEntry(doc, entry, spellings);
  return isProblem(members) ? atEntry(entry, members) : readAs(doc, entry, members);
}

/** `type` is passed only for a section of a public GLiNER `schema`, which implies the type. */
function readAs(
  doc: JsonDocument,
  entry: Entry,
  members: Members,
  type?: keyof typeof types,
): ReadGliner | Problem {
  const body = { ...parseValues(doc, members), ...(type !== undefined && { type }) };
  const found = fault(body);
  if (found !== undefined) return atEntry(entry, problemIn(members, found));
  const named = sameField(doc, members) ?? resultNameProblem(entry.id);
  if (named !== undefined) return atEntry(entry, named);
  const told = type ?? (doc.text(findNode(members, "type")) as keyof typeof types);
  const kind = told === "boolean" ? "classification" : told;
  const question: GlinerQuestion = {
    wire: "gliner",
    id: entry.id,
    kind,
    resultName: entry.isNamed ? entry.id : (fixedNames.get(kind) ?? entry.id),
    body,
  };
  return { question, entry, encoded: encoded(doc, members, kind, entry.id) };
}

function sameField(doc: JsonDocument, members: Members): Problem | undefined {
  const fields = findNode(members, "fields");
  if (fields === ABSENT) return undefined;
  const names = doc
    .items(fields)
    .map((each) => doc.text(findNode(indexMembers(doc, each), "name")));
  const same = duplicate(names);
  return same && problem("this name is duplicated", "fields", same[1] - 1, "name");
}

const NAME_CHARS_MAX = 100;

function resultNameProblem(name: string): Problem | undefined {
  if (name.length <= NAME_CHARS_MAX) return nameProblem(name);
  return problem(`a name has at most ${NAME_CHARS_MAX} characters`);
}

function encoded(
  doc: JsonDocument,
  members: Members,
  kind: GlinerQuestion["kind"],
  name: string,
): JsonText {
  const raw = (member: string): JsonText | undefined => {
    const node = findNode(members, member);
    return node === ABSENT ? undefined : doc.raw(node);
  };
  if (kind === "structure") return objectText({ fields: raw("fields") });
  if (kind !== "classification")
    return spansText(doc, findNode(members, "labels"), raw("threshold"));
  return objectText({
    task: textToken(name),
    labels: raw("labels") ?? '["yes","no"]',
    multi_label: raw("multi_label"),
    cls_threshold: raw("threshold"),
    top_k: raw("top_k"),
    prompt: raw("instructions"),
    examples: raw("examples"),
  });
}

/** The public GLiNER format has thresholds by label only, so a label without one gets `all`. */
function spansText(doc: JsonDocument, node: JsonNode, all: JsonText | undefined): JsonText {
  if (all === undefined) return doc.raw(node);
  if (doc.isArray(node)) {
    return namedText(
      doc.items(node).map((label) => [doc.text(label), objectText({ threshold: all })]),
    );
  }
  return namedText(
    doc.keys(node).map((key) => [doc.text(key), withThreshold(doc, doc.valueOf(key), all)]),
  );
}

/** Adds the question's threshold `all` to a label that has no threshold of its own. */
function withThreshold(doc: JsonDocument, config: JsonNode, all: JsonText): JsonText {
  if (doc.isString(config)) return objectText({ description: doc.raw(config), threshold: all });
  const own = Array.from(
    indexMembers(doc, config),
    ([name, { node }]) => [name, doc.raw(node)] as const,
  );
  return namedText(new Map([["threshold", all], ...own]));
}

/** Checks only the sections of a public GLiNER `schema`; `readAs` checks their questions. */
const sections = {
  entities: Type.Optional(Type.Unsafe({})),
  classifications: orNull({
    type: "array",
    items: Type.Object({ task: Type.String({ description: "a string" }) }, { title: "task" }),
    minItems: 1,
    description: "an array of tasks",
  }),
  structures: orNull({
    type: "object",
    additionalProperties: { type: "object", title: "structure" },
    minProperties: 1,
    description: "an object by name",
  }),
  relations: Type.Optional(Type.Unsafe({})),
};
const sectionNames = Object.keys(sections);
const sectionsFault = schemaCheck(closed(sections), {
  ...DECISION_WORDS,
  unknown: `is not a section of this model's schema; use ${sectionNames.join(", ")}`,
});

export function isGlinerSchema(doc: JsonDocument, schema: JsonNode): boolean {
  return (
    doc.isObject(schema) && doc.keys(schema).some((key) => Object.hasOwn(sections, doc.text(key)))
  );
}

/** Reads one question for all entities, one for all relations, one per task and per structure. */
export function readGlinerSchema(
  doc: JsonDocument,
  schema: JsonNode,
): readonly ReadGliner[] | Problem {
  const found = sectionsFault(doc.value(schema));
  if (found !== undefined) return problem(found.message, "schema", ...found.path);
  const questions: ReadGliner[] = [];
  for (const [name, { node }] of indexMembers(doc, schema)) {
    for (const each of readSection(doc, name as keyof typeof sections, node)) {
      if (isProblem(each)) return each;
      questions.push(each);
    }
  }
  return questions;
}

function readSection(
  doc: JsonDocument,
  name: keyof typeof sections,
  node: JsonNode,
): readonly (ReadGliner | Problem)[] {
  const section = { isNamed: true, isInArray: false, path: ["schema", name], node };
  switch (name) {
    case "classifications":
      return doc
        .items(node)
        .map((task, index) =>
          readTask(doc, { ...section, id: "", path: [...section.path, index], node: task }),
        );
    case "structures":
      return doc.keys(node).map((key) => {
        const id = doc.text(key);
        const entry = { ...section, id, path: [...section.path, id], node: doc.valueOf(key) };
        const members = readMembers(doc, entry.node, structureNames);
        return isProblem(members)
          ? atEntry(entry, members)
          : readAs(doc, entry, members, "structure");
      });
    case "entities":
    case "relations": {
      const entry = { ...section, id: fixedNames.get(name) ?? name, isNamed: false };
      return [readAs(doc, entry, new Map([["labels", { sent: "", node }]]), name)];
    }
    default:
      return unreachable(name);
  }
}

const taskNames: Spellings = new Map([
  ...plainSpellings(["task", "labels", "multi_label", "top_k", "examples"]),
  ["cls_threshold", "threshold"],
  ["prompt", "instructions"],
]);
const structureNames = plainSpellings(["fields"]);

function readTask(doc: JsonDocument, entry: Entry): ReadGliner | Problem {
  const members = readMembers(doc, entry.node, taskNames);
  if (isProblem(members)) return atEntry(entry, members);
  const own = new Map([...members].filter(([name]) => name !== "task"));
  const id = doc.text(findNode(members, "task"));
  return readAs(doc, { ...entry, id }, own, "classification");
}
