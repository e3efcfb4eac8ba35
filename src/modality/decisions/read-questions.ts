import type { JsonDocument } from "../../json/index.ts";
import { problem, type Problem } from "../../wire/index.ts";
import { isGlinerSchema, readGlinerSchema } from "./gliner-schema.ts";
import { fixedNames, readGlinerQuestion } from "./grammar-gliner.ts";
import { readSystemOneQuestion } from "./grammar-systemone.ts";
import { isProblem, type Members, quoted } from "./members.ts";
import { type Entry, readEntries } from "./question-entries.ts";
import { type Grammar, grammarOf, grammarOfBody } from "./question-signs.ts";
import { type ReadQuestion, duplicate, countProblem } from "./read-question.ts";

/** All questions of a body, in the grammar they are written in. */
export interface ReadQuestions {
  readonly grammar: Grammar;
  readonly read: readonly ReadQuestion[];
}

/** Reads `questions`, or the `schema` of a GLiNER body in the public form. */
export function readQuestions(doc: JsonDocument, body: Members): ReadQuestions | Problem {
  const questions = body.get("questions");
  const schema = body.get("schema");
  if (schema !== undefined) {
    if (questions !== undefined || !isGlinerSchema(doc, schema.node)) return foreignSchema;
    const read = readGlinerSchema(doc, schema.node);
    return isProblem(read) ? read : whole("schema", { grammar: "gliner", read });
  }
  if (questions === undefined) return problem("required", "questions");
  const entries = readEntries(doc, questions.node);
  if (isProblem(entries)) return entries;
  return readInGrammar(doc, entries);
}

/** The sentence is for listings of both grammars: a body has `questions`, or a whole `schema`. */
export const foreignSchema: Problem = problem(
  'this model reads "questions"; a top-level schema belongs to another model\'s format',
  "schema",
);

function readInGrammar(doc: JsonDocument, entries: readonly Entry[]): ReadQuestions | Problem {
  const grammar = grammarOfBody(doc, entries);
  const found =
    entryCountProblem(grammar, "questions", entries.length) ?? mixedGrammarProblem(doc, entries);
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
    entryCountProblem(grammar, container, read.length) ??
    duplicateNameProblem(container, questions) ??
    questions
  );
}

const questionsMax: Readonly<Record<Grammar, number>> = { systemone: 128, gliner: 64 };

function entryCountProblem(
  grammar: Grammar,
  container: string,
  count: number,
): Problem | undefined {
  if (count === 0) return problem("empty", container);
  const found = countProblem(count, { min: 1, max: questionsMax[grammar], noun: "question" });
  return found && problem(found.message, container);
}

const grammarNames: Readonly<Record<Grammar, string>> = {
  systemone: "systemone",
  gliner: "GLiNER",
};

function mixedGrammarProblem(doc: JsonDocument, entries: readonly Entry[]): Problem | undefined {
  let first: { readonly id: string; readonly sign: Grammar } | undefined;
  for (const { id, node } of entries) {
    const sign = grammarOf(doc, node);
    if (sign === undefined) continue;
    first ??= { id, sign };
    if (first.sign === sign) continue;
    return problem(
      `question ${quoted(first.id)} is a ${grammarNames[first.sign]} question and ` +
        `${quoted(id)} a ${grammarNames[sign]} one; a request has one format`,
      "questions",
    );
  }
  return undefined;
}

/**
 * Answers are distinguished by name: by that of the question, and by that of the provider's result.
 */
function duplicateNameProblem(container: string, { read }: ReadQuestions): Problem | undefined {
  const ids = read.map(({ question }) => question.id);
  const results = read.flatMap(({ question }) =>
    question.wire === "gliner" ? [question.resultName] : [],
  );
  const sameResult = duplicate(results) ?? twiceByKind(read);
  if (sameResult !== undefined) {
    return sameName(container, { noun: "results", names: results, places: sameResult });
  }
  const sameId = duplicate(ids);
  return sameId && sameName(container, { noun: "questions", names: ids, places: sameId });
}

/**
 * A public answer is one flat object: what all questions of a kind are answered under is taken,
 * whatever they are called here.
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

interface SameName {
  readonly noun: "results" | "questions";
  readonly names: readonly string[];
  /** Counted from 1. */
  readonly places: readonly [number, number];
}

function sameName(container: string, { noun, names, places }: SameName): Problem {
  const [first, second] = places.toSorted((a, b) => a - b);
  const name = quoted(names[places[1] - 1] ?? "");
  return problem(`two ${noun} are named ${name} (questions ${first} and ${second})`, container);
}
