import { Type } from "typebox";

import { conforms, textOf, unreachable } from "../../../kernel/index.ts";
import { isAbsent, isObject, pickStrings, type JsonObject } from "../json.ts";
import {
  any,
  anything,
  be,
  fields,
  listOf,
  mapOf,
  tagged,
  text,
  type Complaint,
} from "../shape.ts";
import type { SimError } from "../sim-error.ts";
import {
  chance,
  chances,
  collectImageParts,
  namedChance,
  rounded,
  toOrder,
  type Asked,
  type DecisionOrder,
} from "./decision-order.ts";

interface SystemoneQuestion {
  readonly id: string;
  readonly kind: "noul" | "choice" | "score" | "box";
  readonly labels: readonly string[];
  /** The levels of a score question, lowest first. */
  readonly levels: readonly unknown[];
  readonly words: string;
}

type SystemoneReading = SimError | DecisionOrder<SystemoneQuestion>;

const STATE = be(
  "text, an object or an array",
  conforms(Type.Unsafe({ type: ["string", "object", "array"], minLength: 1 })),
);
const WORDS = {
  type: anything,
  instructions: be("words", (value) => Object.keys(Object(value) as object).length > 0),
};
const QUESTION = tagged("type", {
  noul: fields({ ...WORDS, criteria: fields(any("true false")) }),
  choice: fields({ ...WORDS, "criteria!": mapOf(anything, 2, 255) }),
  score: fields({ ...WORDS, "criteria!": listOf(anything, 2, 10) }),
  box: fields(WORDS),
});
const BODY = fields({
  model: text,
  "state!": STATE,
  "questions!": mapOf(questionComplaint, 1, 128),
});

/** Reads a request in the provider's public format. Refuses fields that this format lacks. */
export function readPublicSystemone(body: JsonObject): SystemoneReading {
  const { state, questions } = body;
  const entries = Object.entries(isObject(questions) ? questions : {});
  const hasImage = collectImageParts(state).length > 0;
  const blind = entries.find(([, raw]) => isObject(raw) && raw["type"] === "box" && !hasImage);
  const complaint =
    BODY(body, "") ?? (blind && `questions.${blind[0]}: a box needs an image in state`);
  if (complaint !== undefined) return unprocessable(complaint);
  return toOrder(
    body,
    state,
    entries.map(([id, raw]) => [publicQuestion(id, raw), raw]),
  );
}

function questionComplaint(question: unknown, path: string): Complaint {
  if (!/^questions\.[\w.-]{1,100}$/.test(path)) return `${path}: not a name`;
  const isEmpty =
    isObject(question) && isAbsent(question["instructions"]) && isAbsent(question["criteria"]);
  return isEmpty ? `${path}.instructions: Field required` : QUESTION(question, path);
}

/** Reads a request in the marketplace's format. Ignores fields that this format lacks. */
export function readSentSystemone(body: JsonObject): SystemoneReading {
  const { state, questions } = body;
  const entries = listEntries(questions);
  const complaint = fields({ "state!": STATE }, anything)(body, "") ?? namesComplaint(entries);
  if (complaint !== undefined) return unprocessable(complaint);
  const read = entries.map(([id, raw]) => [sentQuestion(id, raw), raw] as const);
  const good = read.flatMap(([question, raw]) =>
    question === undefined ? [] : [[question, raw] as const],
  );
  if (good.length < read.length) return unprocessable("questions: a type that is not known");
  return toOrder(body, state, good);
}

/** In a list, a question without a name gets its number as its name, such as `q1`. */
export function listEntries(questions: unknown): readonly (readonly [string, JsonObject])[] {
  if (Array.isArray(questions)) {
    return questions.filter(isObject).map((question, at) => {
      const name = textOf(question["name"]) || textOf(question["id"]);
      return [name || `q${at + 1}`, question];
    });
  }
  return isObject(questions)
    ? Object.entries(questions).flatMap(([id, raw]) => (isObject(raw) ? [[id, raw] as const] : []))
    : [];
}

