import { isAbsent, isObject, stringsOf, textOf, wordSet, type JsonObject } from "../json.ts";
import type { SimError } from "../sim-error.ts";
import { imagePartsOf, orderOf, type DecisionOrder } from "./decision-order.ts";

/** One typed question about a state. */
export interface SystemoneQuestion {
  readonly id: string;
  readonly kind: "noul" | "choice" | "score" | "box";
  /** Of a choice. */
  readonly labels: readonly string[];
  /** Of a score, lowest first. */
  readonly levels: readonly unknown[];
  readonly words: string;
}

/** What is wrong with a request, or what it asks for. */
export type SystemoneReading = SimError | DecisionOrder<SystemoneQuestion>;

const BODY_KEYS = wordSet("model state questions");
const QUESTION_KEYS = wordSet("type instructions criteria");
const KINDS = wordSet("noul choice score box");
const QUESTIONS_MAX = 128;
const LABELS_MAX = 255;
const LEVELS_MAX = 10;

/** The public form, and nothing beside it. */
export function readPublicSystemone(body: JsonObject): SystemoneReading {
  const extra = Object.keys(body).find((key) => !BODY_KEYS.has(key));
  if (extra !== undefined) return unprocessable(`${extra}: extra fields are not permitted`);
  const { state, questions } = body;
  const stateProblem = stateComplaint(state);
  if (stateProblem !== undefined) return unprocessable(stateProblem);
  if (!isObject(questions)) return unprocessable("questions: expected an object");
  const entries = Object.entries(questions);
  if (entries.length < 1 || entries.length > QUESTIONS_MAX) {
    return unprocessable(`questions: expected 1 to ${QUESTIONS_MAX}, got ${entries.length}`);
  }
  const hasImage = imagePartsOf(state).length > 0;
  const complaint = entries
    .map(([id, question]) => questionComplaint(id, question, hasImage))
    .find((found) => found !== undefined);
  if (complaint !== undefined) return unprocessable(complaint);
  const read = entries.map(([id, raw]) => [publicQuestion(id, raw), raw] as const);
  return orderOf(body, state, read);
}

/** The marketplace's grammar, taken as it comes: unknown fields are ignored. */
export function readSentSystemone(body: JsonObject): SystemoneReading {
  const { state, questions } = body;
  const stateProblem = stateComplaint(state);
  if (stateProblem !== undefined) return unprocessable(stateProblem);
  const entries = entriesOf(questions);
  const complaint = namesComplaint(entries);
  if (complaint !== undefined) return unprocessable(complaint);
  const read = entries.map(([id, raw]) => [sentQuestion(id, raw), raw] as const);
  const good = read.flatMap(([question, raw]) =>
    question === undefined ? [] : [[question, raw] as const],
  );
  if (good.length < read.length) return unprocessable("questions: a type that is not known");
  return orderOf(body, state, good);
}

/** Named questions, be they an object or a list; those without a name are counted. */
export function entriesOf(questions: unknown): readonly (readonly [string, JsonObject])[] {
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

/** Without a question there is nothing to do, and of two with one name one would be lost. */
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

function stateComplaint(state: unknown): string | undefined {
  const isState = (typeof state === "string" && state !== "") || typeof state === "object";
  return isState && !isAbsent(state) ? undefined : "state: expected text, an object or an array";
}

function questionComplaint(id: string, question: unknown, hasImage: boolean): string | undefined {
  const at = `questions.${id}`;
  if (!/^[\w.-]{1,100}$/.test(id)) return `${at}: not a name`;
  if (!isObject(question)) return `${at}: expected an object`;
  const extra = Object.keys(question).find((key) => !QUESTION_KEYS.has(key));
  if (extra !== undefined) return `${at}.${extra}: extra fields are not permitted`;
  const { type, instructions, criteria } = question;
  if (typeof type !== "string" || !KINDS.has(type)) return `${at}.type: ${String(type)}`;
  if (isAbsent(instructions) ? isAbsent(criteria) : !isWording(instructions)) {
    return `${at}.instructions: required`;
  }
  switch (type) {
    case "noul":
      return isAbsent(criteria) || isNoulCriteria(criteria) ? undefined : `${at}.criteria`;
    case "choice": {
      const count = isObject(criteria) ? Object.keys(criteria).length : 0;
      return count >= 2 && count <= LABELS_MAX ? undefined : `${at}.criteria: ${count} options`;
    }
    case "score": {
      const count = Array.isArray(criteria) ? criteria.length : 0;
      return count >= 2 && count <= LEVELS_MAX ? undefined : `${at}.criteria: ${count} levels`;
    }
    default:
      if (!isAbsent(criteria)) return `${at}.criteria: a box has none`;
      return hasImage ? undefined : `${at}: a box needs an image in state`;
  }
}

function isNoulCriteria(criteria: unknown): boolean {
  return isObject(criteria) && Object.keys(criteria).every((key) => /^(true|false)$/.test(key));
}

function isWording(value: unknown): boolean {
  if (typeof value === "string") return value !== "";
  return typeof value === "object" && value !== null && Object.keys(value).length > 0;
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
    labels: [...named, ...stringsOf(schema["values"]), ...stringsOf(schema["enum"])],
    levels: Array.isArray(criteria) ? criteria : numbered,
    words: JSON.stringify(raw),
  };
}
