import { ABSENT, type JsonDocument, type JsonNode } from "../../../kernel/index.ts";
import { isProblem, problem, type Problem } from "../../wire/fields/check-shape.ts";
import { word } from "../../wire/fields/chat-vocabulary.ts";
import {
  fixedNames,
  GLINER_TYPES,
  isGlinerSchema,
  readGlinerQuestion,
  readGlinerSchema,
} from "./grammar-gliner.ts";
import { readSystemOneQuestion, SYSTEMONE_TYPES } from "./grammar-systemone.ts";
import {
  duplicate,
  type Entry,
  type Grammar,
  type Members,
  indexMembers,
  findNode,
  quoted,
  type ReadQuestion,
} from "./question.ts";

export interface ReadQuestions {
  readonly grammar: Grammar;
  readonly read: readonly ReadQuestion[];
}

export function readQuestions(doc: JsonDocument, body: Members): ReadQuestions | Problem {
  const questions = findNode(body, "questions");
  const schema = findNode(body, "schema");
  if (schema !== ABSENT) {
    if (questions !== ABSENT || !isGlinerSchema(doc, schema)) return foreignSchema;
    const read =
      sizeProblem("gliner", "schema", doc.count(schema)) ?? readGlinerSchema(doc, schema);
    return isProblem(read) ? read : whole("schema", { grammar: "gliner", read });
  }
  if (questions === ABSENT) return problem("required", "questions");
  const entries = readEntries(doc, questions);
  return isProblem(entries) ? entries : readInGrammar(doc, body, entries);
}

/** Only GLiNER models accept a top-level `schema`, which replaces `questions`. */
export const foreignSchema: Problem = problem(
  'this model reads "questions"; a top-level schema belongs to another model\'s format',
  "schema",
);

function readEntries(doc: JsonDocument, questions: JsonNode): readonly Entry[] | Problem {
  const isInArray = doc.isArray(questions);
  if (!isInArray && !doc.isObject(questions)) {
    return problem("must be an object by question id, or an array", "questions");
  }
  const entries: Entry[] = [];
  for (const [index, place] of (isInArray ? doc.items(questions) : doc.keys(questions)).entries()) {
    const key = isInArray ? undefined : doc.text(place);
    const node = isInArray ? place : doc.valueOf(place);
    const path = ["questions", key ?? index];
    if (!doc.isObject(node)) return problem("must be an object", ...path);
    const named = key === undefined ? readName(doc, node) : { name: key };
    if (isProblem(named)) return problem(named.message, ...path, ...named.path);
    const { name } = named;
    const id = name ?? `q${index + 1}`;
    entries.push({ id, isNamed: name !== undefined, isInArray, path, node });
  }
  return entries;
}

function readName(
  doc: JsonDocument,
  question: JsonNode,
): { readonly name: string | undefined } | Problem {
  let own: string | undefined;
  for (const field of ["name", "id"] as const) {
    const value = doc.present(question, word[field]);
    if (value === ABSENT) continue;
    if (!doc.isString(value)) return problem("must be a string", field);
    const name = doc.text(value);
    if (own !== undefined && own !== name) return problem("name and id differ; send one of them");
    own = name;
  }
  return { name: own };
}

function readInGrammar(
  doc: JsonDocument,
  body: Members,
  entries: readonly Entry[],
): ReadQuestions | Problem {
  const signs = entries.map(({ node }) => detectGrammar(doc, node));
  const beside = GLINER_BODY_FIELDS.some((name) => body.has(name)) ? "gliner" : "systemone";
  const grammar = signs.find((sign) => sign !== undefined) ?? beside;
  const found =
    countProblem(grammar, "questions", entries.length) ??
    sizeProblem(grammar, "questions", doc.count(findNode(body, "questions"))) ??
    mixedProblem(grammar, signs, entries);
  if (found !== undefined) return found;
  const readOne = grammar === "gliner" ? readGlinerQuestion : readSystemOneQuestion;
  const read: ReadQuestion[] = [];
  for (const entry of entries) {
    const question = readOne(doc, entry);
    if (isProblem(question)) return question;
    read.push(question);
  }
  return whole("questions", { grammar, read });
}

function whole(container: string, questions: ReadQuestions): ReadQuestions | Problem {
  const { grammar, read } = questions;
  return (
    countProblem(grammar, container, read.length) ??
    duplicateNameProblem(container, questions) ??
    questions
  );
}

