import { chatProbes } from "../chat/chat-probes.ts";
import type { Check } from "./check.ts";
import { answersOf, openedBody } from "../decisions/decision-flaws.ts";
import { decisionProbes } from "../decisions/decision-probes.ts";
import { failed, type Finding, passed, skipped, warned, worstOf } from "../report/finding.ts";
import {
  CODE_WORD,
  longContext,
  longTokens,
  MEDIA_KINDS,
  type MediaKind,
  mediaPair,
} from "../chat/input-probes.ts";
import type { Lab } from "../probing/lab.ts";
import { BLUE, pngOf, RED } from "../probing/media-files.ts";
import { isServed, type Observation, ProbeNotSent } from "../probing/observation.ts";
import { jsonOf, readChat } from "../chat/read-chat.ts";

/** C10: what a listing says that it reads is read: each declared kind of file, and a long text. */
export const declaredInputs: Check = {
  id: "C10",
  title: "declared inputs accepted",
  inapplicable: ({ modality, decisions }) => {
    if (modality === "text" || decisions?.readsImages === true) return undefined;
    return modality === "decisions"
      ? "the listing does not declare images"
      : "images and videos are made from a text alone";
  },
  run: async (lab) =>
    lab.deployment.modality === "text" ? await chatInputs(lab) : await decisionImages(lab),
};

async function chatInputs(lab: Lab): Promise<Finding> {
  const { inputModalities } = lab.deployment;
  if (!isServed(await lab.ask(chatProbes.short(lab.deployment)))) {
    return skipped("a usual request is not answered either");
  }
  const parts: Finding[] = [];
  for (const kind of MEDIA_KINDS.filter((each) => inputModalities.has(each))) {
    parts.push(await findingOf(`${kind} input`, () => kindFinding(lab, kind)));
  }
  parts.push(await findingOf("a long text", () => longFinding(lab)));
  const unasked = parts.find(({ status }) => status === "skip");
  return worstOf(parts, unasked ?? passed(parts.map(({ message }) => message).join("; ")));
}

/** What one input has shown is not lost when another one is over the budget. */
async function findingOf(what: string, find: () => Promise<Finding>): Promise<Finding> {
  try {
    return await find();
  } catch (fault) {
    if (!(fault instanceof ProbeNotSent)) throw fault;
    return { status: fault.status, message: `${what}: ${fault.message}` };
  }
}

async function kindFinding(lab: Lab, kind: MediaKind): Promise<Finding> {
  const pair = mediaPair(lab.deployment, kind);
  if (pair === undefined) return passed(`${kind}: not asked, because its wire has no such part`);
  const [first, second] = [await lab.ask(pair.first), await lab.ask(pair.second)];
  const refused = [first, second].find((seen) => !isServed(seen));
  if (refused !== undefined) return refusedFinding(`a declared ${kind}`, refused);
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

const SHOWN_CHARS = 60;

function names(answer: string, word: string, otherWord: string): boolean {
  return answer.includes(word) && !answer.includes(otherWord);
}

function refusedFinding(what: string, { status, failure }: Observation): Finding {
  const why = failure?.refusal.message ?? "";
  return failed(`${what} is answered with ${status ?? "nothing"}: ${why}`, { status });
}

/** In lower case, letters and digits only. */
function answerText({ deployment }: Lab, seen: Observation): string {
  const text = readChat(deployment, seen)?.text ?? seen.output;
  return text
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]+/gu, " ")
    .trim();
}

/** A provider that cuts a prompt silently has lost the fact at its start. */
async function longFinding(lab: Lab): Promise<Finding> {
  const tokens = longTokens(lab.deployment);
  const seen = await lab.ask(longContext(lab.deployment));
  if (!isServed(seen)) return refusedFinding(`a text of about ${tokens} tokens`, seen);
  const text = answerText(lab, seen);
  const evidence = { tokens, answer: text.slice(0, SHOWN_CHARS) };
  if (text === "") return warned("a question about a long text gets no text", evidence);
  return text.includes(CODE_WORD)
    ? passed(`a text of about ${tokens} tokens is read from its start`)
    : failed(`what a text of about ${tokens} tokens says at its start is not known`, evidence);
}

async function decisionImages(lab: Lab): Promise<Finding> {
  const { decisions } = lab.deployment;
  if (!isServed(await lab.ask(decisionProbes.one(lab.deployment)))) {
    return skipped("a usual request is not answered either");
  }
  const first = await lab.ask(decisionProbes.image(pngOf(RED), "image in the state: red"));
  const second = await lab.ask(decisionProbes.image(pngOf(BLUE), "image in the state: blue"));
  const refused = [first, second].find((seen) => !isServed(seen));
  if (refused !== undefined) return refusedFinding("a declared image", refused);
  const [one, other] = [first, second].map(({ body }) => {
    const opened = openedBody(jsonOf(body) ?? {}, decisions);
    return JSON.stringify(answersOf(opened, decisions?.wire ?? "systemone"));
  });
  return one === other
    ? failed("two different images in the state get the same answer")
    : passed("image: the answer depends on it");
}
