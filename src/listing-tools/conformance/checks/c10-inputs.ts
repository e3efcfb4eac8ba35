import { isDeepStrictEqual } from "node:util";

import { chatProbes } from "../chat/chat-probes.ts";
import type { Check } from "./check.ts";
import { answersIn, chosenIn } from "../decisions/decision-flaws.ts";
import { decisionProbes } from "../decisions/decision-probes.ts";
import { failed, type Finding, passed, skipped, warned, chooseWorst } from "../report/finding.ts";
import {
  type Fact,
  type FactProbe,
  factRows,
  longFacts,
  shortFact,
  unsaid,
} from "../chat/fact-probes.ts";
import { manyImages, MEDIA_KINDS, type MediaKind, mediaPair } from "../chat/input-probes.ts";
import type { Lab } from "../probing/lab.ts";
import { BLUE, renderPng, RED } from "../probing/media-files.ts";
import { guardFinding, isServed, type Observation } from "../probing/observation.ts";
import { readChat } from "../chat/read-chat.ts";

/** C10: the model reads each declared kind of file, and each part of a prompt. */
export const declaredInputs: Check = {
  id: "C10",
  title: "declared inputs accepted",
  otherwise: "images and videos are made from a text alone",
  inapplicable: ({ modality, decisions }) =>
    modality === "text" || decisions?.readsImages === true
      ? undefined
      : "the listing does not declare images",
  runs: { text: chatInputs, decisions: decisionImages },
};

async function chatInputs(lab: Lab): Promise<Finding> {
  const { inputModalities } = lab.deployment;
  if (!isServed(await lab.ask(chatProbes.short(lab.deployment)))) {
    return skipped("a usual request is not answered either");
  }
  const parts: Finding[] = [];
  for (const kind of MEDIA_KINDS.filter((each) => inputModalities.has(each))) {
    parts.push(await guardFinding(`${kind} input`, () => kindFinding(lab, kind)));
  }
  if (inputModalities.has("image")) {
    parts.push(await guardFinding("two images", () => manyImagesFinding(lab)));
  }
  parts.push(...(await factFindings(lab)));
  const unasked = parts.find(({ status }) => status === "skip");
  return chooseWorst(parts, unasked ?? passed(parts.map(({ message }) => message).join("; ")));
}

async function kindFinding(lab: Lab, kind: MediaKind): Promise<Finding> {
  const pair = mediaPair(lab.deployment, kind);
  if (pair === undefined) return passed(`${kind}: not asked, because its wire has no such part`);
  const [first, second] = [await lab.ask(pair.first), await lab.ask(pair.second)];
  const refused = [first, second].find((seen) => !isServed(seen));
  if (refused !== undefined) return toRefusedFinding(`a declared ${kind}`, refused);
  const [one, other] = [answerText(lab, first), answerText(lab, second)];
  const [word, otherWord] = pair.words;
  const evidence = { kind, answers: [one.slice(0, SHOWN_CHARS), other.slice(0, SHOWN_CHARS)] };
  if (names(one, word, otherWord) && names(other, otherWord, word)) {
    return passed(`${kind}: read`);
  }
  if (one === "" || other === "")
    return warned(`a question about a ${kind} gets no text`, evidence);
  if (one === other) {
    return failed(`two different files of kind ${kind} get the same answer`, evidence);
  }
  const again = answerText(lab, await lab.ask(pair.firstAgain));
  return again === one
    ? passed(`${kind}: the answer depends on it`)
    : warned(`answers about a ${kind} vary, and do not say what is in it`, evidence);
}

/**
 * Fails if answers change with one of two images, but not with the other. If they change with
 * neither, the model may always name one color, which passes. So does a refusal of two images.
 */
async function manyImagesFinding(lab: Lab): Promise<Finding> {
  const unread: string[] = [];
  for (const { which, both } of manyImages(lab.deployment)) {
    const [first, second] = [await lab.ask(both[0]), await lab.ask(both[1])];
    if (!isServed(first) || !isServed(second)) return passed("two images: not taken");
    if (answerText(lab, first) === answerText(lab, second)) unread.push(which);
  }
  if (unread.length === 1) {
    return failed(`of two images in a prompt the ${unread[0]} one is not read`);
  }
  return passed(unread.length === 0 ? "two images: read" : "two images: taken");
}

const SHOWN_CHARS = 60;

function names(answer: string, word: string, otherWord: string): boolean {
  return answer.includes(word) && !answer.includes(otherWord);
}

