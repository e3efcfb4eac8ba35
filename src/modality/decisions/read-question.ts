import {
  type JsonDocument,
  type JsonNode,
  type JsonText,
  NODE_SIZE,
  textBytes,
  textToken,
} from "../../json/index.ts";
import { type Check, isText, problem, type Problem } from "../../wire/index.ts";
import type { Entry } from "./question-entries.ts";
import type { Question } from "./question.ts";

/** A question that was read, and what it is in the public form of its wire. */
export interface ReadQuestion<Q extends Question = Question> {
  readonly question: Q;
  readonly entry: Entry;
  /** The bytes as sent, rearranged: no number or escape changes on the way. */
  readonly encoded: JsonText;
}

/** What systemone models read as a text of any kind: not empty. */
export const isContent: Check = (doc, node) => {
  if (doc.isString(node)) return doc.end(node) - doc.start(node) > 2 ? undefined : notContent;
  const isContainer = doc.isObject(node) || doc.isArray(node);
  return isContainer && doc.next(node) > node + NODE_SIZE ? undefined : notContent;
};
const notContent = problem("must be a non-empty string, object or array");

/** A name that can be a key of an answer. */
export const isLabel: Check = (doc, node) => isText(doc, node) ?? labelProblem(doc.text(node));

export function labelProblem(name: string): Problem | undefined {
  if (name.trim() === "") return problem("must not be blank");
  // As a key it would be refused: some parsers act on it.
  return name === "__proto__" ? problem("is not accepted as a name") : undefined;
}

/** The texts of an array of labels that all differ. */
export function readLabels(doc: JsonDocument, array: JsonNode): readonly string[] | Problem {
  if (!doc.isArray(array)) return problem("must be an array of labels");
  const labels = new Set<string>();
  for (const [index, item] of doc.items(array).entries()) {
    const found = isLabel(doc, item);
    if (found !== undefined) return problem(found.message, index);
    const label = doc.text(item);
    if (labels.has(label)) return problem("this label is duplicated", index);
    labels.add(label);
  }
  return [...labels];
}

export interface CountBounds {
  readonly min: number;
  readonly max: number;
  /** What is counted, for one of it: `option`. */
  readonly noun: string;
}

/** `1 option, at least 2 needed` */
export function countProblem(count: number, { min, max, noun }: CountBounds): Problem | undefined {
  if (count >= min && count <= max) return undefined;
  const counted = `${count} ${noun}${count === 1 ? "" : "s"}`;
  return problem(
    count < min ? `${counted}, at least ${min} needed` : `${counted}, at most ${max} accepted`,
  );
}

/** A JSON object of these members, whose names may be any text. */
export function namedText(members: Iterable<readonly [string, JsonText]>): JsonText {
  const parts = Array.from(members, ([name, value]) => `${textToken(name)}:${value}`);
  return `{${parts.join(",")}}` as JsonText;
}

export function parsed(text: JsonText): unknown {
  return JSON.parse(textBytes(text).toString("utf8"));
}

/** The two places, counted from 1, that have the same name; undefined when all differ. */
export function duplicate(names: readonly string[]): readonly [number, number] | undefined {
  const seen = new Map<string, number>();
  for (const [index, name] of names.entries()) {
    const first = seen.get(name);
    if (first !== undefined) return [first + 1, index + 1];
    seen.set(name, index);
  }
  return undefined;
}
