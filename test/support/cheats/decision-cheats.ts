import { textOf } from "../../../src/kernel/index.ts";
import type { DecisionCheat } from "../../../src/dev/simulator/cheat.ts";
import { isObject, type JsonObject } from "../../../src/dev/simulator/json.ts";
import type { Decided } from "../../../src/dev/simulator/decisions/decision-order.ts";
import { rounded } from "../../../src/dev/simulator/decisions/decision-order.ts";
import type { CheatTable } from "./text-effects.ts";

interface DecisionEffect {
  /** Changes the body that the model reads. The usage counts the whole body. */
  readonly read?: (body: JsonObject) => JsonObject;
  readonly answer?: (answer: unknown, all: readonly unknown[]) => unknown;
  readonly decided?: (decided: Decided) => Partial<Decided>;
  readonly every?: number;
  /** Requests with the same key get the answers to the first of them. */
  readonly replay?: (state: string) => string;
}

function withState(change: (state: string) => string): NonNullable<DecisionEffect["read"]> {
  return (body) => {
    const name = body["state"] === undefined ? "text" : "state";
    const { [name]: state } = body;
    return typeof state === "string" ? { ...body, [name]: change(state) } : body;
  };
}

function onMembers(
  change: (answer: JsonObject) => JsonObject,
): NonNullable<DecisionEffect["answer"]> {
  return (answer) => (isObject(answer) ? change(answer) : answer);
}

const SUM = 1.4;

function rankProbabilities({ probabilities }: JsonObject): readonly (readonly [string, number])[] {
  return isObject(probabilities)
    ? Object.entries(probabilities)
        .map(([label, share]) => [label, Number(share)] as const)
        .toSorted((one, other) => other[1] - one[1])
    : [];
}

export const DECISION_CHEATS: CheatTable<DecisionEffect> = {
  "decision-probabilities-off": [
    "C2",
    {
      answer: onMembers((answer) =>
        isObject(answer["probabilities"])
          ? { ...answer, probabilities: withSum(answer["probabilities"]) }
          : answer,
      ),
    },
    "probabilities",
  ],
  "decision-label-foreign": [
    "C2",
    {
      answer: (answer) =>
        typeof answer === "string" && answer !== "yes" && answer !== "no"
          ? "another"
          : isObject(answer) && "choice" in answer
            ? { ...answer, choice: "another", probabilities: { another: 1 } }
            : answer,
    },
  ],
  "decision-choice-unlikely": [
    "C2 and others",
    {
      answer: onMembers((answer) =>
        "choice" in answer ? { ...answer, choice: rankProbabilities(answer)[1]?.[0] } : answer,
      ),
    },
    "probabilities",
  ],
  "decision-state-ignored": ["C11", { read: withState((state) => "x".repeat(state.length)) }],
  "decision-state-cut": ["C11", { read: withState((state) => state.slice(0, 300)) }],
  "decision-state-end-only": ["C11", { read: withState((state) => state.slice(-300)) }],
  "decision-replayed": ["C11 and others", { replay: (state) => state.slice(0, 100) }],
  "decision-first-for-all": [
    "C2 and others",
    { answer: (answer, all) => all.find((each) => describeKind(each) === describeKind(answer)) },
  ],
  "decision-always-yes": [
    "C11",
    {
      answer: (answer) =>
        answer === "no"
          ? "yes"
          : isObject(answer) && "noul" in answer
            ? { ...answer, noul: 0.9 }
            : answer,
    },
  ],
  "decision-score-constant": [
    "C11",
    {
      answer: onMembers((answer) =>
        "score" in answer
          ? { ...answer, score: 2, probabilities: { 0: 0, 1: 0, 2: 1, 3: 0, 4: 0 } }
          : answer,
      ),
    },
    "probabilities",
  ],
  "decision-first-label": [
    "C11",
    { answer: (answer) => (isObject(answer) && "choice" in answer ? first(answer) : answer) },
    "probabilities",
  ],
  "decision-spans-invented": [
    "C11",
    {
      answer: (answer) =>
        isObject(answer) && !("type" in answer)
          ? Object.fromEntries(Object.keys(answer).map((label) => [label, ["zeppelin"]]))
          : answer,
    },
    "spans",
  ],
  "decision-state-per-question": [
    "C11",
    {
      decided: ({ inputTokens, stateTokensSaved }) => ({
        inputTokens: inputTokens + stateTokensSaved,
      }),
    },
    "a state that is counted once",
  ],
  "decision-usage-when-repeated": [
    "C4",
    { every: 2, decided: ({ inputTokens }) => ({ inputTokens: inputTokens + 7 }) },
  ],
  "decision-usage-plus-constant": [
    "C4",
    { decided: ({ inputTokens }) => ({ inputTokens: inputTokens + 300 }) },
  ],
  "decision-usage-times-three": [
    "C4",
    { decided: ({ inputTokens }) => ({ inputTokens: 3 * inputTokens }) },
  ],
  "decision-output-plus": [
    "C4",
    { decided: ({ outputTokens }) => ({ outputTokens: outputTokens + 1_000 }) },
    "output tokens",
  ],
  "decision-model": [
    "C7",
    { decided: () => ({ model: "another-model" }) },
    "a model in its answers",
  ],
};

