import { createHash } from "node:crypto";
import { asText, membersOf } from "../../../kernel/index.ts";
import { isObject, type JsonObject } from "../json.ts";
import { estimatePromptTokens } from "../sim-request.ts";

export interface Decided {
  readonly answers: JsonObject;
  readonly inputTokens: number;
  /** Tokens saved by counting the `state` once for all questions; 0 if each question counts it. */
  readonly stateTokensSaved: number;
  readonly outputTokens: number;
  readonly model: string;
}

/** A request for decisions, in one format for all simulated providers. */
export interface DecisionOrder<Q> {
  readonly model: string;
  readonly stateText: string;
  readonly stateTokens: number;
  readonly questions: readonly Q[];
  readonly questionTokens: readonly number[];
  /** The whole request body, from which a provider reads the options that only it has. */
  readonly options: JsonObject;
}

export interface Asked {
  readonly stateText: string;
  readonly words: string;
}

export function toOrder<Q>(
  body: JsonObject,
  state: unknown,
  questions: readonly (readonly [question: Q, raw: unknown])[],
): DecisionOrder<Q> {
  return {
    model: String(body["model"]),
    stateText: asText(state) ?? JSON.stringify(state),
    stateTokens: Math.max(1, estimatePromptTokens(state)),
    questions: questions.map(([question]) => question),
    questionTokens: questions.map(([, raw]) => Math.max(1, estimatePromptTokens(raw))),
    options: body,
  };
}

/** A number from 0.01 to 0.99, which depends only on `stateText`, `words` and `of`. */
export function chance({ stateText, words }: Asked, of = ""): number {
  const hash = createHash("sha256").update(`${stateText}\n${words}\n${of}`).digest();
  return ((hash.readUInt32BE(0) % 99) + 1) / 100;
}

/** Probabilities of the labels; they sum to about 1. High for a label that `stateText` contains. */
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

/** High if the state contains the word before the question's `?`, else low; undefined if no `?`. */
export function namedChance({ stateText, words }: Asked): number | undefined {
  const [, word] = /(\p{L}+)\?/u.exec(words) ?? [];
  if (word === undefined) return undefined;
  return stateText.toLowerCase().includes(word.toLowerCase()) ? 0.95 : 0.05;
}

export function rounded(value: number): number {
  return Math.round(value * 10_000) / 10_000;
}

export function collectImageParts(value: unknown): readonly JsonObject[] {
  if (isObject(value) && value["type"] === "image_url") return [value];
  return (membersOf(value) ?? []).flatMap(([, inner]) => collectImageParts(inner));
}
