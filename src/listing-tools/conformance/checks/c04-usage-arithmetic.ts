import { exactCost } from "../../../catalog/index.ts";
import { promptTokensTotal, type Usage } from "../../../kernel/index.ts";
import { ANSWER_TOKENS, chatProbes, smallBounds, writeProse } from "../chat/chat-probes.ts";
import { type FactProbe, factRows, longFacts } from "../chat/fact-probes.ts";
import type { Check } from "./check.ts";
import { decisionUsage } from "../decisions/decision-answers.ts";
import { failed, type Finding, passed, warned, chooseWorst } from "../report/finding.ts";
import { imageUsage } from "../images/image-answers.ts";
import type { Lab, Probe } from "../probing/lab.ts";
import {
  isServed,
  type Observation,
  ProbeNotSent,
  toUnmeasuredFinding,
} from "../probing/observation.ts";
import { readChat } from "../chat/read-chat.ts";
import { lengthFinding, computePercent } from "../chat/reference-tokens.ts";

/** C4: billed usage adds up, is the same for the same request, and fits the text's length. */
export const usageArithmetic: Check = {
  id: "C4",
  title: "usage arithmetic",
  otherwise: "a video is billed by its cost, which C11 follows",
  runs: { text: chatUsage, image: imageUsage, decisions: decisionUsage },
};

async function chatUsage(lab: Lab): Promise<Finding> {
  const small = await lab.ask(chatProbes.measured(lab, 1));
  // Some servers, and some models that reason first, refuse a small bound, of which C9 warns.
  const bound = isServed(small) ? smallBounds(lab)[1] : ANSWER_TOKENS;
  const once = isServed(small)
    ? small
    : await lab.ask(chatProbes.measured(lab, 1, ", larger bound", bound));
  if (!isServed(once)) return toUnmeasuredFinding(once);
  if (once.usage === undefined) return failed("an answer reports no usage");
  const again = await lab.ask(chatProbes.measured(lab, 1, ", again", bound));
  const streamed = await lab.ask(chatProbes.measured(lab, 1, ", stream", bound));
  const thrice = await lab.ask(chatProbes.measured(lab, 3, "", bound));
  const framed = await lab.ask(chatProbes.framed(lab, bound));
  const perCopy = countPerCopy(once, thrice);
  const prose = { what: "text", text: writeProse(lab.chance, 1) } as const;
  const parts = [
    ...arithmeticFindings([once]),
    sameFinding(lab, once, again),
    sameFinding(lab, once, streamed),
    perCopy === undefined ? undefined : await lengthFinding(lab.deployment, prose, perCopy),
    ...(perCopy === undefined ? [] : frameFindings(lab, { once, framed }, perCopy)),
    await echoFinding(lab, "english", chatProbes.recited(lab, "english", false)),
    await echoFinding(lab, "alphabets", chatProbes.recited(lab, "alphabets", true)),
    await echoFinding(lab, "a story", chatProbes.story(lab, false)),
    ...(await tableFindings(lab, once, perCopy)),
    ...arithmeticFindings(lab.seen()),
    ...lab.seen().map((seen) => outputFinding(lab, seen) ?? dearFinding(lab, seen)),
  ];
  const unmeasured = [thrice, framed].find((seen) => !isServed(seen) || seen.usage === undefined);
  const otherwise =
    unmeasured === undefined
      ? passed("usage adds up, and agrees with itself and with the text")
      : toUnmeasuredFinding(unmeasured);
  return chooseWorst(parts, otherwise);
}

/** Fails an answer whose counts are not integers, do not add up, or have a part above its whole. */
function arithmeticFindings(answers: readonly Observation[]): (Finding | undefined)[] {
  return answers
    .filter((seen) => seen.isPlain && isServed(seen))
    .map(({ usageFlaw, probe }) =>
      usageFlaw === undefined ? undefined : failed(usageFlaw, { probe }),
    );
}

