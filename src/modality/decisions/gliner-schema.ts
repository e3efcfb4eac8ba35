import type { JsonDocument, JsonNode } from "../../json/index.ts";
import { isText, problem, type Problem } from "../../wire/index.ts";
import {
  checkType,
  classification,
  entities,
  type GlinerType,
  relations,
  structure,
} from "./gliner-kinds.ts";
import { fixedNames, readAs, type ReadGliner } from "./grammar-gliner.ts";
import { checkMember, isProblem, readMembers, spellings } from "./members.ts";
import { atEntry, type Entry } from "./question-entries.ts";

/**
 * Reads the `schema` of the public form: one question for all entities, one for all relations, and
 * one for each task and each structure, in the order of the schema.
 */
export function readGlinerSchema(
  doc: JsonDocument,
  schema: JsonNode,
): readonly ReadGliner[] | Problem {
  const questions: ReadGliner[] = [];
  for (const key of doc.keys(schema)) {
    const name = doc.text(key);
    const section = sections.get(name);
    if (section === undefined) return problem(UNKNOWN_SECTION, "schema", name);
    const node = doc.valueOf(key);
    const read = doc.isNull(node) ? [] : section(doc, node);
    for (const each of isProblem(read) ? [read] : read) {
      if (isProblem(each)) return each;
      questions.push(each);
    }
  }
  return questions;
}

/** Has it a section of the public form? */
export function isGlinerSchema(doc: JsonDocument, schema: JsonNode): boolean {
  return doc.isObject(schema) && doc.keys(schema).some((key) => sections.has(doc.text(key)));
}

type Section = (doc: JsonDocument, node: JsonNode) => Problem | readonly (ReadGliner | Problem)[];

const sections: ReadonlyMap<string, Section> = new Map<string, Section>([
  ["entities", (doc, node) => [readSpans(doc, node, entities)]],
  ["classifications", readTasks],
  ["structures", readStructures],
  ["relations", (doc, node) => [readSpans(doc, node, relations)]],
]);
const UNKNOWN_SECTION = `is not a section of this model's schema; use ${[...sections.keys()].join(", ")}`;

function readSpans(doc: JsonDocument, node: JsonNode, type: GlinerType): ReadGliner | Problem {
  const id = fixedNames.get(type.kind) ?? type.kind;
  const entry: Entry = { id, isNamed: false, isInArray: false, path: ["schema", type.kind], node };
  const found = type.takes.get("labels")?.(doc, node);
  if (found !== undefined) return atEntry(entry, found);
  return readAs(doc, new Map([["labels", { sent: "labels", node }]]), { entry, type });
}

function readTasks(doc: JsonDocument, node: JsonNode): Problem | readonly (ReadGliner | Problem)[] {
  const path = ["schema", "classifications"];
  if (!doc.isArray(node)) return problem("must be an array of tasks", ...path);
  const tasks = doc.items(node);
  if (tasks.length === 0) return problem("empty", ...path);
  return tasks.map((task, index) => readTask(doc, task, [...path, index]));
}

function readTask(doc: JsonDocument, node: JsonNode, path: Entry["path"]): ReadGliner | Problem {
  const entry: Entry = { id: "", isNamed: true, isInArray: false, path, node };
  const members = readMembers(doc, node, taskNames);
  if (isProblem(members)) return atEntry(entry, members);
  const task = members.get("task");
  if (task === undefined) return atEntry(entry, problem("required", "task"));
  const own = new Map([...members].filter(([name]) => name !== "task"));
  const found =
    checkMember(members, "task", (text) => isText(doc, text)) ??
    checkType(doc, own, classification);
  if (found !== undefined) return atEntry(entry, found);
  return readAs(doc, own, { entry: { ...entry, id: doc.text(task.node) }, type: classification });
}

/** The terms of the public form for what a question calls otherwise. */
const taskNames = spellings({
  task: "task",
  labels: "labels",
  multi_label: "multi_label",
  cls_threshold: "threshold",
  top_k: "top_k",
  prompt: "instructions",
  examples: "examples",
});

function readStructures(
  doc: JsonDocument,
  node: JsonNode,
): Problem | readonly (ReadGliner | Problem)[] {
  const path = ["schema", "structures"];
  if (!doc.isObject(node)) return problem("must be an object by name", ...path);
  const keys = doc.keys(node);
  if (keys.length === 0) return problem("empty", ...path);
  return keys.map((key) => {
    const id = doc.text(key);
    const at = { id, isNamed: true, isInArray: false, path: [...path, id] };
    return readStructure(doc, { ...at, node: doc.valueOf(key) });
  });
}

function readStructure(doc: JsonDocument, entry: Entry): ReadGliner | Problem {
  const members = readMembers(doc, entry.node, structureNames);
  if (isProblem(members)) return atEntry(entry, members);
  const found = checkType(doc, members, structure);
  if (found !== undefined) return atEntry(entry, found);
  return readAs(doc, members, { entry, type: structure });
}

const structureNames = spellings({ fields: "fields" });
