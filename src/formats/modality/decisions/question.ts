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

/** The typed answer that a question asks for, in one form whatever the grammar was. */
export type Question = SystemOneQuestion | GlinerQuestion;

export interface SystemOneQuestion {
  readonly wire: "systemone";
  readonly id: string;
  readonly kind: "noul" | "choice" | "score" | "box";
  /** The type as the buyer spelled it: `boolean` for a noul, `integer` for a score, … */
  readonly asked: string;
  /**
   * The instructions as sent, followed by the schema's description; undefined if the criteria are
   * enough.
   */
  readonly instructions: unknown;
  /**
   * For noul by "true" and "false", for choice by label, for score one for each level. Undefined if
   * there are none.
   */
  readonly criteria: unknown;
  /** The labels of a `choice`, in order. */
  readonly labels?: readonly string[];
  /** The value of level 0, for an integer or a number with min and max. */
  readonly scoreFrom?: number;
}

export interface GlinerQuestion {
  readonly wire: "gliner";
  readonly id: string;
  readonly kind: "classification" | "entities" | "relations" | "structure";
  /**
   * Under which the provider answers: unique in a request. In the public form of the wire all
   * entities are answered under `entities` and all relations under `relation_extraction`.
   */
  readonly resultName: string;
  /**
   * The values as sent, without its name and under the first names of its fields: `type` (of a
   * `boolean` that word, and no labels: they are `yes` and `no`), `labels`, `multi_label`,
   * `threshold`, `top_k`, `instructions`, `examples`, `fields`.
   */
  readonly body: Readonly<Record<string, unknown>>;
}

export type Grammar = Question["wire"];

/** One question as it is in its container, whatever grammar it is written in. */
export interface Entry {
  /** Its key, its name, or `q1`, `q2`, … by its place in an array. */
  readonly id: string;
  /** True if the buyer chose the name. */
  readonly isNamed: boolean;
  readonly isInArray: boolean;
  readonly path: readonly (string | number)[];
  readonly node: JsonNode;
}

/** A question that was read, and what it is in the public form of its wire. */
export interface ReadQuestion<Q extends Question = Question> {
  readonly question: Q;
  readonly entry: Entry;
  /** The bytes as sent, rearranged: no number or escape changes on the way. */
  readonly encoded: JsonText;
}

/** A problem inside a question, seen from the body. */
export function atEntry({ path }: Entry, found: Problem): Problem {
  return problem(found.message, ...path, ...found.path);
}

/** The members of a question but for its name, which items of an array bring. */
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

/** Why a name cannot be a key of an answer. */
export function nameProblem(name: string): Problem | undefined {
  if (name.trim() === "") return problem("must not be blank");
  // As a key it would be refused: some parsers act on it.
  return name === "__proto__" ? problem("is not accepted as a name") : undefined;
}

/** The schema of labels; `noun` is used to count them. */
export function labelSchema(noun?: string): TSchema {
  return Type.Unsafe({
    type: "string",
    pattern: NOT_BLANK,
    not: { const: "__proto__" },
    description: "a string",
    title: noun,
  });
}

/** A member that may be null, which is the same as absent. */
export function orNull(schema: object): TSchema {
  return Type.Optional(Type.Unsafe({ ...schema, nullable: true }));
}

/** A JSON object of these members, whose names may be any text. */
export function namedText(members: Iterable<readonly [string, JsonText]>): JsonText {
  const parts = Array.from(members, ([name, value]) => `${textToken(name)}:${value}`);
  return `{${parts.join(",")}}` as JsonText;
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

/** One member of an object: the name it was sent under, and its value. */
export interface Member {
  readonly sent: string;
  readonly node: JsonNode;
}

/** The members of an object by the first name of each; those that are null are left out. */
export type Members = ReadonlyMap<string, Member>;

/** Every name that an object takes, with the first name of the same thing: `kind` is `type`. */
export type Spellings = ReadonlyMap<string, string>;

/** How these bodies speak of their fields. */
export const DECISION_WORDS = {
  missing: "required",
  unknown: "this model does not accept this field",
};

/** Reads an object whose set of names is closed; a thing that is sent under two names is refused. */
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

/** The members of an object of any names. */
export function indexMembers(doc: JsonDocument, object: JsonNode): Members {
  const members = new Map<string, Member>();
  for (const key of doc.keys(object)) {
    const node = doc.valueOf(key);
    if (!doc.isNull(node)) members.set(doc.text(key), { sent: doc.text(key), node });
  }
  return members;
}

/** These members parsed, by their first names. */
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

/** The problems that a schema finds with members, at the names that they were sent under. */
export function problemIn(members: Members, { path, message }: SchemaFault): Problem {
  const [first, ...rest] = path;
  const sent = typeof first === "string" ? (members.get(first)?.sent ?? first) : first;
  return problem(message, ...(sent === undefined || sent === "" ? [] : [sent]), ...rest);
}

/** The value of a member; `ABSENT` for one that is null or not there. */
export function findNode(members: Members, name: string): JsonNode {
  return members.get(name)?.node ?? ABSENT;
}

/** `questions.team.schema.criteria: 1 option, at least 2 needed`: the place, then what is wrong. */
export function toSentence({ path, message }: Problem): string {
  const glue = /^(?:is|must) /.test(message) ? " " : ": ";
  return pathText(path) + glue + message;
}

/** A name in a message: quoted, and cut where it is longer than a name should be. */
export function quoted(name: string): string {
  return JSON.stringify(name.slice(0, 64));
}