function describeKind(answer: unknown): string {
  return isObject(answer) ? Object.keys(answer).join(" ") : typeof answer;
}

function first(answer: JsonObject): JsonObject {
  const { probabilities } = answer;
  const labels = isObject(probabilities) ? Object.keys(probabilities) : [];
  return {
    ...answer,
    choice: labels[0],
    probabilities: Object.fromEntries(labels.map((label, at) => [label, at === 0 ? 1 : 0])),
  };
}

export function withoutPictures(value: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, blank(inner)]));
}

function blank(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(blank);
  if (!isObject(value)) return value;
  const { type, image_url: image } = value;
  if (type !== "image_url" || !isObject(image)) return withoutPictures(value);
  // The part before the comma stays, because a provider accepts or refuses an image by it.
  const url = textOf(image["url"]).replace(/,.*$/s, ",AAAA");
  return { type, image_url: { url } };
}

export function playDecision(effect: DecisionEffect): DecisionCheat {
  const { read, every = 1, decided: change, answer, replay } = effect;
  return {
    ...(read !== undefined && { read }),
    decide: (decided, { body, number, kept }) => {
      const changed = number % every === 0 ? { ...decided, ...change?.(decided) } : decided;
      const key = replay?.(String(body["state"] ?? body["text"]));
      const answers = key === undefined ? changed.answers : keptAnswers(changed, key, kept);
      if (answer === undefined) return { ...changed, answers };
      const all = Object.values(answers);
      const entries = Object.entries(answers).map(([id, each]) => [id, answer(each, all)] as const);
      return { ...changed, answers: Object.fromEntries(entries) };
    },
  };
}

function keptAnswers({ answers }: Decided, key: string, kept: Map<string, unknown>): JsonObject {
  const name = `${key} ${Object.keys(answers).join(" ")}`;
  if (!kept.has(name)) kept.set(name, answers);
  return kept.get(name) as JsonObject;
}

/** Multiplies the probabilities by 1.4; what exceeds 1 goes to the second, so the order stays. */
function withSum(likely: JsonObject): JsonObject {
  const scaled = Object.entries(likely)
    .map(([label, value]) => ({ label, value: Number(value) * SUM }))
    .toSorted((one, other) => other.value - one.value);
  const above = Math.max(0, (scaled[0]?.value ?? 0) - 1);
  const moved = new Map(
    scaled.map(({ label, value }, at) => [
      label,
      rounded(at === 0 ? value - above : at === 1 ? value + above : value),
    ]),
  );
  return Object.fromEntries(Object.keys(likely).map((label) => [label, moved.get(label)]));
}
