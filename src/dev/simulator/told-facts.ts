import { isObject } from "./json.ts";

const QUESTION = /What is the (code word|(?:number|word) of \p{L}+)\?/gu;
const FACT = /The (code word|(?:number|word) of \p{L}+) is ([^\s.][^.\n]{0,99})\./gu;

/** The model's answer to a prompt that asks for what it was told: absent when it does not ask. */
export interface Told {
  readonly told?: string;
}

/** Every requested fact as the prompt states it; if it is stated several times, the last value. */
export function toldIn(userText: string, prompt: unknown): Told {
  const asked = [...userText.matchAll(QUESTION)].map(([, what = ""]) => what);
  if (asked.length === 0) return {};
  const facts = textsIn(prompt).flatMap((text) => [...text.matchAll(FACT)]);
  const known = new Map(facts.map(([, what = "", value = ""]) => [what, value]));
  const said = asked.map((what) => {
    const value = known.get(what);
    return value === undefined
      ? `The prompt does not name the ${what}.`
      : `The ${what} is ${value}.`;
  });
  return { told: said.join(" ") };
}

function textsIn(value: unknown): readonly string[] {
  if (typeof value === "string") return [value];
  const inner = Array.isArray(value) ? value : isObject(value) ? Object.values(value) : [];
  return inner.flatMap(textsIn);
}
