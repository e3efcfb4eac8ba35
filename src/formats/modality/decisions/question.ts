import { type TSchema, Type } from "typebox";

import {
  ABSENT,
  type JsonDocument,
  type JsonNode,
  type JsonText,
  NOT_BLANK,
  pathText,
  type SchemaFault,
  textToken,
} from "../../../kernel/index.ts";
import { isProblem, type Problem, problem } from "../../wire/fields/check-shape.ts";

export type Question = SystemOneQuestion | GlinerQuestion;

export interface SystemOneQuestion {
  readonly wire: "systemone";
  readonly id: string;
  readonly kind: "noul" | "choice" | "score" | "box";
  /** The type as the client wrote it, such as `boolean` for `noul` or `integer` for `score`. */
  readonly asked: string;
  /** The instructions, followed by the schema's description; undefined if both are absent. */
  readonly instructions: unknown;
  /**
   * For `noul`, an object with "true" and "false"; for `choice`, an object by label; for `score`, a
   * list of levels.
   */
  readonly criteria: unknown;
  /** Only a `choice` has labels. */
  readonly labels?: readonly string[];
  /** The value of level 0 of a score; only set if the client sent `min` and `max`. */
  readonly scoreFrom?: number;
}

export interface GlinerQuestion {
  readonly wire: "gliner";
  readonly id: string;
  readonly kind: "classification" | "entities" | "relations" | "structure";
  /**
   * The key of the result in the provider's answer, unique in a request. If the client gave no
   * name, it is `entities`, `relation_extraction`, or for other kinds the question's id.
   */
  readonly resultName: string;
  /**
   * The client's values by canonical field name, without the question's own name. A `boolean` has
   * no `labels`, because its labels are fixed.
   */
  readonly body: Readonly<Record<string, unknown>>;
}

export type Grammar = Question["wire"];

export interface Entry {
  /** The key or name that the client chose; else `q1`, `q2`, … by place, or a fixed name. */
  readonly id: string;
  readonly isNamed: boolean;
  readonly isInArray: boolean;
  readonly path: readonly (string | number)[];
  readonly node: JsonNode;
}

export interface ReadQuestion<Q extends Question = Question> {
  readonly question: Q;
  readonly entry: Entry;
  /** The question in the provider's public API format; no digit of a number is lost. */
  readonly encoded: JsonText;
}

export function atEntry({ path }: Entry, found: Problem): Problem {
  return problem(found.message, ...path, ...found.path);
}

/** Reads the members of a question, except `name` and `id`, which only array entries have. */
export function readEntry(
  doc: JsonDocument,
  { node, isInArray }: Entry,
  names: Spellings,
): Members | Problem {
  if (!isInArray) return readMembers(doc, node, names);
  const members = readMembers(doc, node, new Map([...names, ["name", "name"], ["id", "id"]]));
  if (isProblem(members)) return members;
  return new Map([...members].filter(([name]) => names.has(name)));
}

export function nameProblem(name: string): Problem | undefined {
  if (name.trim() === "") return problem("must not be blank");
  // `__proto__` is refused, because some JSON parsers set an object's prototype from it.
  return name === "__proto__" ? problem("is not accepted as a name") : undefined;
}

export function labelSchema(noun?: string): TSchema {
  return Type.Unsafe({
    type: "string",
    pattern: NOT_BLANK,
    not: { const: "__proto__" },
    description: "a string",
    title: noun,
  });
}

export function orNull(schema: object): TSchema {
  return Type.Optional(Type.Unsafe({ ...schema, nullable: true }));
}

export function namedText(members: Iterable<readonly [string, JsonText]>): JsonText {
  const parts = Array.from(members, ([name, value]) => `${textToken(name)}:${value}`);
  return `{${parts.join(",")}}` as JsonText;
}

/** The places, counted from 1, of the first two equal names; undefined if all differ. */
export function duplicate(names: readonly string[]): readonly [number, number] | undefined {
  const seen = new Map<string, number>();
  for (const [index, name] of names.entries()) {
    const first = seen.get(name);
    if (first !== undefined) return [first + 1, index + 1];
    seen.set(name, index);
  }
  return undefined;
}

/** The value of a member, and the name under which the client sent it. */
export interface Member {
  readonly sent: string;
  readonly node: JsonNode;
}

/** Maps a member's canonical name to the member. Members that are null are left out. */
export type Members = ReadonlyMap<string, Member>;

/** Maps every accepted name to its canonical name, such as `kind` to `type`. */
export type Spellings = ReadonlyMap<string, string>;

export function plainSpellings(names: readonly string[]): Spellings {
  return new Map(names.map((name) => [name, name]));
}

/** The accepted spellings of a question's members: those common to both grammars, and `own`. */
export function questionSpellings(...own: readonly string[]): Spellings {
  return new Map([
    ...plainSpellings(["type", "instructions", ...own]),
    ["kind", "type"],
    ...["question", "prompt", "text"].map((name) => [name, "instructions"] as const),
  ]);
}

export const TEXT = { type: "string", description: "a string" };
export const FILLED = { type: "string", minLength: 1, description: "a non-empty string" };

export const DECISION_WORDS = {
  missing: "required",
  unknown: "this model does not accept this field",
};

/** Reads an object. Refuses names that are not in `names`, and two names for one member. */
export function readMembers(
  doc: JsonDocument,
  object: JsonNode,
  names: Spellings,
): Members | Problem {
  const members = new Map<string, Member>();
  for (const key of doc.keys(object)) {
    const sent = doc.text(key);
    const first = names.get(sent);
    if (first === undefined) return problem(DECISION_WORDS.unknown, sent);
    const node = doc.valueOf(key);
    if (doc.isNull(node)) continue;
    const other = members.get(first);
    if (other !== undefined) return problem(`the same as ${other.sent}; send one of them`, sent);
    members.set(first, { sent, node });
  }
  return members;
}

/** Like `readMembers`, but accepts any name. */
export function indexMembers(doc: JsonDocument, object: JsonNode): Members {
  const members = new Map<string, Member>();
  for (const key of doc.keys(object)) {
    const node = doc.valueOf(key);
    if (!doc.isNull(node)) members.set(doc.text(key), { sent: doc.text(key), node });
  }
  return members;
}

/** Parses the named members, or all if none is named. The result has canonical names. */
export function parseValues(
  doc: JsonDocument,
  members: Members,
  ...names: readonly string[]
): Readonly<Record<string, unknown>> {
  const asked = names.length === 0 ? [...members.keys()] : names;
  return Object.fromEntries(
    asked.flatMap((name) => {
      const member = members.get(name);
      return member === undefined ? [] : [[name, doc.value(member.node)]];
    }),
  );
}

/** Names the member in the problem's path by the spelling that the client sent. */
export function problemIn(members: Members, { path, message }: SchemaFault): Problem {
  const [first = "", ...rest] = path;
  const sent = members.get(String(first))?.sent ?? first;
  return problem(message, ...(sent === "" ? [] : [sent]), ...rest);
}

export function findNode(members: Members, name: string): JsonNode {
  return members.get(name)?.node ?? ABSENT;
}

/** Writes a problem as a sentence, such as `questions.team: 1 option, at least 2 needed`. */
export function toSentence({ path, message }: Problem): string {
  const glue = /^(?:is|must) /.test(message) ? " " : ": ";
  return pathText(path) + glue + message;
}

export function quoted(name: string): string {
  return JSON.stringify(name.slice(0, 64));
}
