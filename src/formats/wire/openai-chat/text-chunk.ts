import { asObject, findElements, findMember, findPath, type Span } from "../../../kernel/index.ts";
import type { EventJson } from "../neutral/event-json.ts";

/** Members of a delta that a chunk of text has. */
const SAID: ReadonlySet<string> = new Set(["content", "role"]);

/**
 * Does the chunk say nothing but a piece of text? No usage: the last one that is reported counts,
 * so each is read.
 */
export function isTextAlone({ value }: EventJson): boolean {
  const { choices, usage, x_groq: groq } = value;
  const isOne = Array.isArray(choices) && choices.length === 1;
  const choice = isOne ? asObject(choices[0]) : undefined;
  if (choice === undefined || !isSilent(usage) || groq !== undefined) return false;
  if (!isSilent(choice["finish_reason"]) || !isSilent(choice["usage"])) return false;
  const delta = asObject(choice["delta"]) ?? {};
  const isText = typeof delta["content"] === "string" && delta["content"] !== "";
  return isText && Object.keys(delta).every((key) => SAID.has(key) || isSilent(delta[key]));
}

/** Where the text is in a chunk that `isTextAlone`. */
export function textSpan(chunk: string): Span | undefined {
  const choices = findPath(chunk, "choices");
  const choice = choices === undefined ? undefined : findElements(chunk, choices.start, 1)[0];
  const delta = choice === undefined ? undefined : findMember(chunk, choice.start, "delta");
  return delta === undefined ? undefined : findMember(chunk, delta.start, "content");
}

function isSilent(value: unknown): boolean {
  return value === undefined || value === null || value === "";
}
