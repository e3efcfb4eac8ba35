import type { Deployment } from "../../../catalog/index.ts";
import { promptTokensTotal } from "../../../kernel/index.ts";
import { chatProbes, MEASURED_TEXT } from "../chat/chat-probes.ts";
import type { Check } from "./check.ts";
import { decisionUsage } from "../decisions/decision-answers.ts";
import { failed, type Finding, passed, skipped, warned, worstOf } from "../report/finding.ts";
import { imageUsage } from "../images/image-answers.ts";
import type { Lab } from "../probing/lab.ts";
import { isServed, type Observation } from "../probing/observation.ts";
import { readChat } from "../chat/read-chat.ts";
import { compareTokens, referenceCount } from "../chat/reference-tokens.ts";

/** C4: what is billed adds up, agrees with itself, and is what the text has. */
export const usageArithmetic: Check = {
  id: "C4",
  title: "usage arithmetic",
  inapplicable: ({ modality }) =>
    modality === "video" ? "a video is billed by its cost, which C11 follows" : undefined,
  run: (lab) => USAGE[lab.deployment.modality](lab),
};

const USAGE: Readonly<Record<Deployment["modality"], (lab: Lab) => Promise<Finding>>> = {
  text: chatUsage,
  image: imageUsage,
  decisions: decisionUsage,
  video: () => Promise.resolve(skipped("a video is billed by its cost, which C11 follows")),
};

async function chatUsage(lab: Lab): Promise<Finding> {
  const { deployment } = lab;
  const once = await lab.ask(chatProbes.measured(deployment, 1));
  if (!isServed(once))
    return skipped(`the measured text was not answered (${once.status ?? "no answer"})`);
  if (once.usage === undefined) return failed("an answer reports no usage");
  const parts = [
    ...arithmeticFindings([once]),
    await streamFinding(lab, once),
    await lengthFinding(lab, once),
    await echoFinding(lab),
    ...arithmeticFindings(lab.seen()),
  ];
  return worstOf(parts, passed("usage adds up, and agrees with itself and with the text"));
}

/** Of every answer that was seen: integers, sums, parts not above their whole. */
function arithmeticFindings(answers: readonly Observation[]): (Finding | undefined)[] {
  return answers
    .filter((seen) => seen.isPlain && isServed(seen))
    .map(({ usageFlaw, probe }) =>
      usageFlaw === undefined ? undefined : failed(usageFlaw, { probe }),
    );
}

async function streamFinding(lab: Lab, whole: Observation): Promise<Finding | undefined> {
  const streamed = await lab.ask(chatProbes.measured(lab.deployment, 1, true));
  if (!isServed(streamed) || streamed.usage === undefined || whole.usage === undefined)
    return undefined;
  const [a, b] = [promptTokensTotal(whole.usage), promptTokensTotal(streamed.usage)];
  return a === b
    ? undefined
    : failed("the same prompt is billed differently when it is streamed", {
        prompt_tokens: a,
        prompt_tokens_streamed: b,
      });
}

/** Tokens that a request may have beside its text: a template, a date, a short instruction. */
const FRAME_TOKENS_MAX = 40;

/**
 * What one more copy of the text costs is free of the frame around it: that is compared with the
 * tokens of the text; then the frame itself with what a frame may be.
 */
async function lengthFinding(lab: Lab, once: Observation): Promise<Finding | undefined> {
  const thrice = await lab.ask(chatProbes.measured(lab.deployment, 3));
  if (!isServed(thrice) || thrice.usage === undefined || once.usage === undefined) return undefined;
  const first = promptTokensTotal(once.usage);
  const perCopy = (promptTokensTotal(thrice.usage) - first) / 2;
  const reference = await referenceCount(lab.deployment, MEASURED_TEXT);
  const { kind, tolerancePercent } = compareTokens(perCopy, reference);
  const evidence = {
    tokens_billed: Math.round(perCopy),
    tokens_expected: reference.tokens,
    counted_by: reference.by,
    tolerance_percent: tolerancePercent,
  };
  if (kind !== "right") {
    const judge = kind === "wrong" ? failed : warned;
    return judge("the tokens billed for a known text are not what it has", evidence);
  }
  const frameTokens = first - perCopy;
  if (frameTokens > FRAME_TOKENS_MAX || frameTokens < -2) {
    return failed("a request is billed for tokens that it does not have", {
      ...evidence,
      tokens_beside_the_text: Math.round(frameTokens),
      allowed: FRAME_TOKENS_MAX,
    });
  }
  return undefined;
}

/** Share by which the prompt tokens of a text may differ from its output tokens. */
const ECHO_TOLERANCE = 0.04;
const ECHO_TOKENS_MIN = 60;

/**
 * A text of the model's own has as many tokens in the prompt as it had in the answer: the provider
 * is compared with itself, whatever its tokenizer is.
 */
async function echoFinding(lab: Lab): Promise<Finding | undefined> {
  const { deployment } = lab;
  const recited = await lab.ask(chatProbes.recited(deployment));
  const text = readChat(deployment, recited)?.text ?? "";
  if (!isServed(recited) || recited.usage === undefined || text === "") return undefined;
  const { completion: answered, internalReasoning } = recited.usage;
  if (internalReasoning > 0 || answered < ECHO_TOKENS_MIN) return undefined;
  const once = await lab.ask(chatProbes.echoed(deployment, text, 1));
  const thrice = await lab.ask(chatProbes.echoed(deployment, text, 3));
  if (once.usage === undefined || thrice.usage === undefined) return undefined;
  const asked = (promptTokensTotal(thrice.usage) - promptTokensTotal(once.usage)) / 2;
  const spread = Math.max(3, ECHO_TOLERANCE * answered);
  if (Math.abs(asked - answered) <= spread) return undefined;
  return failed("the same text has more tokens in the prompt than in the answer, or fewer", {
    tokens_in_the_answer: answered,
    tokens_in_the_prompt: Math.round(asked),
    tolerance_percent: ECHO_TOLERANCE * 100,
  });
}