/** Equal prompts must be billed equal prompt tokens, equal answers nearly equal output tokens. */
function sameFinding(
  { deployment }: Lab,
  first: Observation,
  second: Observation,
  about?: string,
): Finding | undefined {
  if (!isServed(first) || !isServed(second)) return undefined;
  if (first.usage === undefined || second.usage === undefined) return undefined;
  const how = second.stream ? "streamed" : "repeated";
  const differing = (what: string, tokens: string, a: number, b: number): Finding =>
    failed(`the same ${what} is billed differently when it is ${how}`, {
      ...(about !== undefined && { about }),
      percent_too_much: computePercent(Math.max(a, b), Math.min(a, b)),
      [tokens]: a,
      [`${tokens}_${how}`]: b,
    });
  const [asked, askedAgain] = [promptTokensTotal(first.usage), promptTokensTotal(second.usage)];
  if (asked !== askedAgain) return differing("prompt", "prompt_tokens", asked, askedAgain);
  const [one, other] = [first, second].map((seen) => {
    const { text, thinking } = readChat(deployment, seen) ?? {};
    return `${thinking} ${text}`;
  });
  const [said, saidAgain] = [first.usage.completion, second.usage.completion];
  if (one !== other || Math.abs(said - saidAgain) <= Math.max(2, ECHO_TOLERANCE * said)) {
    return undefined;
  }
  return differing("answer", "output_tokens", said, saidAgain);
}

async function tableFindings(
  lab: Lab,
  { usage }: Observation,
  perCopy: number | undefined,
): Promise<readonly (Finding | undefined)[]> {
  const parts: (Finding | undefined)[] = [];
  const frame = usage === undefined ? 0 : promptTokensTotal(usage) - (perCopy ?? 0);
  const asking = perCopy === undefined ? undefined : { perCopy, frame };
  try {
    for (const { whole, stream, longer } of factRows(lab)) {
      const [first, streamed] = [await lab.ask(whole), await lab.ask(stream)];
      const more = await lab.ask(longer);
      parts.push(sameFinding(lab, first, streamed, whole.about));
      if (asking === undefined) continue;
      parts.push(growthFinding({ ...asking, probe: whole, seen: first }));
      parts.push(growthFinding({ ...asking, probe: longer, seen: more, before: [whole, first] }));
    }
    for (const probe of [longFacts(lab, false), longFacts(lab, true)]) {
      const seen = await lab.ask(probe);
      if (asking !== undefined) parts.push(growthFinding({ ...asking, probe, seen }));
    }
  } catch (fault) {
    // The answers that came are judged. C10 sends the same probes, and reports the unsent ones.
    if (!(fault instanceof ProbeNotSent)) throw fault;
  }
  return parts;
}

const GROWTH_TOLERANCE = 0.03;
const GROWTH_TOKENS_MIN = 10;
/** Maximum tokens of a fact, of one in words of another alphabet (`OTHER`), and of a question. */
const FACT_TOKENS_MAX = 26;
const OTHER_FACT_TOKENS_MAX = 60;
const QUESTION_TOKENS_MAX = 80;
/** Maximum tokens of a turn of two short messages, with the chat template around each. */
const TURN_TOKENS_MAX = 25;
/** Maximum tokens of the text in which some providers explain tools to a model. */
const TOOLS_TOKENS_MAX = 600;

/**
 * Fails a prompt that is billed for more or fewer tokens than its text, its facts and the chat
 * template have. With `before`, a shorter form of the prompt, only the added text is compared.
 */
function growthFinding(of: {
  readonly perCopy: number;
  /** Prompt tokens that a request without a system message is billed for beyond its text. */
  readonly frame: number;
  readonly probe: FactProbe;
  readonly seen: Observation;
  readonly before?: readonly [FactProbe, Observation];
}): Finding | undefined {
  const { perCopy, frame, probe, seen, before } = of;
  if (!isServed(seen) || seen.usage === undefined) return undefined;
  const [earlier, earlierSeen] = before ?? [];
  if (before !== undefined && earlierSeen?.usage === undefined) return undefined;
  const copies = probe.copies - (earlier?.copies ?? 0);
  const billed =
    promptTokensTotal(seen.usage) -
    (earlierSeen?.usage === undefined ? 0 : promptTokensTotal(earlierSeen.usage));
  const expected = copies * perCopy;
  const spread = Math.max(GROWTH_TOKENS_MIN, GROWTH_TOLERANCE * expected) + 6 * probe.otherFacts;
  const beside = earlier === undefined ? besideTokensMax(probe, frame) : 0;
  // Some chat templates drop the descriptions of a tool's parameters, with their tokens.
  const least = expected - (probe.toolCopies - (earlier?.toolCopies ?? 0)) * perCopy;
  if (billed <= expected + spread + beside && billed >= least - spread) return undefined;
  return failed("a longer request is billed for other tokens than were added to it", {
    about: probe.about,
    percent_too_much: computePercent(billed, expected),
    tokens_billed: Math.round(billed),
    tokens_expected: Math.round(expected),
    allowed_beside_them: Math.round(spread + beside),
  });
}

