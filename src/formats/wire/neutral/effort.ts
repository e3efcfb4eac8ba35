import type { Deployment } from "../../../catalog/index.ts";
import { type JsonText, textToken } from "../../../kernel/index.ts";
import type { ChatCall } from "./chat-call.ts";

/** The values of both wires, least first. */
const WORDS = ["none", "minimal", "low", "medium", "high", "xhigh", "max"];

/** Names under which a listing declares it. */
const DECLARED = ["reasoning_effort", "effort"];

/**
 * The declared word that is nearest to what the caller asked for, the lesser of two; undefined
 * where the listing declares none: servers that know no effort refuse the field.
 */
export function effortFor({ effort }: ChatCall, deployment: Deployment): JsonText | undefined {
  if (effort === undefined) return undefined;
  const name = DECLARED.find((each) => deployment.supportedParameters.has(each));
  const descriptor = name === undefined ? undefined : deployment.supportedParameters.get(name);
  if (descriptor?.type !== "enum") return undefined;
  const word = nearestWord(effort.value, descriptor.values);
  return word === undefined ? undefined : textToken(word);
}

/** The field that is lost on the way to this deployment, for `x-tm-dropped-params`. */
export function lostEffort(call: ChatCall, deployment: Deployment): readonly string[] {
  const isLost = call.effort !== undefined && effortFor(call, deployment) === undefined;
  return isLost ? [call.effort.field] : [];
}

function nearestWord(asked: string, taken: readonly string[]): string | undefined {
  if (taken.includes(asked)) return asked;
  const rank = WORDS.indexOf(asked);
  if (rank === -1) return undefined;
  // Who asks for some effort is never given none.
  const known = WORDS.filter((each) => taken.includes(each) && each !== "none");
  const distance = (each: string): number => Math.abs(WORDS.indexOf(each) - rank);
  return known.toSorted((a, b) => distance(a) - distance(b))[0];
}
