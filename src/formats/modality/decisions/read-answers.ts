import { Type } from "typebox";

import { asNumber, asObject, asText, conforms, unreachable } from "../../../kernel/index.ts";
import { fixedNames } from "./grammar-gliner.ts";
import type { GlinerQuestion, Question, SystemOneQuestion } from "./question.ts";

export function readGlinerAnswers(
  body: Fields,
  questions: readonly GlinerQuestion[],
): readonly NamedAnswer[] | undefined {
  const results = findResults(body, questions);
  const read = questions.map((question) => glinerAnswer(question, findResult(question, results)));
  return read.every((each) => each !== undefined) ? read : undefined;
}

/** Top-level members that are never results, even if a question has the same name. */
const NO_RESULTS: ReadonlySet<string> = new Set(["id", "model", "object", "usage", "token_usage"]);

/** True if a provider that puts results directly into the body cannot answer the question. */
export function isNamedLikeOwnMember(question: Question): boolean {
  return question.wire === "gliner" && NO_RESULTS.has(question.resultName);
}

/**
 * Providers put the results into `answers`, into `result`, or directly into the body, in which a
 * question can have one of these two names. Empty if no place has a result for each question.
 */
function findResults(body: Fields, questions: readonly GlinerQuestion[]): Fields {
  const own = Object.entries(body).filter(([name]) => !NO_RESULTS.has(name));
  const places = [asObject(body["answers"]), asObject(body["result"]), Object.fromEntries(own)];
  const isWhole = (place: Fields): boolean =>
    questions.every((question) => findResult(question, place) !== undefined);
  return places.find((place) => place !== undefined && isWhole(place)) ?? {};
}

function findResult({ id, kind, resultName }: GlinerQuestion, results: Fields): unknown {
  const names = [resultName, id, fixedNames.get(kind) ?? id];
  const name = names.find((each) => Object.hasOwn(results, each));
  return name === undefined ? undefined : results[name];
}

/**
 * Puts the provider's result into `value`. A classification, or a result that names its type and
 * has a `value`, keeps its other fields. A classification that is a list of labels with confidences
 * keeps the list as `labels`.
 */
function glinerAnswer(question: GlinerQuestion, found: unknown): NamedAnswer | undefined {
  const { resultName: name, kind, body } = question;
  const reported = asObject(found);
  const hasType = reported?.["type"] === kind || reported?.["type"] === body["type"];
  const isTyped = reported !== undefined && hasType && "value" in reported;
  const value = glinerValue(question, isTyped ? reported["value"] : found);
  if (value === undefined) return undefined;
  const isClass = kind === "classification";
  const beside = isTyped || isClass ? (reported ?? readLabelsBeside(found)) : {};
  return { name, answer: { type: kind, ...beside, value } };
}

function readLabelsBeside(found: unknown): Fields {
  return Array.isArray(found) && found.some((each) => asObject(each) !== undefined)
    ? { labels: found }
    : {};
}

/** Undefined if an answer is missing or of a wrong type. Answers without a question are dropped. */
export function readSystemOneAnswers(
  body: Fields,
  questions: readonly SystemOneQuestion[],
): readonly NamedAnswer[] | undefined {
  const find = makeFinder(body["answers"], questions);
  const read = questions.map((question) => systemOneAnswer(question, find(question.id)));
  return read.every((each) => each !== undefined) ? read : undefined;
}

/** Providers send answers as an object by id, a list with names, or a list in question order. */
function makeFinder(
  answers: unknown,
  questions: readonly SystemOneQuestion[],
): (id: string) => unknown {
  if (!Array.isArray(answers)) {
    const byId = asObject(answers) ?? {};
    return (id) => (Object.hasOwn(byId, id) ? byId[id] : undefined);
  }
  const names = answers.map((answer) => asObject(answer)?.["name"] ?? asObject(answer)?.["id"]);
  const isNamed = names.some((name) => name !== undefined);
  if (!isNamed && answers.length !== questions.length) return () => undefined;
  const order = isNamed ? names : questions.map(({ id }) => id);
  // If two answers have one name, the first counts. A Map keeps the last, so the list is reversed.
  const places = new Map(order.map((name, at) => [name, at] as const).reverse());
  return (id) => answers[places.get(id) ?? -1] as unknown;
}

function systemOneAnswer(question: SystemOneQuestion, found: unknown): NamedAnswer | undefined {
  if (found === undefined || found === null) return undefined;
  const answer = asObject(found) ?? { value: found };
  const value = systemOneValue(question, answer);
  if (value === undefined) return undefined;
  return { name: question.id, answer: { type: question.kind, ...answer, value } };
}

export type Fields = Readonly<Record<string, unknown>>;

