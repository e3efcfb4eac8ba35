import { Type, type TSchema } from "typebox";
import {
  ABSENT,
  arrayText,
  asObject,
  byType,
  closed,
  joinTokens,
  type JsonDocument,
  type JsonNode,
  type JsonText,
  objectText,
  schemaCheck,
  type SchemaCheck,
  textBytes,
  textToken,
} from "../../../kernel/index.ts";
import { isProblem, problem, type Problem, under } from "../../wire/fields/check-shape.ts";
import {
  atEntry,
  DECISION_WORDS,
  FILLED,
  plainSpellings,
  questionSpellings,
  type Entry,
  labelSchema,
  type Members,
  namedText,
  nameProblem,
  findNode,
  orNull,
  problemIn,
  readEntry,
  readMembers,
  type ReadQuestion,
  type SystemOneQuestion,
  parseValues,
} from "./question.ts";

const LEVELS_MAX = 10;

/** An instruction or criterion can be text, an object or an array: models read JSON as text. */
const CONTENT = {
  type: ["string", "object", "array"],
  minLength: 1,
  minProperties: 1,
  minItems: 1,
  description: "a non-empty string, object or array",
};

const poles = orNull(closed({ true: orNull(CONTENT), false: orNull(CONTENT) }));
const options = orNull({
  type: "object",
  propertyNames: labelSchema("option"),
  additionalProperties: { ...CONTENT, title: "option", nullable: true },
  minProperties: 2,
  maxProperties: 255,
  description: "an object by label",
});
const levels = orNull({
  type: "array",
  items: { ...CONTENT, title: "level" },
  minItems: 2,
  maxItems: LEVELS_MAX,
  description: "an array with one entry for each level",
});

/** Question types that a question can have without a `schema`. */
const flatTypes = {
  noul: { criteria: poles },
  choice: { criteria: options },
  score: { criteria: levels },
  box: {},
};
const flatFault = typeCheck(byType(flatTypes));

export const SYSTEMONE_TYPES: ReadonlySet<string> = new Set(Object.keys(flatTypes));

/** Checks a question's `schema`, whose type is one of `flatTypes` or a JSON Schema name for it. */
const schemaFault = typeCheck(schemaTypes());

/** Like `schemaCheck`, but explains to a client why the type `text` is refused. */
function typeCheck(schema: TSchema): SchemaCheck {
  const check = schemaCheck(schema, DECISION_WORDS);
  return (value) => {
    const fault = check(value);
    if (fault === undefined || asObject(value)?.["type"] !== "text") return fault;
    return { ...fault, message: `decision models do not generate text; ${fault.message}` };
  };
}

function schemaTypes(): TSchema {
  const description = orNull(FILLED);
  const labels = {
    type: "array",
    items: labelSchema("option"),
    minItems: 2,
    maxItems: 255,
    uniqueItems: true,
    description: "an array of labels",
  };
  const noul = { ...flatTypes.noul, description };
  const choice = { ...flatTypes.choice, description, values: orNull(labels) };
  const bound = orNull({ type: "integer" });
  const score = { ...flatTypes.score, description, min: bound, max: bound };
  const title = "decision models choose a label and do not generate text";
  return byType({
    noul,
    choice,
    score,
    box: { description },
    boolean: noul,
    enum: choice,
    integer: score,
    number: score,
    string: { description, enum: Type.Unsafe({ ...labels, title }) },
  });
}

type Kind = SystemOneQuestion["kind"];

const KIND_OF: ReadonlyMap<string, Kind> = new Map([
  ["boolean", "noul"],
  ["enum", "choice"],
  ["string", "choice"],
  ["integer", "score"],
  ["number", "score"],
]);

export function readSystemOneQuestion(
  doc: JsonDocument,
  entry: Entry,
): ReadQuestion<SystemOneQuestion> | Problem {
  const read = idProblem(entry) ?? readAsked(doc, entry);
  if (isProblem(read)) return atEntry(entry, read);
  const { asks, instructions, criteria } = read;
  const question: SystemOneQuestion = {
    ...asks,
    wire: "systemone",
    id: entry.id,
    instructions: instructions && parsed(instructions),
  };
  const type = textToken(asks.kind);
  return { question, entry, encoded: objectText({ type, instructions, criteria }) };
}

const ID_PATTERN = /^[A-Za-z0-9_.-]{1,100}$/;

function idProblem({ id }: Entry): Problem | undefined {
  if (ID_PATTERN.test(id)) return nameProblem(id);
  return problem("a question id is 1 to 100 of the characters A-Z a-z 0-9 _ . -");
}

function parsed(text: JsonText): unknown {
  return JSON.parse(textBytes(text).toString("utf8"));
}

type Asks = Omit<SystemOneQuestion, "wire" | "id" | "instructions">;

interface Typed {
  readonly asks: Asks;
  readonly criteria?: JsonText;
  /** True if the criteria alone can state the question; `values`, or `min` and `max`, cannot. */
  readonly hasCriteria?: boolean;
}

interface Asked extends Typed {
  readonly instructions: JsonText | undefined;
}

export const schemaMissing: Problem = problem(
  "is required: each question of this model carries a schema",
  "schema",
);

