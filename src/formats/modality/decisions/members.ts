import {
  ABSENT,
  type JsonDocument,
  type JsonNode,
  pathText,
  type SchemaFault,
} from "../../../kernel/index.ts";
import { problem, type Problem } from "../../wire/fields/check-shape.ts";

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
export function membersOf(doc: JsonDocument, object: JsonNode): Members {
  const members = new Map<string, Member>();
  for (const key of doc.keys(object)) {
    const node = doc.valueOf(key);
    if (!doc.isNull(node)) members.set(doc.text(key), { sent: doc.text(key), node });
  }
  return members;
}

/** These members parsed, by their first names. */
export function valuesOf(
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

/** What a schema finds wrong with members, at the names that they were sent under. */
export function problemIn(members: Members, { path, message }: SchemaFault): Problem {
  const [first, ...rest] = path;
  const sent = typeof first === "string" ? (members.get(first)?.sent ?? first) : first;
  return problem(message, ...(sent === undefined || sent === "" ? [] : [sent]), ...rest);
}

/** The value of a member; `ABSENT` for one that is null or not there. */
export function nodeOf(members: Members, name: string): JsonNode {
  return members.get(name)?.node ?? ABSENT;
}

/** Reading gives a value or a problem. */
export function isProblem(read: object): read is Problem {
  const tagged: { readonly isProblem?: unknown } = read;
  return tagged.isProblem === true;
}

/** `questions.team.schema.criteria: 1 option, at least 2 needed`: the place, then what is wrong. */
export function sentenceOf({ path, message }: Problem): string {
  const glue = /^(?:is|must) /.test(message) ? " " : ": ";
  return pathText(path) + glue + message;
}

/** A name in a message: quoted, and cut where it is longer than a name should be. */
export function quoted(name: string): string {
  return JSON.stringify(name.slice(0, 64));
}
