import { createHash } from "node:crypto";
import { isObject, type JsonObject } from "../json.ts";
import { estimatePromptTokens } from "../sim-request.ts";

/** The decision of a host, and the tokens that it read for it. */
export interface Decided {
  readonly answers: JsonObject;
  readonly inputTokens: number;
  /** The tokens that counting the state for each question would add: 0 for a host that does. */
  readonly stateTokensSaved: number;
  readonly outputTokens: number;
  readonly model: string;
}

/** A decisions request in one form for all hosts. */
export interface DecisionOrder<Q> {
  readonly model: string;
  /** The state as text; JSON when it is none. */
  readonly stateText: string;
  readonly stateTokens: number;
  readonly questions: readonly Q[];
  /** The tokens of each question. */
  readonly questionTokens: readonly number[];
  /** The options that only this host has. */
  readonly options: JsonObject;
}

/** The questions about a state, and the values that depend on its text. */
export interface Asked {
  readonly stateText: string;
  /** Everything that the question says. */
  readonly words: string;
}

/** The order of a body whose questions have been read. */
export function toOrder<Q>(
  body: JsonObject,
  state: unknown,
  questions: readonly (readonly [question: Q, raw: unknown])[],
): DecisionOrder<Q> {
  return {
    model: String(body["model"]),
    stateText: typeof state === "string" ? state : JSON.stringify(state),
    stateTokens: Math.max(1, estimatePromptTokens(state)),
    questions: questions.map(([question]) => question),
    questionTokens: questions.map(([, raw]) => Math.max(1, estimatePromptTokens(raw))),
    options: body,
  };
}

/** A number from 0.01 to 0.99 that depends on what is asked, and on `of`. */
export function chance({ stateText, words }: Asked, of = ""): number {
  const hash = createHash("sha256").update(`${stateText}\n${words}\n${of}`).digest();
  return ((hash.readUInt32BE(0) % 99) + 1) / 100;
}

/** How likely each label is, all of them 1; one that occurs in the state wins. */
export function chances(asked: Asked, labels: readonly string[]): readonly number[] {
  const state = asked.stateText.toLowerCase();
  const named = labels.join(" ") === "yes no" ? namedChance(asked) : undefined;
  if (named !== undefined) return [named, rounded(1 - named)];
  const weights = labels.map((label) => {
    const isNamed = label !== "" && state.includes(label.toLowerCase());
    return chance(asked, label) + (isNamed ? labels.length * 5 : 0);
  });
  const sum = weights.reduce((total, weight) => total + weight, 0);
  return weights.map((weight) => rounded(weight / sum));
}

/** The chance by whether the state contains the question's last word; undefined if none. */
export function namedChance({ stateText, words }: Asked): number | undefined {
  const [, word] = /(\p{L}+)\?/u.exec(words) ?? [];
  if (word === undefined) return undefined;
  return stateText.toLowerCase().includes(word.toLowerCase()) ? 0.95 : 0.05;
}

/** Four digits behind the point. */
export function rounded(value: number): number {
  return Math.round(value * 10_000) / 10_000;
}

/** Every object of type `image_url` under `value`. */
export function collectImageParts(value: unknown): readonly JsonObject[] {
  if (Array.isArray(value)) return value.flatMap(collectImageParts);
  if (!isObject(value)) return [];
  if (value["type"] === "image_url") return [value];
  return Object.values(value).flatMap(collectImageParts);
}
