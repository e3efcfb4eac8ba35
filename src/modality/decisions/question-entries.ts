import { ABSENT, type JsonDocument, type JsonNode } from "../../json/index.ts";
import { problem, type Problem, word } from "../../wire/index.ts";
import { isProblem, type Spellings, spellings } from "./members.ts";

/** One question as it is in its container, whatever grammar it is written in. */
export interface Entry {
  /** Its key, its name, or `q1`, `q2`, … by its place in an array. */
  readonly id: string;
  /** Did the buyer give it that name? */
  readonly isNamed: boolean;
  readonly isInArray: boolean;
  readonly path: readonly (string | number)[];
  readonly node: JsonNode;
}

/** The questions of `questions`: an object by id, or an array of objects that may have a name. */
export function readEntries(doc: JsonDocument, questions: JsonNode): readonly Entry[] | Problem {
  if (doc.isArray(questions)) {
    return readAll(
      doc,
      doc.items(questions).map((node, index) => arrayEntry(doc, node, index)),
    );
  }
  if (!doc.isObject(questions)) {
    return problem("must be an object by question id, or an array", "questions");
  }
  return readAll(
    doc,
    doc.keys(questions).map((key) => keyedEntry(doc, key)),
  );
}

function readAll(
  doc: JsonDocument,
  entries: readonly (Entry | Problem)[],
): readonly Entry[] | Problem {
  const good: Entry[] = [];
  for (const entry of entries) {
    if (isProblem(entry)) return entry;
    if (!doc.isObject(entry.node)) return problem("must be an object", ...entry.path);
    good.push(entry);
  }
  return good.length === 0 ? problem("empty", "questions") : good;
}

function keyedEntry(doc: JsonDocument, key: JsonNode): Entry {
  const id = doc.text(key);
  const path = ["questions", id];
  return { id, isNamed: true, isInArray: false, path, node: doc.valueOf(key) };
}

function arrayEntry(doc: JsonDocument, node: JsonNode, index: number): Entry | Problem {
  const path = ["questions", index];
  const unnamed = { id: `q${index + 1}`, isNamed: false, isInArray: true, path, node };
  if (!doc.isObject(node)) return unnamed;
  const names: string[] = [];
  for (const field of ["name", "id"] as const) {
    const value = doc.present(node, word[field]);
    if (value === ABSENT) continue;
    if (!doc.isString(value)) return problem("must be a string", ...path, field);
    names.push(doc.text(value));
  }
  const [name, id = name] = names;
  if (name === undefined) return unnamed;
  if (id !== name) return problem("name and id differ; send one of them", ...path);
  return { ...unnamed, id: name, isNamed: true };
}

/** What the name of a question in an array is sent as; both at once when they are equal. */
export const nameFields: Spellings = spellings({ name: "name", id: "id" });

/** What is wrong inside a question, seen from the body. */
export function atEntry({ path }: Entry, found: Problem): Problem {
  return problem(found.message, ...path, ...found.path);
}
