import { asObject } from "../../../kernel/index.ts";
import { systemOneValue, type Fields, type NamedAnswer } from "./answer-values.ts";
import type { SystemOneQuestion } from "./question.ts";

/**
 * The answers to these questions, in their order; undefined when one is missing or says nothing in
 * the type that was asked for. Answers without a question are dropped.
 */
export function readSystemOneAnswers(
  body: Fields,
  questions: readonly SystemOneQuestion[],
): readonly NamedAnswer[] | undefined {
  const find = finderIn(body["answers"], questions);
  const read = questions.map((question) => typedAnswer(question, find(question.id)));
  return read.every((each) => each !== undefined) ? read : undefined;
}

/** Answers come by id, or in a list: each with its name, or all without and in order. */
function finderIn(
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
  // The first of a name counts, so it is written last.
  const places = new Map(order.map((name, at) => [name, at] as const).reverse());
  return (id) => answers[places.get(id) ?? -1] as unknown;
}

function typedAnswer(question: SystemOneQuestion, found: unknown): NamedAnswer | undefined {
  if (found === undefined || found === null) return undefined;
  const answer = asObject(found) ?? { value: found };
  const value = systemOneValue(question, answer);
  if (value === undefined) return undefined;
  return { name: question.id, answer: { type: question.kind, ...answer, value } };
}