function besideTokensMax(
  { facts, otherFacts, hasTools, hasSystem, turns }: FactProbe,
  frame: number,
): number {
  const own = (facts.length - otherFacts) * FACT_TOKENS_MAX + otherFacts * OTHER_FACT_TOKENS_MAX;
  const around = hasSystem ? Math.min(frame, FRAME_TOKENS_MAX) : frame;
  const more = QUESTION_TOKENS_MAX + turns * TURN_TOKENS_MAX + (hasTools ? TOOLS_TOKENS_MAX : 0);
  return Math.max(0, around) + own + more;
}

/** Output tokens allowed per answer, and per call in it, on top of one token for each byte. */
const OUTPUT_TOKENS_BESIDE = 16;
const CALL_TOKENS_BESIDE = 60;

function outputFinding({ deployment }: Lab, seen: Observation): Finding | undefined {
  if (!seen.isPlain || !isServed(seen) || seen.usage === undefined) return undefined;
  const answer = seen.wire?.id === deployment.wire ? readChat(deployment, seen) : undefined;
  if (answer === undefined) return undefined;
  const { text, thinking, calls } = answer;
  const said = text + thinking + calls.map((call) => call.name + call.argumentsText).join("");
  const most = Buffer.byteLength(said) + OUTPUT_TOKENS_BESIDE + calls.length * CALL_TOKENS_BESIDE;
  const tokens = seen.usage.completion;
  if (tokens <= most) return undefined;
  const evidence = { probe: seen.probe, output_tokens: tokens, bytes: Buffer.byteLength(said) };
  return failed("more output tokens are billed than the answer has bytes", evidence);
}

/** Fails an answer that cache tokens make dearer, because no probe asks the provider to cache. */
function dearFinding(lab: Lab, seen: Observation): Finding | undefined {
  const { prices } = lab.deployment;
  const { usage, probe } = seen;
  if (!seen.isPlain || !isServed(seen) || usage === undefined || prices === null) return undefined;
  const plain = {
    ...usage,
    prompt: usage.prompt + usage.cachedPrompt + usage.cacheWrite,
    cachedPrompt: 0,
    cacheWrite: 0,
    cacheWrite1h: 0,
  };
  if (exactCost(prices, usage) <= exactCost(prices, plain)) return hiddenFinding(lab, seen, usage);
  const evidence = {
    probe,
    cache_write_tokens: usage.cacheWrite,
    cached_tokens: usage.cachedPrompt,
  };
  return failed("a prompt is billed for a cache that was not asked for", evidence);
}

function hiddenFinding(
  { deployment }: Lab,
  seen: Observation,
  { internalReasoning: tokens }: Usage,
): Finding | undefined {
  const mayReason = REASONING.some((name) => deployment.supportedParameters.has(name));
  if (tokens === 0 || mayReason || seen.wire?.id !== deployment.wire) return undefined;
  if (readChat(deployment, seen)?.thinking !== "") return undefined;
  return failed("reasoning is billed that is neither shown nor listed", {
    probe: seen.probe,
    reasoning_tokens: tokens,
  });
}

const REASONING = ["reasoning", "reasoning_effort", "thinking"];

/** Maximum tokens of a chat template around a text. It may state a date or the model's name. */
const FRAME_TOKENS_MAX = 90;
/** Maximum tokens of a chat template that adds a system message to a request without one. */
const TEMPLATE_TOKENS_MAX = 600;
const FRAMED_SYSTEM_TOKENS = 10;

