import { Type, type TSchema } from "typebox";
import {
  type JsonDocument,
  type JsonNode,
  type JsonText,
  NOT_BLANK,
  textToken,
} from "../../../kernel/index.ts";
import { problem, type Problem } from "../../wire/fields/check-shape.ts";
import { isProblem, type Members, readMembers, type Spellings } from "./members.ts";

/** The typed answer that a question asks for, in one form whatever the grammar was. */
export type Question = SystemOneQuestion | GlinerQuestion;

export interface SystemOneQuestion {
  readonly wire: "systemone";
  readonly id: string;
  readonly kind: "noul" | "choice" | "score" | "box";
  /** The type as the buyer spelled it: `boolean` for a noul, `integer` for a score, … */
  readonly asked: string;
  /** As sent, with the schema's description behind it; undefined where the criteria say it all. */
  readonly instructions: unknown;
  /** noul: by "true" and "false". choice: by label. score: one per level. Undefined: none. */
  readonly criteria: unknown;
  /** Of a `choice`: its labels in order. */
  readonly labels?: readonly string[];
  /** Of an integer or number asked with min and max: the value of level 0. */
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
  /** Did the buyer give it that name? */
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

/** What is wrong inside a question, seen from the body. */
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

/** The same for labels; `noun` is what they are counted as. */
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
