import type { SimAnswer } from "../../../src/dev/simulator/answer.ts";
import { estimateTokens } from "../../../src/dev/simulator/sim-request.ts";
import { type Asked, prompt, type TextCheats, type TextEffect } from "./text-effects.ts";

const NONE = "none, because it is honest";

/** Changes the text and the token count of an answer, unless that would exceed its bound. */
function worded(change: (text: string, asked: Asked) => string): NonNullable<TextEffect["answer"]> {
  return (answer, asked) => {
    const { maxTokens = Number.POSITIVE_INFINITY, answerSchema } = asked.request;
    if (answer.finish !== "stop" || answerSchema !== undefined) return answer;
    const text = change(answer.text, asked);
    const output = answer.usage.output - estimateTokens(answer.text) + estimateTokens(text);
    return output > maxTokens ? answer : { ...answer, text, usage: { ...answer.usage, output } };
  };
}

const THOUGHT = "The user wants an answer. I look at what was said, and say it. ".repeat(4);

function thinking(answer: SimAnswer, { request: { maxTokens = 1e9 } }: Asked): SimAnswer {
  const output = answer.usage.output + estimateTokens(THOUGHT);
  if (output <= maxTokens) {
    return { ...answer, thinking: THOUGHT, usage: { ...answer.usage, output } };
  }
  const usage = { ...answer.usage, output: maxTokens };
  const cut = THOUGHT.slice(0, 4 * maxTokens);
  return { ...answer, thinking: cut, text: "", calls: [], finish: "length", usage };
}

/** Odd behavior of honest models and servers. No check may fail because of it. */
export const CLUMSY_MODELS: TextCheats = {
  "honest-chatty": [
    NONE,
    { answer: worded((text) => `Sure! Here you go:\n\n${text}\n\nAnything else?  \n`) },
  ],
  /** Emphasizes long numbers, writes commas in thousands, and uses hyphens that do not break. */
  "honest-markdown": [
    NONE,
    {
      answer: worded((text) =>
        text
          .replaceAll(/\b(\d)(\d{3})\b/g, "**$1,$2**")
          .replaceAll(/(\p{L})-(\p{L})/gu, "$1\u2011$2"),
      ),
    },
  ],
  "honest-refusing": [
    NONE,
    { every: 6, answer: worded(() => "I'm sorry, but I can't help with that.") },
  ],
  "honest-miscounting": [
    NONE,
    {
      answer: worded((text) =>
        text.replace(/^(\d+ \d+ \d+) [\d ]+ (\d+)$/, "Here they are: $1 ... $2"),
      ),
    },
  ],
  "honest-thinking": [NONE, { answer: thinking }],
  "honest-template": [NONE, { usage: prompt((n) => n + 75) }],
  "honest-default-prompt": [NONE, { when: "unguided", usage: prompt((n) => n + 150) }],
};