function toRefusedFinding(what: string, { status, failure }: Observation): Finding {
  const why = failure?.refusal.message ?? "";
  return failed(`${what} is answered with ${status ?? "nothing"}: ${why}`, { status });
}

function answerText(lab: Lab, seen: Observation): string {
  return textIn(lab, seen)
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]+/gu, " ")
    .trim();
}

/** The model must know the facts of each prompt, and name no fact of another request. */
async function factFindings(lab: Lab): Promise<readonly Finding[]> {
  const rows = factRows(lab).flatMap(({ whole, stream, longer }) => [whole, stream, longer]);
  const parts: Finding[] = [];
  const told = new Set<string>();
  const judge = async (probe: FactProbe): Promise<void> => {
    for (const { value } of probe.facts) told.add(value);
    parts.push(await guardFinding(probe.about, () => factFinding(lab, probe, told)));
  };
  for (const probe of rows) await judge(probe);
  for (let number = 1; number <= AT_ONCE_REPEATS; number += 2) {
    await Promise.all([judge(shortFact(lab, number)), judge(shortFact(lab, number + 1))]);
  }
  for (const stream of [false, true]) await judge(longFacts(lab, stream));
  const good = parts.filter(({ status }) => status === "pass").length;
  const bad = parts.filter(({ status }) => status !== "pass");
  return bad.length > 0 ? bad : [passed(`${good} prompts are read with all that they say`)];
}

/** Number of probes sent in pairs. C12 asks under the same names, so these are not paid twice. */
const AT_ONCE_REPEATS = 4;

/**
 * A provider that cuts prompts loses a fact, and a provider that mixes up or caches answers names a
 * fact of another request. A model may disobey, so a missing fact is asked for alone, twice.
 */
async function factFinding(
  lab: Lab,
  probe: FactProbe,
  told: ReadonlySet<string>,
): Promise<Finding> {
  const seen = await lab.ask(probe);
  if (!isServed(seen)) return toRefusedFinding(`a request (${probe.about})`, seen);
  const first = textIn(lab, seen);
  const own = new Set(probe.facts.map(({ value }) => value));
  if ([...told].some((value) => !own.has(value) && first.includes(value))) {
    return failed("an answer is one to another request", { about: probe.about });
  }
  let last = probe;
  let text = first;
  const isUnknown = async ({ of }: Fact): Promise<boolean> => {
    last = last.again(of);
    text = textIn(lab, await lab.ask(last));
    return unsaid(last, text).some((each) => each.of === of);
  };
  const unknown = await firstOf(
    unsaid(probe, first),
    async (fact) => (await isUnknown(fact)) && (await isUnknown(fact)),
  );
  if (unknown === undefined) return passed(`${probe.about}: read`);
  const evidence = { about: probe.about, answer: text.slice(0, SHOWN_CHARS) };
  return text === ""
    ? warned("a question about the prompt gets no text", evidence)
    : failed(`what ${unknown.place} says is not known`, evidence);
}

async function firstOf<T>(
  items: readonly T[],
  holds: (item: T) => Promise<boolean>,
): Promise<T | undefined> {
  for (const item of items) if (await holds(item)) return item;
  return undefined;
}

/** The text of the answer, or, on a wire without a parser, what the client receives. */
function textIn({ deployment }: Lab, seen: Observation): string {
  return readChat(deployment, seen)?.text ?? seen.output;
}

async function decisionImages(lab: Lab): Promise<Finding> {
  if (!isServed(await lab.ask(decisionProbes.one(lab.deployment)))) {
    return skipped("a usual request is not answered either");
  }
  const first = await lab.ask(decisionProbes.image(renderPng(RED), "image in the state: red"));
  const second = await lab.ask(decisionProbes.image(renderPng(BLUE), "image in the state: blue"));
  const refused = [first, second].find((seen) => !isServed(seen));
  if (refused !== undefined) return toRefusedFinding("a declared image", refused);
  const { decisions } = lab.deployment;
  const [one, other] = [answersIn(first.body, decisions), answersIn(second.body, decisions)];
  if (chosenIn(one[0]?.[1]) === "red" && chosenIn(other[0]?.[1]) === "blue") {
    return passed("image: read");
  }
  if (isDeepStrictEqual(one, other)) {
    return failed("two different images in the state get the same answer");
  }
  // Answers may differ by chance, so the red image must get the same answer twice.
  const probe = decisionProbes.image(renderPng(RED), "image in the state, again: red");
  return isDeepStrictEqual(answersIn((await lab.ask(probe)).body, decisions), one)
    ? passed("image: the answer depends on it")
    : warned("answers about an image in the state vary, and do not say what is in it");
}
