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

/** A question, in one form for both grammars. */
export type Question = SystemOneQuestion | GlinerQuestion;

export interface SystemOneQuestion {
  readonly wire: "systemone";
  readonly id: string;
  readonly kind: "noul" | "choice" | "score" | "box";
  /** The type as the buyer spelled it: `boolean` for a noul, `integer` for a score, … */
  readonly asked: string;
  /** The instructions as sent, then the schema's description; undefined if criteria suffice. */
  readonly instructions: unknown;
  /** For noul by "true" and "false", for choice by label, for score by level; undefined: none. */
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
   * The key of the provider's answer, unique in a request. In the public form of the wire, all
   * entities are under `entities` and all relations under `relation_extraction`.
   */
  readonly resultName: string;
  /**
   * The values as sent, by the canonical names of their fields and without the question's name:
   * `type` (a `boolean` has no labels, they are `yes` and `no`), `labels`, `multi_label`,
   * `threshold`, `top_k`, `instructions`, `examples`, `fields`.
   */
  readonly body: Readonly<Record<string, unknown>>;
}

export type Grammar = Question["wire"];

/** One question as it was sent, in either grammar. */
export interface Entry {
  /** Its key, its name, or `q1`, `q2`, … by its place in an array. */
  readonly id: string;
  /** True if the buyer chose the name. */
  readonly isNamed: boolean;
  readonly isInArray: boolean;
  readonly path: readonly (string | number)[];
  readonly node: JsonNode;
}

/** A parsed question, and its text in the public form of its wire. */
export interface ReadQuestion<Q extends Question = Question> {
  readonly question: Q;
  readonly entry: Entry;
  /** The bytes as sent, rearranged: numbers and escapes stay. */
  readonly encoded: JsonText;
}

/** A problem inside a question, with its path from the body. */
export function atEntry({ path }: Entry, found: Problem): Problem {
  return problem(found.message, ...path, ...found.path);
}

/** The members of a question without its name, which only items of an array have. */
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

/** The problem of a name that cannot be a key of an answer. */
export function nameProblem(name: string): Problem | undefined {
  if (name.trim() === "") return problem("must not be blank");
  // As a key it would be refused: some parsers act on it.
  return name === "__proto__" ? problem("is not accepted as a name") : undefined;
}

/** The schema of a label; messages count labels by `noun`. */
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

/** The first two places, counted from 1, with the same name; undefined if all differ. */
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

/** The members of an object by canonical name, without those that are null. */
export type Members = ReadonlyMap<string, Member>;

/** Every accepted name, with its canonical name: `kind` is another name of `type`. */
export type Spellings = ReadonlyMap<string, string>;

/** The wording of problems in these bodies. */
export const DECISION_WORDS = {
  missing: "required",
  unknown: "this model does not accept this field",
};

/** Reads an object with a closed set of names; two names of one member are refused. */
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

/** The members of an object with any names. */
export function indexMembers(doc: JsonDocument, object: JsonNode): Members {
  const members = new Map<string, Member>();
  for (const key of doc.keys(object)) {
    const node = doc.valueOf(key);
    if (!doc.isNull(node)) members.set(doc.text(key), { sent: doc.text(key), node });
  }
  return members;
}

/** Parses these members, or all, by their canonical names. */
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

/** Converts a problem of a schema to the names that the members were sent under. */
export function problemIn(members: Members, { path, message }: SchemaFault): Problem {
  const [first, ...rest] = path;
  const sent = typeof first === "string" ? (members.get(first)?.sent ?? first) : first;
  return problem(message, ...(sent === undefined || sent === "" ? [] : [sent]), ...rest);
}

/** The value of a member; `ABSENT` for one that is null or not there. */
export function findNode(members: Members, name: string): JsonNode {
  return members.get(name)?.node ?? ABSENT;
}

/** Renders a problem: `questions.team.schema.criteria: 1 option, at least 2 needed`. */
export function toSentence({ path, message }: Problem): string {
  const glue = /^(?:is|must) /.test(message) ? " " : ": ";
  return pathText(path) + glue + message;
}

/** A name in a message, quoted and cut. */
export function quoted(name: string): string {
  return JSON.stringify(name.slice(0, 64));
}