export function namesComplaint(
  entries: readonly (readonly [string, unknown])[],
): string | undefined {
  const names = entries.map(([name]) => name);
  if (names.length === 0) return "questions: required";
  const twice = names.find((name, at) => names.indexOf(name) !== at);
  return twice === undefined ? undefined : `questions: two are named ${twice}`;
}

export function unprocessable(message: string): SimError {
  return { status: 422, message, code: "validation_error" };
}

function publicQuestion(id: string, raw: unknown): SystemoneQuestion {
  const { type, instructions, criteria } = isObject(raw) ? raw : {};
  return {
    id,
    kind: type === "choice" || type === "score" || type === "box" ? type : "noul",
    labels: isObject(criteria) ? Object.keys(criteria) : [],
    levels: Array.isArray(criteria) ? criteria : [],
    words: JSON.stringify([type, instructions, criteria]),
  };
}

type Kind = SystemoneQuestion["kind"];

const KIND_OF_TYPE: Readonly<Record<string, Kind>> = {
  noul: "noul",
  boolean: "noul",
  choice: "choice",
  enum: "choice",
  string: "choice",
  score: "score",
  integer: "score",
  number: "score",
  box: "box",
};

function sentQuestion(id: string, raw: JsonObject): SystemoneQuestion | undefined {
  const schema = isObject(raw["schema"]) ? raw["schema"] : raw;
  const kind = KIND_OF_TYPE[textOf(schema["type"])];
  if (kind === undefined) return undefined;
  const { criteria, min, max } = schema;
  const named = isObject(criteria) ? Object.keys(criteria) : [];
  const from = Number(min);
  const span = Number(max) - from + 1;
  const numbered = span >= 2 ? Array.from({ length: span }, (_level, at) => from + at) : [0, 1];
  return {
    id,
    kind,
    labels: [...named, ...pickStrings(schema["values"]), ...pickStrings(schema["enum"])],
    levels: Array.isArray(criteria) ? criteria : numbered,
    words: JSON.stringify(raw),
  };
}

export function systemoneAnswers(order: DecisionOrder<SystemoneQuestion>): JsonObject {
  const { questions, stateText } = order;
  return Object.fromEntries(
    questions.map((question) => {
      const asked = { stateText, words: question.words };
      return [question.id, { type: question.kind, ...answerTo(question, asked) }];
    }),
  );
}

function answerTo(question: SystemoneQuestion, asked: Asked): JsonObject {
  switch (question.kind) {
    case "noul":
      return { noul: namedChance(asked) ?? chance(asked) };
    case "choice":
      return answerChoice(question.labels, asked);
    case "score":
      return answerScore(question.levels, asked);
    case "box":
      return answerBox(asked);
    default:
      return unreachable(question.kind);
  }
}

function answerChoice(labels: readonly string[], asked: Asked): JsonObject {
  const likely = chances(asked, labels);
  const highest = Math.max(...likely);
  const others = likely.filter((_each, at) => at !== likely.indexOf(highest));
  return {
    choice: labels[likely.indexOf(highest)],
    confidence: rounded(highest - Math.max(0, ...others)),
    probabilities: Object.fromEntries(labels.map((label, at) => [label, likely[at]])),
  };
}

function answerScore(levels: readonly unknown[], asked: Asked): JsonObject {
  const names = levels.map(String);
  const likely = chances(asked, names);
  const score = likely.reduce((sum, each, at) => sum + each * at, 0);
  return {
    score: Math.min(levels.length - 1, rounded(score)),
    confidence: Math.max(...likely),
    legend: Object.fromEntries(levels.map((level, at) => [String(at), level])),
    probabilities: Object.fromEntries(likely.map((each, at) => [String(at), each])),
  };
}

function answerBox(asked: Asked): JsonObject {
  const top = rounded(chance(asked, "top") / 2);
  const left = rounded(chance(asked, "left") / 2);
  return {
    top,
    bottom: rounded(top + 0.25),
    left,
    right: rounded(left + 0.25),
    confidence: chance(asked, "confidence"),
  };
}
