import { asObject } from "../../../kernel/index.ts";
import { glinerValue, type Fields, type NamedAnswer } from "./answer-values.ts";
import { fixedNames } from "./grammar-gliner.ts";
import type { GlinerQuestion } from "./question.ts";

/** `readSystemOneAnswers` for a provider that answers in the flat form of GLiNER results. */
export function readGlinerAnswers(
  body: Fields,
  questions: readonly GlinerQuestion[],
): readonly NamedAnswer[] | undefined {
  const results = resultsOf(body);
  const read = questions.map((question) => typedAnswer(question, findResult(question, results)));
  return read.every((each) => each !== undefined) ? read : undefined;
}

/** Fields of a flat answer that are not results, whatever a question is called. */
const NO_RESULTS: ReadonlySet<string> = new Set(["id", "model", "object", "usage", "token_usage"]);

/** Hosts put the results under `answers`, under `result`, or straight into the body. */
function resultsOf(body: Fields): Fields {
  const own = asObject(body["answers"]) ?? asObject(body["result"]);
  if (own !== undefined) return own;
  return Object.fromEntries(Object.entries(body).filter(([name]) => !NO_RESULTS.has(name)));
}

/** A result is under its own name, the buyer's, or together with all of its kind. */
function findResult({ id, kind, resultName }: GlinerQuestion, results: Fields): unknown {
  const names = [resultName, id, fixedNames.get(kind) ?? id];
  const name = names.find((each) => Object.hasOwn(results, each));
  return name === undefined ? undefined : results[name];
}

/**
 * The result becomes the value. What a classification says besides its label, its confidence, stays
 * beside it; of several labels the list with their confidences is kept as `labels`.
 */
function typedAnswer(question: GlinerQuestion, found: unknown): NamedAnswer | undefined {
  const { resultName: name, kind, body } = question;
  const reported = asObject(found);
  const hasType = reported?.["type"] === kind || reported?.["type"] === body["type"];
  const isTyped = reported !== undefined && hasType && "value" in reported;
  const value = glinerValue(question, isTyped ? reported["value"] : found);
  if (value === undefined) return undefined;
  const isClass = kind === "classification";
  const beside = isTyped || isClass ? (reported ?? labelsBeside(found)) : {};
  return { name, answer: { type: kind, ...beside, value } };
}

function labelsBeside(found: unknown): Fields {
  return Array.isArray(found) && found.some((each) => asObject(each) !== undefined)
    ? { labels: found }
    : {};
}
