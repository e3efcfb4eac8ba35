import type { JsonDocument, JsonNode } from "../../json/index.ts";
import { problem, type Problem, under } from "../../wire/index.ts";

/** One member of an object: the name it was sent under, and its value. */
export interface Member {
  readonly sent: string;
  readonly node: JsonNode;
}

/** The members of an object by the first name of each; those that are null are left out. */
export type Members = ReadonlyMap<string, Member>;

/** Every name that an object takes, with the first name of the same thing: `kind` is `type`. */
export type Spellings = ReadonlyMap<string, string>;

export function spellings(names: Readonly<Record<string, string>>): Spellings {
  return new Map(Object.entries(names));
}

export const NOT_TAKEN = "this model does not accept this field";

/** Reads an object whose set of names is closed; a thing that is sent under two names is refused. */
export function readMembers(
  doc: JsonDocument,
  object: JsonNode,
  names: Spellings,
): Members | Problem {
  if (!doc.isObject(object)) return problem("must be an object");
  const members = new Map<string, Member>();
  for (const key of doc.keys(object)) {
    const sent = doc.text(key);
    const first = names.get(sent);
    if (first === undefined) return problem(NOT_TAKEN, sent);
    const node = doc.valueOf(key);
    if (doc.isNull(node)) continue;
    const other = members.get(first);
    if (other !== undefined) return problem(`the same as ${other.sent}; send one of them`, sent);
    members.set(first, { sent, node });
  }
  return members;
}

/** What the check finds wrong with a member, seen from the object; an absent one is fine. */
export function checkMember(
  members: Members,
  name: string,
  check: (node: JsonNode) => Problem | undefined,
): Problem | undefined {
  const member = members.get(name);
  const found = member === undefined ? undefined : check(member.node);
  return found === undefined || member === undefined ? undefined : under(member.sent, found);
}

/** Reading gives a value or a problem. */
export function isProblem(read: object): read is Problem {
  const tagged: { readonly isProblem?: unknown } = read;
  return tagged.isProblem === true;
}

/** `questions.team.schema.criteria: 1 option, at least 2 needed`: the place, then what is wrong. */
export function sentenceOf({ path, message }: Problem): string {
  const glue = /^(?:is|must) /.test(message) ? " " : ": ";
  return pathOf(path) + glue + message;
}

const STEP_CHARS_MAX = 64;

/** `state.items[2]` */
export function pathOf(path: readonly (string | number)[]): string {
  return path
    .map((step) => (typeof step === "number" ? `[${step}]` : `.${step.slice(0, STEP_CHARS_MAX)}`))
    .join("")
    .slice(1);
}

/** A name in a message: quoted, and cut where it is longer than a name should be. */
export function quoted(name: string): string {
  return JSON.stringify(name.slice(0, STEP_CHARS_MAX));
}
