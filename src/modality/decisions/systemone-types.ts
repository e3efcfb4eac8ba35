import {
  arrayText,
  type JsonDocument,
  type JsonNode,
  type JsonText,
  textToken,
} from "../../json/index.ts";
import { isInteger, problem, type Problem, under } from "../../wire/index.ts";
import {
  checkMember,
  isProblem,
  type Member,
  type Members,
  readMembers,
  spellings,
} from "./members.ts";
import type { Question } from "./question.ts";
import { isContent, namedText, readLabels, countProblem, labelProblem } from "./read-question.ts";

export type SystemOneQuestion = Extract<Question, { readonly wire: "systemone" }>;

/** What the type of a question and its members come to in the public form. */
export interface Typed {
  readonly asked: string;
  readonly kind: SystemOneQuestion["kind"];
  readonly criteria?: JsonText;
  readonly labels?: readonly string[];
  readonly scoreFrom?: number;
  /** Did the buyer write criteria? They may say it all; labels and numbers alone ask nothing. */
  readonly hasCriteria: boolean;
}

/** Reads the type and what belongs to it; `types` are those that may be asked for here. */
export function readTyped(doc: JsonDocument, members: Members, types: TypeRules): Typed | Problem {
  const type = members.get("type");
  if (type === undefined) return problem(`required: one of ${namesOf(types)}`, "type");
  const asked = doc.isString(type.node) ? doc.text(type.node) : "";
  const rule = types.get(asked);
  if (rule === undefined) return problem(typeProblem(asked, types), type.sent);
  for (const name of TYPE_FIELDS) {
    const member = members.get(name);
    if (member !== undefined && !rule.takes.includes(name)) {
      return problem(`the type ${asked} does not accept this field`, member.sent);
    }
  }
  const typed = rule.read(doc, members);
  return isProblem(typed) ? typed : { asked, hasCriteria: false, ...typed };
}

interface TypeRule {
  /** Which of the type fields it takes. */
  readonly takes: readonly string[];
  readonly read: (doc: JsonDocument, members: Members) => Reading;
}

export type TypeRules = ReadonlyMap<string, TypeRule>;
type Reading = (Omit<Typed, "asked" | "hasCriteria"> & { readonly hasCriteria?: true }) | Problem;

const TYPE_FIELDS = ["criteria", "values", "enum", "min", "max"];

const noul: TypeRule = { takes: ["criteria"], read: readNoul };
const choice: TypeRule = { takes: ["criteria", "values"], read: readChoice };
const score: TypeRule = { takes: ["criteria", "min", "max"], read: readScore };
const box: TypeRule = { takes: [], read: () => ({ kind: "box" }) };

/** The types of the public wire, which may stand in the question itself. */
export const flatTypes: TypeRules = new Map([
  ["noul", noul],
  ["choice", choice],
  ["score", score],
  ["box", box],
]);

/** What a schema may ask for: these, and the same things as JSON Schema calls them. */
export const schemaTypes: TypeRules = new Map([
  ...flatTypes,
  ["boolean", noul],
  ["enum", choice],
  ["integer", score],
  ["number", score],
  ["string", { takes: ["enum"], read: readTextEnum }],
]);

function namesOf(types: TypeRules): string {
  return [...types.keys()].join(", ");
}

function typeProblem(asked: string, types: TypeRules): string {
  const known = `use one of ${namesOf(types)}`;
  return asked === "text" ? `decision models do not generate text; ${known}` : known;
}

function readNoul(doc: JsonDocument, members: Members): Reading {
  const criteria = members.get("criteria");
  if (criteria === undefined) return { kind: "noul" };
  const poles = readMembers(doc, criteria.node, poleNames);
  if (isProblem(poles)) return under(criteria.sent, poles);
  for (const pole of poleNames.keys()) {
    const found = checkMember(poles, pole, (node) => isContent(doc, node));
    if (found !== undefined) return under(criteria.sent, found);
  }
  const says = poles.size > 0 && ({ hasCriteria: true } as const);
  return { kind: "noul", criteria: doc.raw(criteria.node), ...says };
}