const spellings = questionSpellings("criteria", "schema");
const schemaNames = plainSpellings([
  "type",
  "description",
  "criteria",
  "values",
  "enum",
  "min",
  "max",
]);

function readAsked(doc: JsonDocument, entry: Entry): Asked | Problem {
  const members = readEntry(doc, entry, spellings);
  if (isProblem(members)) return members;
  const beside = members.get("type") ?? members.get("criteria");
  const schema = findNode(members, "schema");
  if (schema === ABSENT) {
    if (beside === undefined) return schemaMissing;
    const flat = parseValues(doc, members, "type", "criteria");
    const fault = flatFault(flat);
    if (fault !== undefined) return problemIn(members, fault);
    const typed = readTyped(doc, members, flat);
    return isProblem(typed) ? typed : withInstructions(doc, members, typed, ABSENT);
  }
  if (beside !== undefined) return problem("belongs in the schema; move it there", beside.sent);
  if (!doc.isObject(schema)) return problem("must be an object", "schema");
  const own = readMembers(doc, schema, schemaNames);
  if (isProblem(own)) return under("schema", own);
  const value = parseValues(doc, own);
  const fault = schemaFault(value);
  if (fault !== undefined) return under("schema", problem(fault.message, ...fault.path));
  const typed = readTyped(doc, own, value);
  if (isProblem(typed)) return under("schema", typed);
  return withInstructions(doc, members, typed, findNode(own, "description"));
}

/** True for a non-empty string, object or array. It is not parsed: it can be a megabyte long. */
function isContent(doc: JsonDocument, node: JsonNode): boolean {
  if (doc.isString(node)) return doc.end(node) - doc.start(node) > '""'.length;
  return (doc.isObject(node) || doc.isArray(node)) && doc.count(node) > 1;
}

/** Joins instructions and schema description. Without criteria, one of the two is required. */
function withInstructions(
  doc: JsonDocument,
  members: Members,
  typed: Typed,
  description: JsonNode,
): Asked | Problem {
  const sent = findNode(members, "instructions");
  if (sent !== ABSENT && !isContent(doc, sent)) {
    const message = `must be ${CONTENT.description}`;
    return problemIn(members, { path: ["instructions"], message });
  }
  const parts = [sent, description].filter((part) => part !== ABSENT);
  const [first, ...more] = parts.map((part) => doc.raw(part));
  if (first === undefined && typed.hasCriteria !== true) {
    return problem("required: what to decide about the state", "instructions");
  }
  if (first === undefined || more.length === 0) return { ...typed, instructions: first };
  const isText = parts.every((part) => doc.isString(part));
  const folded = isText ? joinTokens([first, ...more], "\\n\\n") : arrayText([first, ...more]);
  return { ...typed, instructions: folded };
}

interface TypedFields {
  readonly type: string;
  readonly criteria?: object | null;
  readonly values?: readonly string[] | null;
  readonly enum?: readonly string[];
  readonly min?: number | null;
  readonly max?: number | null;
}

/** Refuses combinations of fields that the question's schema check cannot express. */
function readTyped(
  doc: JsonDocument,
  members: Members,
  fields: Readonly<Record<string, unknown>>,
): Typed | Problem {
  const { type: asked, criteria, values, enum: named, min, max } = fields as unknown as TypedFields;
  const kind = KIND_OF.get(asked) ?? (asked as Kind);
  const listed = values ?? named;
  if (criteria) {
    if (listed) return problem("criteria already names the labels; send one of them", "values");
    const bound = ["min", "max"].find((name) => (fields[name] ?? null) !== null);
    if (bound !== undefined) {
      return problem("criteria already lists the levels; send one of them", bound);
    }
    const node = findNode(members, "criteria");
    const labels = kind === "choice" && { labels: doc.keys(node).map((key) => doc.text(key)) };
    const hasCriteria = kind !== "noul" || Object.values(criteria).some((pole) => pole !== null);
    const asks = { kind, asked, criteria, ...labels };
    return { asks, criteria: doc.raw(node), hasCriteria };
  }
  if (listed) {
    const text = namedText(listed.map((label) => [label, "null" as JsonText]));
    return { asks: { kind, asked, criteria: parsed(text), labels: listed }, criteria: text };
  }
  if (kind === "choice") return problem("required: the options to choose from", "criteria");
  if (kind === "score") return toRange(asked, min ?? undefined, max ?? undefined);
  return { asks: { kind, asked, criteria: undefined } };
}

function toRange(asked: string, min: number | undefined, max: number | undefined): Typed | Problem {
  if (min === undefined && max === undefined) {
    return problem("required: the levels, or min and max", "criteria");
  }
  if (min === undefined) return problem("required beside max", "min");
  if (max === undefined) return problem("required beside min", "max");
  const span = max - min;
  const isExact = Number.isSafeInteger(min) && Number.isSafeInteger(max);
  if (!isExact || span < 1 || span >= LEVELS_MAX) {
    return problem(`must be min plus 1 to ${LEVELS_MAX - 1}`, "max");
  }
  const criteria = Array.from({ length: span + 1 }, (_, level) => String(min + level));
  const asks = { kind: "score", asked, criteria, scoreFrom: min } as const;
  return { asks, criteria: arrayText(criteria.map(textToken)) };
}