/** An answer with the provider's own fields, and with `value` in the JSON type of the question. */
export interface NamedAnswer {
  /** The question's id; for a GLiNER question its result name. */
  readonly name: string;
  readonly answer: Fields;
}

function systemOneValue(question: SystemOneQuestion, answer: Fields): unknown {
  switch (question.kind) {
    case "noul":
      return isLikely(first(answer, "noul", "boolean", "probability", "value"));
    case "choice":
      return offeredLabel(
        first(answer, "choice", "label", "value"),
        question.labels && new Set(question.labels),
      );
    case "score":
      return onScale(question, answer);
    case "box":
      return parseBox(answer);
    default:
      return unreachable(question.kind);
  }
}

function glinerValue({ kind, body }: GlinerQuestion, answer: unknown): unknown {
  switch (kind) {
    case "classification":
      return classValue(body, answer);
    case "entities":
    case "relations":
      return askedLabels(answer, readLabels(body));
    case "structure":
      return Array.isArray(answer) ? answer : asObject(answer);
    default:
      return unreachable(kind);
  }
}

function first(answer: Fields, ...names: readonly string[]): unknown {
  return names.map((name) => answer[name]).find((value) => value !== undefined && value !== null);
}

const isVerdict = conforms(Type.Union([Type.Boolean(), Type.Number({ minimum: 0, maximum: 1 })]));

function isLikely(probability: unknown): boolean | undefined {
  return isVerdict(probability) ? Number(probability) >= 0.5 : undefined;
}

function offeredLabel(label: unknown, labels: ReadonlySet<string> | undefined): string | undefined {
  const text = asText(label);
  return text === undefined || labels?.has(text) === false ? undefined : text;
}

/** A score is rounded to this many fraction digits; the further digits are rounding noise. */
const SCORE_DIGITS = 10;

/**
 * A provider's `score` counts levels from 0. Its `value`, like the result, counts from the client's
 * `min`, if sent. The result can be between two levels, but an integer question gets the nearest.
 */
function onScale(question: SystemOneQuestion, { score, value }: Fields): number | undefined {
  const { asked, criteria, scoreFrom = 0 } = question;
  const level = asNumber(score);
  const reported = level === undefined ? asNumber(value) : level + scoreFrom;
  if (reported === undefined) return undefined;
  const rounded = Number(reported.toFixed(asked === "integer" ? 0 : SCORE_DIGITS));
  const levels = Array.isArray(criteria) ? criteria.length : Number.MAX_SAFE_INTEGER;
  return rounded >= scoreFrom && rounded <= scoreFrom + levels - 1 ? rounded : undefined;
}

function parseBox({ top, bottom, left, right }: Fields): Fields | undefined {
  const sides = { top, bottom, left, right };
  return Object.values(sides).every(Number.isFinite) ? sides : undefined;
}

/** The answers to a `boolean`: its fixed labels, or the JSON value that the client asked for. */
const VERDICTS: ReadonlyMap<unknown, boolean> = new Map<unknown, boolean>([
  ["yes", true],
  ["no", false],
  [true, true],
  [false, false],
]);

function classValue(question: Fields, answer: unknown): unknown {
  const best: unknown = Array.isArray(answer) ? answer[0] : answer;
  if (question["type"] === "boolean") return VERDICTS.get(readChosen(best));
  const offered = readLabels(question);
  const labels = offered && new Set(offered);
  if (question["multi_label"] === true || Number(question["top_k"]) > 1) {
    const found = (Array.isArray(answer) ? answer : [answer]).map((each) => labelIn(each, labels));
    return found.includes(undefined) ? undefined : found;
  }
  return labelIn(best, labels);
}

function labelIn(answer: unknown, labels: ReadonlySet<string> | undefined): string | undefined {
  return offeredLabel(readChosen(answer), labels);
}

/** Reads an answer that stands alone or, with a confidence beside it, in an object. */
function readChosen(answer: unknown): unknown {
  const fields = asObject(answer);
  return fields === undefined ? answer : first(fields, "label", "value");
}

/** Keeps only the question's labels: the object may answer other questions of the kind as well. */
function askedLabels(answer: unknown, labels: readonly string[] | undefined): Fields | undefined {
  const found = asObject(answer);
  if (found === undefined || labels === undefined) return found;
  return Object.fromEntries(
    labels.filter((label) => Object.hasOwn(found, label)).map((label) => [label, found[label]]),
  );
}

function readLabels({ labels }: Fields): readonly string[] | undefined {
  if (Array.isArray(labels)) return labels.flatMap((label) => asText(label) ?? []);
  const described = asObject(labels);
  return described === undefined ? undefined : Object.keys(described);
}
