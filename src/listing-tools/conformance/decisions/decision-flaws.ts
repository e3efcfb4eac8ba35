import { Type } from "typebox";

import type { DecisionsListing, Deployment } from "../../../catalog/index.ts";
import { asNumber, asObject, asText, conforms } from "../../../kernel/index.ts";
import { parseFields } from "../chat/read-chat.ts";
import type { AskedQuestion } from "./decision-probes.ts";
import type { Fields } from "../../../formats/index.ts";

const ENVELOPE_MEMBERS: ReadonlySet<string> = new Set(["result", "success", "errors", "messages"]);

export function envelopeFlaw(
  json: Fields,
  envelope: DecisionsListing["envelope"],
): string | undefined {
  if (envelope === undefined) return undefined;
  if (json["success"] !== true) return "the envelope's success is not true";
  if (asObject(json["result"]) === undefined) return "the envelope's result is not an object";
  for (const name of ["errors", "messages"]) {
    const list = json[name];
    if (!Array.isArray(list) || list.length > 0)
      return `the envelope's ${name} is not an empty list`;
  }
  return undefined;
}

export function otherMembers(
  json: Fields,
  envelope: DecisionsListing["envelope"],
): readonly string[] {
  if (envelope === undefined) return [];
  return Object.keys(json).filter((name) => !ENVELOPE_MEMBERS.has(name));
}

/** The answers in a provider's body; none if the body is not a JSON object. */
export function answersIn(
  body: Buffer,
  decisions: Deployment["decisions"],
): readonly NamedAnswer[] {
  const json = parseFields(body) ?? {};
  const opened = decisions?.envelope === undefined ? json : (asObject(json["result"]) ?? {});
  return listAnswers(opened, decisions?.wire ?? "systemone");
}

type NamedAnswer = readonly [name: string, answer: unknown];

/** Members of a flat answer that are metadata and answer no question. */
const NO_ANSWERS: ReadonlySet<string> = new Set(["id", "model", "object", "usage", "token_usage"]);

/** Lists answers by the provider's names: from a list, an object, or (GLiNER) top-level members. */
export function listAnswers(body: Fields, wire: DecisionsListing["wire"]): readonly NamedAnswer[] {
  const { answers, result } = body;
  if (Array.isArray(answers)) {
    return answers.map((answer: unknown, at) => {
      const fields = asObject(answer);
      const name = fields?.["name"] ?? fields?.["id"];
      return [asText(name) ?? `q${at + 1}`, answer];
    });
  }
  const own = asObject(answers) ?? (wire === "gliner" ? asObject(result) : {});
  const named =
    own ?? Object.fromEntries(Object.entries(body).filter(([name]) => !NO_ANSWERS.has(name)));
  return Object.entries(named);
}

/** GLiNER providers may put all entities or relations under one name, not the question's. */
const NAME_OF_KIND: Readonly<Record<string, string>> = {
  entities: "entities",
  relations: "relation_extraction",
};

export function answersFlaw(
  answers: readonly NamedAnswer[],
  questions: readonly AskedQuestion[],
): string | undefined {
  const left = new Map(answers);
  if (left.size !== answers.length) return "two answers have one name";
  for (const [at, { id, kind, body }] of questions.entries()) {
    const name = [id, NAME_OF_KIND[kind] ?? id, `q${at + 1}`].find((each) => left.has(each));
    if (name === undefined) return `question ${id} has no answer`;
    const flaw = probabilityFlaw(left.get(name)) ?? choiceFlaw(left.get(name), body);
    if (flaw !== undefined) return `question ${id}: ${flaw}`;
    left.delete(name);
  }
  const [extra] = left.keys();
  return extra === undefined ? undefined : "there is an answer without a question";
}

const SUM_TOLERANCE = 0.02;
const SHARES: ReadonlySet<string> = new Set(["noul", "probability", "confidence"]);

export function probabilityFlaw(answer: unknown): string | undefined {
  if (Array.isArray(answer)) return findFirstFlaw(answer, probabilityFlaw);
  const fields = asObject(answer);
  if (fields === undefined) return undefined;
  return findFirstFlaw(Object.entries(fields), ([name, value]) => {
    if (name === "probabilities") return distributionFlaw(value);
    const share = SHARES.has(name) ? asNumber(value) : undefined;
    if (share !== undefined && !isShare(share)) return `${name} is ${share}, not between 0 and 1`;
    return probabilityFlaw(value);
  });
}

function choiceFlaw(answer: unknown, question: AskedQuestion["body"]): string | undefined {
  const labels = asObject(question["schema"])?.["values"] ?? question["labels"];
  const chosen = chosenIn(answer);
  if (question["type"] === "entities" || question["type"] === "relations") return undefined;
  if (!Array.isArray(labels) || chosen === undefined) return undefined;
  if (!labels.includes(chosen)) return "the choice is not one of the labels";
  const shares = asObject(asObject(answer)?.["probabilities"]) ?? {};
  const own = Number(shares[chosen] ?? Number.POSITIVE_INFINITY);
  return Object.values(shares).some((share) => Number(share) > own)
    ? "another label is more probable than the choice"
    : undefined;
}

/** The chosen label, from the form of System One or GLiNER, or else from a plain `value`. */
export function chosenIn(answer: unknown): string | undefined {
  if (Array.isArray(answer)) return chosenIn(answer[0]);
  const { choice, label, value } = asObject(answer) ?? { value: answer };
  return asText(choice ?? label ?? value);
}

/** The chosen level, counted from 1, though `score` counts from 0. NaN if there is none. */
export function levelIn(answer: unknown): number {
  const { score, value } = asObject(answer) ?? {};
  const level = asNumber(score);
  return level === undefined ? Number(value) : level + 1;
}

function distributionFlaw(value: unknown): string | undefined {
  const shares: readonly unknown[] = Array.isArray(value)
    ? value
    : Object.values(asObject(value) ?? {});
  if (!shares.every(isShare)) return "a probability is not between 0 and 1";
  const sum = shares.reduce<number>((total, share) => total + Number(share), 0);
  if (Math.abs(sum - 1) <= SUM_TOLERANCE) return undefined;
  return `probabilities sum to ${Number(sum.toFixed(4))}`;
}

const isShare: (value: unknown) => boolean = conforms(Type.Number({ minimum: 0, maximum: 1 }));

function findFirstFlaw<T>(
  items: readonly T[],
  flawOf: (item: T) => string | undefined,
): string | undefined {
  for (const item of items) {
    const flaw = flawOf(item);
    if (flaw !== undefined) return flaw;
  }
  return undefined;
}
