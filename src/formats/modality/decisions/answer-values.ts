import { unreachable, asObject } from "../../../kernel/index.ts";
import type { GlinerQuestion, SystemOneQuestion } from "./question.ts";

export type Fields = Readonly<Record<string, unknown>>;

/** One question answered: the provider's own fields, and `value` in the plain type asked for. */
export interface NamedAnswer {
  /** The question's id; of a GLiNER question the name of its result. */
  readonly name: string;
  readonly answer: Fields;
}

/** What an answer says in the JSON type that was asked for; undefined when it does not say it. */
export function systemOneValue(question: SystemOneQuestion, answer: Fields): unknown {
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
      return boxOf(answer);
    default:
      return unreachable(question.kind);
  }
}

/** The same for an answer of a GLiNER provider, which has a form for each kind. */
export function glinerValue({ kind, body }: GlinerQuestion, answer: unknown): unknown {
  switch (kind) {
    case "classification":
      return classValue(body, answer);
    case "entities":
    case "relations":
      return askedLabels(answer, labelsOf(body));
    case "structure":
      return Array.isArray(answer) ? answer : asObject(answer);
    default:
      return unreachable(kind);
  }
}

function first(answer: Fields, ...names: readonly string[]): unknown {
  return names.map((name) => answer[name]).find((value) => value !== undefined && value !== null);
}

/** A tie counts as yes; who cares reads the probability. */
function isLikely(probability: unknown): boolean | undefined {
  if (typeof probability === "boolean") return probability;
  if (typeof probability !== "number" || probability < 0 || probability > 1) return undefined;
  return probability >= 0.5;
}

/** A label that was not offered is not an answer. */
function offeredLabel(label: unknown, labels: ReadonlySet<string> | undefined): string | undefined {
  if (typeof label !== "string" || labels?.has(label) === false) return undefined;
  return label;
}

/** Digits behind which a sum of two decimals is only noise. */
const SCORE_DIGITS = 10;

/**
 * Levels count from 0; a question between `min` and `max` is answered with a number between them. A
 * score lies between levels where the model is undecided: an integer question is answered with the
 * nearest.
 */
function onScale(question: SystemOneQuestion, { score, value }: Fields): number | undefined {
  const { asked, criteria, scoreFrom = 0 } = question;
  const reported = typeof score === "number" ? score + scoreFrom : value;
  if (typeof reported !== "number") return undefined;
  const rounded = Number(reported.toFixed(asked === "integer" ? 0 : SCORE_DIGITS));
  const levels = Array.isArray(criteria) ? criteria.length : Number.MAX_SAFE_INTEGER;
  return rounded >= scoreFrom && rounded <= scoreFrom + levels - 1 ? rounded : undefined;
}

function boxOf({ top, bottom, left, right }: Fields): Fields | undefined {
  const sides = { top, bottom, left, right };
  return Object.values(sides).every(Number.isFinite) ? sides : undefined;
}

/** One label, a list of labels where several were asked for, or yes and no as a boolean. */
function classValue(question: Fields, answer: unknown): unknown {
  const isBoolean = question["type"] === "boolean";
  const offered = isBoolean ? ["yes", "no"] : labelsOf(question);
  const labels = offered && new Set(offered);
  if (question["multi_label"] === true || Number(question["top_k"]) > 1) {
    const found = (Array.isArray(answer) ? answer : [answer]).map((each) => labelIn(each, labels));
    return found.includes(undefined) ? undefined : found;
  }
  const label = labelIn(Array.isArray(answer) ? answer[0] : answer, labels);
  return isBoolean && label !== undefined ? label === "yes" : label;
}

function labelIn(answer: unknown, labels: ReadonlySet<string> | undefined): string | undefined {
  const fields = asObject(answer);
  return offeredLabel(fields === undefined ? answer : first(fields, "label", "value"), labels);
}

/** Questions of one kind may be answered in one object: each takes what it asked for. */
function askedLabels(answer: unknown, labels: readonly string[] | undefined): Fields | undefined {
  const found = asObject(answer);
  if (found === undefined || labels === undefined) return found;
  return Object.fromEntries(
    labels.filter((label) => Object.hasOwn(found, label)).map((label) => [label, found[label]]),
  );
}

function labelsOf({ labels }: Fields): readonly string[] | undefined {
  if (Array.isArray(labels)) return labels.filter((label) => typeof label === "string");
  const described = asObject(labels);
  return described === undefined ? undefined : Object.keys(described);
}
