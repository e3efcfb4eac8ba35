import { failed, type Finding } from "../report/finding.ts";
import type { Lab } from "../probing/lab.ts";
import { isServed, type Observation } from "../probing/observation.ts";
import { boundFor, chatProbes, listCountedNumbers, LARGE_BOUND, findWire } from "./chat-probes.ts";
import { readChat } from "./read-chat.ts";

/**
 * Fails the answer to a counting prompt if it reports a natural end but lacks or repeats a number.
 * A model may miscount, so the provider fails only if the answer to a second prompt is flawed, too,
 * and one of two things holds: the second answer consists of numbers only and stops early, or the
 * first prompt is answered right in the other form (whole instead of streamed, or the reverse).
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

/** True if the answer reports a natural end. An answer that was cut at its bound is not judged. */
function isCounted({ deployment }: Lab, seen: Observation): boolean {
  const finish = readChat(deployment, seen)?.finish ?? "";
  return findWire(deployment).providerQuestions?.finishes.stopped.includes(finish) === true;
}

interface Flaw {
  readonly what: string;
  /** True if an answer of numbers only stops early. A model that gives up says so in words. */
  readonly isCut: boolean;
}

function findFlaw(lab: Lab, seen: Observation, attempt: number): Flaw | undefined {
  const text = readChat(lab.deployment, seen)?.text ?? "";
  const all = [...text.matchAll(/\d+/g)].map(([number]) => Number(number));
  const wanted = listCountedNumbers(lab, attempt);
  const [first, second] = wanted;
  // Some models first announce what they will do, and mention numbers in the announcement.
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