const poleNames = spellings({ true: "true", false: "false" });

function readChoice(doc: JsonDocument, members: Members): Reading {
  const criteria = members.get("criteria");
  const values = members.get("values");
  if (criteria !== undefined && values !== undefined) {
    return problem("criteria already names the labels; send one of them", values.sent);
  }
  if (values !== undefined) return choiceOf(doc, values);
  if (criteria === undefined) return problem("required: the options to choose from", "criteria");
  const labels = readOptions(doc, criteria.node);
  if (isProblem(labels)) return under(criteria.sent, labels);
  return { kind: "choice", criteria: doc.raw(criteria.node), labels, hasCriteria: true };
}

function readOptions(doc: JsonDocument, criteria: JsonNode): readonly string[] | Problem {
  if (!doc.isObject(criteria)) return problem("must be an object by label");
  const labels: string[] = [];
  for (const key of doc.keys(criteria)) {
    const label = doc.text(key);
    const value = doc.valueOf(key);
    const found = labelProblem(label) ?? (doc.isNull(value) ? undefined : isContent(doc, value));
    if (found !== undefined) return under(label, found);
    labels.push(label);
  }
  return countProblem(labels.length, optionBounds) ?? labels;
}

const optionBounds = { min: 2, max: 255, noun: "option" };
const levelBounds = { min: 2, max: 10, noun: "level" };

/** The spelling of JSON Schema. */
function readTextEnum(doc: JsonDocument, members: Members): Reading {
  const labels = members.get("enum");
  if (labels !== undefined) return choiceOf(doc, labels);
  return problem(
    "required for a string: decision models choose a label and do not generate text",
    "enum",
  );
}

/** A list of labels is a choice whose options have no description. */
function choiceOf(doc: JsonDocument, { sent, node }: Member): Reading {
  const labels = readLabels(doc, node);
  if (isProblem(labels)) return under(sent, labels);
  const found = countProblem(labels.length, optionBounds);
  if (found !== undefined) return under(sent, found);
  const criteria = namedText(labels.map((label) => [label, "null" as JsonText]));
  return { kind: "choice", criteria, labels };
}

function readScore(doc: JsonDocument, members: Members): Reading {
  const criteria = members.get("criteria");
  if (criteria === undefined) return readRange(doc, members);
  const bound = members.get("min") ?? members.get("max");
  if (bound !== undefined) {
    return problem("criteria already lists the levels; send one of them", bound.sent);
  }
  const found = levelsProblem(doc, criteria.node);
  if (found !== undefined) return under(criteria.sent, found);
  return { kind: "score", criteria: doc.raw(criteria.node), hasCriteria: true };
}

function levelsProblem(doc: JsonDocument, criteria: JsonNode): Problem | undefined {
  if (!doc.isArray(criteria)) return problem("must be an array with one entry for each level");
  const levels = doc.items(criteria);
  for (const [index, level] of levels.entries()) {
    const found = isContent(doc, level);
    if (found !== undefined) return under(index, found);
  }
  return countProblem(levels.length, levelBounds);
}

/** Levels that are named by the whole numbers from `min` to `max`. */
function readRange(doc: JsonDocument, members: Members): Reading {
  const min = members.get("min");
  const max = members.get("max");
  if (min === undefined && max === undefined) {
    return problem("required: the levels, or min and max", "criteria");
  }
  if (min === undefined) return problem("required beside max", "min");
  if (max === undefined) return problem("required beside min", "max");
  for (const { sent, node } of [min, max]) {
    const found = isInteger(doc, node);
    if (found !== undefined) return under(sent, found);
  }
  const from = doc.number(min.node);
  const span = doc.number(max.node) - from;
  const isExact = Number.isSafeInteger(from) && Number.isSafeInteger(from + span);
  if (!isExact || span < 1 || span >= levelBounds.max) {
    return problem(`must be min plus 1 to ${levelBounds.max - 1}`, max.sent);
  }
  const levels = Array.from({ length: span + 1 }, (_, level) => textToken(String(from + level)));
  return { kind: "score", criteria: arrayText(levels), scoreFrom: from };
}