/** Tokens of one copy: half of what three copies have more than one. The template cancels out. */
function countPerCopy({ usage }: Observation, thrice: Observation): number | undefined {
  if (!isServed(thrice) || thrice.usage === undefined || usage === undefined) return undefined;
  return (promptTokensTotal(thrice.usage) - promptTokensTotal(usage)) / 2;
}

/** Fails a chat template with too many tokens, and warns if it seems to add a system message. */
function frameFindings(
  lab: Lab,
  { once, framed }: Readonly<Record<"once" | "framed", Observation>>,
  perCopy: number,
): readonly (Finding | undefined)[] {
  const beside = ({ usage }: Observation): number | undefined =>
    usage && Math.round(promptTokensTotal(usage) - perCopy);
  const [own, withSystem] = [beside(once), beside(framed)];
  const finding = (tokens: number, allowed: number, judge = failed): Finding | undefined =>
    tokens <= allowed && tokens >= -2
      ? undefined
      : judge("a request is billed for tokens that it does not have", {
          tokens_beside_the_text: tokens,
          allowed,
        });
  if (own === undefined || withSystem === undefined || !isServed(framed)) return [];
  return [
    finding(withSystem, FRAME_TOKENS_MAX + FRAMED_SYSTEM_TOKENS),
    finding(own, TEMPLATE_TOKENS_MAX) ?? finding(own, FRAME_TOKENS_MAX, warned),
    ...lab.seen().map((seen) => sizeFinding(lab, seen, { own, perCopy })),
  ];
}

const FORMAT_TOKENS_MAX = 256;
const SIZE_FACTOR_MAX = 1.3;

function sizeFinding(
  { deployment, chance }: Lab,
  { isPlain, wire, usage, plainBytes, probe, ...seen }: Observation,
  { own, perCopy }: { readonly own: number; readonly perCopy: number },
): Finding | undefined {
  if (!isPlain || usage === undefined || plainBytes === undefined) return undefined;
  if (wire?.id !== deployment.wire || seen.failure !== undefined) return undefined;
  const text = (SIZE_FACTOR_MAX * plainBytes * perCopy) / writeProse(chance, 1).length;
  const beside = /tool|call|fact/.test(probe) ? TOOLS_TOKENS_MAX : FORMAT_TOKENS_MAX;
  const tokens = promptTokensTotal(usage);
  const most = Math.round(Math.max(own, 0) + text + beside);
  if (tokens <= most) return undefined;
  const evidence = { probe, tokens_billed: tokens, at_most: most };
  return failed("a request is billed for tokens that it does not have", evidence);
}

const ECHO_TOLERANCE = 0.04;
const ECHO_TOKENS_MIN = 24;
const ECHO_COPIES = 2;

/** A text must have as many tokens in a prompt as in an answer. This needs no tokenizer. */
async function echoFinding(lab: Lab, what: string, probe: Probe): Promise<Finding | undefined> {
  const { deployment } = lab;
  const recited = await lab.ask(probe);
  const text = readChat(deployment, recited)?.text ?? "";
  if (!isServed(recited) || recited.usage === undefined || text === "") return undefined;
  const { completion: answered, internalReasoning: apart } = recited.usage;
  if (answered < ECHO_TOKENS_MIN) return undefined;
  // If shown reasoning is billed as part of the answer, the tokens of the text are unknown.
  if (apart === 0 && readChat(deployment, recited)?.thinking !== "") return undefined;
  const once = await lab.ask(chatProbes.echoed(lab, text, { what, copies: 1 }));
  const more = await lab.ask(chatProbes.echoed(lab, text, { what, copies: ECHO_COPIES }));
  if (once.usage === undefined || more.usage === undefined) return undefined;
  const grown = promptTokensTotal(more.usage) - promptTokensTotal(once.usage);
  const asked = grown / (ECHO_COPIES - 1);
  const spread = Math.max(3, ECHO_TOLERANCE * answered);
  if (Math.abs(asked - answered) <= spread) return undefined;
  return failed("the same text has more tokens in the prompt than in the answer, or fewer", {
    text: what,
    percent_too_much: computePercent(Math.max(asked, answered), Math.min(asked, answered)),
    tokens_in_the_answer: answered,
    tokens_in_the_prompt: Math.round(asked),
    tolerance_percent: ECHO_TOLERANCE * 100,
  });
}