/**
 * The clearest sign counts: a `schema`, then a type, then fields that only one format has. A
 * `boolean` without a schema is GLiNER, because systemone has that type only in a schema.
 */
function detectGrammar(doc: JsonDocument, question: JsonNode): Grammar | undefined {
  const fields = indexMembers(doc, question);
  if (fields.has("schema")) return "systemone";
  const type = fields.get("type") ?? fields.get("kind");
  const asked = type !== undefined && doc.isString(type.node) ? doc.text(type.node) : "";
  if (SYSTEMONE_TYPES.has(asked)) return "systemone";
  if (GLINER_TYPES.has(asked) || GLINER_FIELDS.some((name) => fields.has(name))) return "gliner";
  return fields.has("criteria") ? "systemone" : undefined;
}

export function listGlinerFields(doc: JsonDocument, question: JsonNode): readonly string[] {
  const fields = indexMembers(doc, question);
  return GLINER_FIELDS.filter((name) => fields.has(name));
}

const GLINER_FIELDS = ["labels", "fields", "multi_label", "top_k", "threshold"];

/** Body fields that only GLiNER models accept. They are forwarded under the same names. */
export const GLINER_OPTIONS: readonly string[] = [
  "threshold",
  "include_confidence",
  "include_spans",
];
export const GLINER_BODY_FIELDS: readonly string[] = ["text", ...GLINER_OPTIONS];

const GRAMMARS = {
  systemone: { shown: "systemone", questionsMax: 128 },
  gliner: { shown: "GLiNER", questionsMax: 64 },
};

function countProblem(grammar: Grammar, container: string, count: number): Problem | undefined {
  const max = GRAMMARS[grammar].questionsMax;
  if (count === 0) return problem("empty", container);
  return count > max
    ? problem(`${count} questions, at most ${max} accepted`, container)
    : undefined;
}

/**
 * Maximum number of JSON keys and values in GLiNER questions, because a label takes far longer to
 * check than a value that is only forwarded.
 */
const GLINER_VALUES_MAX = 20_000;

function sizeProblem(grammar: Grammar, container: string, values: number): Problem | undefined {
  return grammar === "gliner" && values > GLINER_VALUES_MAX
    ? problem(`${values} keys and values, at most ${GLINER_VALUES_MAX} accepted`, container)
    : undefined;
}

function mixedProblem(
  grammar: Grammar,
  signs: readonly (Grammar | undefined)[],
  entries: readonly Entry[],
): Problem | undefined {
  const other = signs.findIndex((sign) => sign !== undefined && sign !== grammar);
  const sign = signs[other];
  if (sign === undefined) return undefined;
  const named = (at: number): string => quoted(entries[at]?.id ?? "");
  return problem(
    `question ${named(signs.indexOf(grammar))} is a ${GRAMMARS[grammar].shown} question and ` +
      `${named(other)} a ${GRAMMARS[sign].shown} one; a request has one format`,
    "questions",
  );
}

function duplicateNameProblem(container: string, { read }: ReadQuestions): Problem | undefined {
  const ids = read.map(({ question }) => question.id);
  const results = read.flatMap(({ question }) =>
    question.wire === "gliner" ? [question.resultName] : [],
  );
  const sameResult = duplicate(results) ?? twiceByKind(read);
  const places = sameResult ?? duplicate(ids);
  if (places === undefined) return undefined;
  const [noun, names] = sameResult === undefined ? ["questions", ids] : ["results", results];
  const [first, second] = places.toSorted((a, b) => a - b);
  const name = quoted(names[places[1] - 1] ?? "");
  return problem(`two ${noun} are named ${name} (questions ${first} and ${second})`, container);
}

/**
 * Finds a question named like the fixed key of another question's kind, because an answer could
 * have both results under that key. Returns the places of both questions, counted from 1.
 */
function twiceByKind(read: readonly ReadQuestion[]): readonly [number, number] | undefined {
  for (const [kind, name] of fixedNames) {
    const ofKind = read.findIndex(({ question }) => question.kind === kind);
    const other = read.findIndex(
      ({ question }) =>
        question.wire === "gliner" && question.kind !== kind && question.resultName === name,
    );
    if (ofKind !== -1 && other !== -1) return [ofKind + 1, other + 1];
  }
  return undefined;
}
