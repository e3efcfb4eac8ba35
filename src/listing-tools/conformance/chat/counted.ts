import { failed, type Finding } from "../report/finding.ts";
import type { Lab } from "../probing/lab.ts";
import { isServed, type Observation } from "../probing/observation.ts";
import { boundFor, chatProbes, countedNumbers, wireOf } from "./chat-probes.ts";
import { readChat } from "./read-chat.ts";

/** The largest bound that is asked for; a listing's own maximum where that is less. */
export const LARGE_BOUND = 4_096;

/** A long answer that says it ended by itself is whole: no piece of it is lost or came twice. */
export async function countedFinding(lab: Lab, stream: boolean): Promise<Finding | undefined> {
  const { deployment } = lab;
  const bound = boundFor(deployment, LARGE_BOUND);
  const first = await lab.ask(chatProbes.long(lab, bound, stream));
  if (!isServed(first) || !isCounted(lab, first)) return undefined;
  if (flawOf(lab, first, 1) === undefined) return undefined;
  const second = await lab.ask(chatProbes.long(lab, bound, stream, 2));
  const flaw = flawOf(lab, second, 2);
  if (flaw === undefined || !isCounted(lab, second)) return undefined;
  return failed(`${stream ? "a long stream" : "a long answer"} is not whole: ${flaw}`);
}

/** Did it end by itself? One that its bound has cut lacks its end. */
function isCounted({ deployment }: Lab, seen: Observation): boolean {
  const finish = readChat(deployment, seen)?.finish ?? "";
  return wireOf(deployment).providerQuestions?.finishes.stopped.includes(finish) === true;
}

function flawOf(lab: Lab, seen: Observation, attempt: number): string | undefined {
  const text = readChat(lab.deployment, seen)?.text ?? "";
  const said = [...text.matchAll(/\d+/g)].map(([number]) => Number(number));
  const wanted = countedNumbers(lab, attempt);
  const at = wanted.findIndex((number, index) => said[index] !== number);
  if (at === -1) {
    return said.length === wanted.length ? undefined : "it goes on behind its end";
  }
  return at === said.length
    ? `it ends after ${at} of ${wanted.length} numbers`
    : `number ${at + 1} of ${wanted.length} is another one`;
}
