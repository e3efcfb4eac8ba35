import { isObject } from "./json.ts";

const QUESTION = "What is the code word?";
const FACT = /The code word is ([^\s.][^.\n]{0,99})\./g;

/** The code word of a prompt: absent when it is not asked for, null when it is not known. */
export interface CodeWord {
  readonly codeWord?: string | null;
}

/** What a prompt that asks for the code word says of it; where it says several, the last one. */
export function codeWordOf(userText: string, prompt: unknown): CodeWord {
  if (!userText.includes(QUESTION)) return {};
  const facts = textsIn(prompt).flatMap((text) => [...text.matchAll(FACT)]);
  return { codeWord: facts.at(-1)?.[1] ?? null };
}

function textsIn(value: unknown): readonly string[] {
  if (typeof value === "string") return [value];
  const inner = Array.isArray(value) ? value : isObject(value) ? Object.values(value) : [];
  return inner.flatMap(textsIn);
}
