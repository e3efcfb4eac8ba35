import { failed, type Finding } from "../report/finding.ts";
import type { Lab } from "../probing/lab.ts";
import { isServed, type Observation } from "../probing/observation.ts";
import { boundFor, chatProbes, listCountedNumbers, LARGE_BOUND, findWire } from "./chat-probes.ts";
import { readChat } from "./read-chat.ts";

/**
 * A long answer that says it ended by itself is whole: no piece of it is lost or came twice. A
 * model may count badly: only what ends in the middle of plain numbers, or what is right in the
 * other form, is the provider's.
 */
export async function checkCounted(lab: Lab, stream: boolean): Promise<Finding | undefined> {
  const { deployment } = lab;
  const bound = boundFor(deployment, LARGE_BOUND);
  const first = await lab.ask(chatProbes.long(lab, bound, stream));
  if (!isServed(first) || !isCounted(lab, first)) return undefined;
  if (findFlaw(lab, first, 1) === undefined) return undefined;
  const second = await lab.ask(chatProbes.long(lab, bound, stream, 2));
  const flaw = findFlaw(lab, second, 2);
  if (flaw === undefined || !isCounted(lab, second)) return undefined;
  const other = await lab.ask(chatProbes.long(lab, bound, !stream));
  if (!flaw.isCut && findFlaw(lab, other, 1) !== undefined) return undefined;
  return failed(`${stream ? "a long stream" : "a long answer"} is not whole: ${flaw.what}`);
}

/** True if the answer ended naturally; one that was cut at its bound is not judged. */
function isCounted({ deployment }: Lab, seen: Observation): boolean {
  const finish = readChat(deployment, seen)?.finish ?? "";
  return findWire(deployment).providerQuestions?.finishes.stopped.includes(finish) === true;
}

interface Flaw {
  readonly what: string;
  /** The answer ends in the middle of plain numbers, unlike that of a model that gives up. */
  readonly isCut: boolean;
}

function findFlaw(lab: Lab, seen: Observation, attempt: number): Flaw | undefined {
  const text = readChat(lab.deployment, seen)?.text ?? "";
  const all = [...text.matchAll(/\d+/g)].map(([number]) => Number(number));
  const wanted = listCountedNumbers(lab, attempt);
  const [first, second] = wanted;
  // Some models first announce what they will do, and name numbers in it.
  const from = all.findIndex((number, at) => number === first && all[at + 1] === second);
  const said = all.slice(Math.max(0, from));
  const at = wanted.findIndex((number, index) => said[index] !== number);
  if (at === -1) {
    const isTwice = said[wanted.length] === wanted.at(-1);
    return isTwice ? { what: "it goes on behind its end", isCut: false } : undefined;
  }
  return at === said.length
    ? { what: `it ends after ${at} of ${wanted.length} numbers`, isCut: /^[\d\s,]+$/.test(text) }
    : { what: `number ${at + 1} of ${wanted.length} is another one`, isCut: false };
}
