import {
  boundFor,
  chatProbes,
  findWire,
  LARGE_BOUND,
  listCountedNumbers,
  otherWires,
} from "../chat/chat-probes.ts";
import { readChat } from "../chat/read-chat.ts";
import { decisionShape } from "../decisions/decision-answers.ts";
import { imageShape } from "../images/image-answers.ts";
import type { Lab } from "../probing/lab.ts";
import { describeFailure, isServed, type Observation } from "../probing/observation.ts";
import { failed, type Finding, passed, skipped, warned } from "../report/finding.ts";
import type { Check } from "./check.ts";

/** C2: a whole answer has the fields of its wire, and the requested content. */
export const answerShape: Check = {
  id: "C2",
  title: "non-stream shape",
  otherwise: "a video is a job, which C11 follows",
  runs: { text: (lab) => chatShape(lab, false), image: imageShape, decisions: decisionShape },
};

/** C3: a stream has the events of its wire in their order, one end, and usage in its last part. */
export const streamShape: Check = {
  id: "C3",
  title: "stream shape and terminal usage",
  otherwise: "only chat answers stream",
  runs: { text: (lab) => chatShape(lab, true) },
};

async function chatShape(lab: Lab, stream: boolean): Promise<Finding> {
  const { deployment } = lab;
  const what = stream ? "stream" : "answer";
  const seen = await lab.ask(chatProbes.short(deployment, findWire(deployment), stream));
  const answer = readChat(deployment, seen);
  if (answer === undefined) return skipped(`there is no reader of ${deployment.wire}`);
  const evidence = { status: seen.status, flaws: answer.flaws.slice(0, 5) };
  if (!stream && seen.status !== 200) {
    return failed(`a usual request is answered with ${seen.status}`, evidence);
  }
  const [flaw] = answer.flaws;
  if (flaw !== undefined) return failed(flaw, evidence);
  if (!isServed(seen)) {
    return failed(`the gateway cannot use the ${what}: ${describeFailure(seen)}`);
  }
  if (stream && answer.usage === undefined) return failed("the stream ends without usage");
  if (stream && answer.finish === undefined) {
    return failed("the stream ends without a finish reason");
  }
  if (answer.text === "") return failed(`the ${what} has no text`);
  for (const wire of otherWires(deployment)) {
    const translated = await lab.ask(chatProbes.short(deployment, wire, stream));
    if (isServed(translated)) continue;
    const why = describeFailure(translated);
    return failed(`the ${what} cannot be translated to ${wire.id}: ${why}`);
  }
  const counted = await checkCounted(lab, stream);
  if (counted !== undefined) return counted;
  if (!stream) return passed("one choice with the fields of its wire, on every wire");
  const { pieces } = await lab.ask(chatProbes.long(lab, boundFor(deployment, LARGE_BOUND), true));
  return pieces === 1
    ? warned("the whole stream came in one piece", { pieces })
    : passed(`one end mark, usage and finish reason ${answer.finish}`, { pieces });
}

/**
 * Fails if answers to two prompts that ask for counting both report a natural end, but lack or
 * repeat a number; one such answer may be the model's mistake. In addition, either the second must
 * be only numbers and stop early, or the first prompt must be answered correctly in the other form
 * (whole or streamed).
 */
async function checkCounted(lab: Lab, stream: boolean): Promise<Finding | undefined> {
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
  /** True if the answer has only numbers and ends early. A model that gives up says so in words. */
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
