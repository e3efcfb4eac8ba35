import { answerTo } from "../../../src/dev/simulator/answer.ts";
import { estimateTokens } from "../../../src/dev/simulator/sim-request.ts";
import {
  textOfPart,
  prompt,
  output,
  twice,
  asIf,
  textFrames,
  pieces,
  afterEnd,
  FINISH,
  type TextCheats,
} from "./text-effects.ts";
import { CONTENT_CHEATS } from "./content-cheats.ts";
import { CLUMSY_MODELS } from "./clumsy-models.ts";

/** Output bounds that a provider which has read the suite would expect in its requests. */
const KNOWN_BOUNDS = new Set([1, 5, 16, 512, 1_024, 2_048, 4_096]);

export const TEXT_CHEATS: TextCheats = {
  "two-end-marks": ["C3", { frames: afterEnd((_frames, end) => [end]) }],
  "text-after-end-mark": [
    "C3 and others",
    { frames: afterEnd((frames) => textFrames(frames).slice(-1)) },
  ],
  "last-piece-lost": [
    "C3 and others",
    { frames: pieces((at, of) => (of > 2 && at === of - 1 ? 0 : 1)) },
  ],
  "middle-piece-lost": ["C3", { frames: pieces((at, of) => (of > 40 && at === 20 ? 0 : 1)) }],
  "middle-piece-twice": ["C3", { frames: pieces((at, of) => (of > 40 && at === 20 ? 2 : 1)) }],
  "end-mark-missing": [
    "C3 and others",
    { frames: (frames) => frames.filter(({ kind }) => kind !== "end") },
  ],

  "usage-plus-10-percent": ["C4", { usage: prompt((n) => (n * 11) / 10) }],
  "usage-plus-constant": ["C4", { usage: prompt((n) => n + 100) }],
  "usage-cached-over-prompt": [
    "C4",
    { usage: ({ prompt: n }) => ({ cached: n + 10, cacheWrite: 0, hourWrite: 0 }) },
  ],
  "usage-differs-in-stream": ["C4", { when: "stream", usage: prompt((n) => n + 5) }],
  "usage-differs-when-repeated": ["C4", { every: 3, usage: prompt((n) => n + 7) }],
  "usage-rounded-up": ["C4", { usage: prompt((n) => Math.ceil(n / 100) * 100) }],
  "usage-plus-15-percent-when-long": ["C4", { when: "long", usage: prompt((n) => n * 1.15) }],
  "usage-plus-15-percent-in-long-stream": [
    "C4",
    { when: "long stream", usage: prompt((n) => n * 1.15) },
  ],
  "system-billed-twice": ["C4", { usage: twice("system") }],
  "system-plus-constant": ["C4", { when: "system", usage: prompt((n) => n + 300) }],
  "history-billed-twice": ["C4", { usage: twice("history") }],
  "results-billed-twice": ["C4", { usage: twice("results") }, "tools"],
  "tools-plus-constant": ["C4", { when: "tools", usage: prompt((n) => n + 2_000) }, "tools"],
  "system-and-history-plus-20-percent": [
    "C4",
    { when: "system history", usage: prompt((n) => n * 1.2) },
  ],
  "others-billed-twice": [
    "C4",
    {
      when: "others",
      usage: prompt(
        (n, { body }) =>
          n + estimateTokens(textOfPart(body, "all").replaceAll(/[^\u0250-\uffff]/g, "")),
      ),
    },
  ],
  "output-minimum": ["C4", { usage: output((n) => Math.max(50, n)) }],
  "output-plus-20-percent": ["C4", { usage: output((n) => n * 1.2) }],
  "output-plus-20-percent-in-stream": ["C4", { when: "stream", usage: output((n) => n * 1.2) }],
  "output-plus-constant": ["C4", { usage: output((n) => n + 30) }],
  "output-twice-with-tools": ["C4", { when: "tools", usage: output((n) => n * 2 + 40) }, "tools"],
  "reasoning-invented": [
    "C4",
    {
      usage: ({ output: n, reasoning }, { request: { maxTokens = 0 } }) =>
        n + 20 <= maxTokens ? { output: n + 20, reasoning: reasoning + 20 } : {},
    },
    "no reasoning unless asked for",
  ],
  "cache-write-invented": [
    "C4",
    { usage: ({ prompt: n }) => ({ cacheWrite: n, cached: 0 }) },
    "dear cache writes",
  ],
  "usage-total-plus-9": [
    "C4",
    {
      json: (text) =>
        text.replace(
          /"total_tokens":(\d+)/,
          (_all, n: string) => `"total_tokens":${Number(n) + 9}`,
        ),
    },
    "a total in its usage",
  ],
  "usage-not-whole": [
    "C4",
    { json: (text) => text.replaceAll(/"(prompt_tokens|input_tokens)":(\d+)/g, '"$1":$2.5') },
  ],
  "output-plus-quarter-when-long": [
    "C4",
    {
      usage: ({ output: n }, { request: { maxTokens = 1e9 } }) =>
        n > 100 ? { output: Math.min(maxTokens, Math.ceil(n * 1.25)) } : {},
    },
  ],
  "usage-rounded-to-64": ["C4", { usage: prompt((n) => Math.ceil(n / 64) * 64) }],
  "usage-plus-10-percent-from-sixtieth": ["C4", { after: 60, usage: prompt((n) => n * 1.1) }],
  "usage-plus-20-percent-with-other-bounds": [
    "C4",
    {
      usage: prompt((n, { request }) => (KNOWN_BOUNDS.has(request.maxTokens ?? 0) ? n : n * 1.2)),
    },
  ],
  "tools-billed-thrice": [
    "C4",
    { usage: prompt((n, { body }) => n + 2 * estimateTokens(JSON.stringify(body["tools"] ?? ""))) },
    "tools",
  ],
  "stop-billed": [
    "C4",
    {
      answer: (answer, { request }) => {
        if (answer.stopSequence === null) return answer;
        const { usage } = answerTo({ ...request, stops: [] });
        return { ...answer, usage: { ...answer.usage, output: usage.output } };
      },
    },
    "stop sequences",
  ],
  "format-plus-constant": ["C4", { when: "format", usage: prompt((n) => n + 400) }, "formats"],
  "stream-billed-by-piece": [
    "C4 and others",
    {
      when: "stream",
      answer: (answer) =>
        answer.calls.length > 0
          ? answer
          : {
              ...answer,
              usage: { ...answer.usage, output: Math.ceil(answer.text.length / 8) * 3 },
            },
    },
  ],
  "empty-and-billed": [
    "C4 and others",
    { every: 12, answer: (answer) => ({ ...answer, text: "" }) },
  ],

  "stop-leaked": [
    "C5",
    {
      answer: (answer, { request: { maxTokens = Number.POSITIVE_INFINITY } }) => {
        if (answer.stopSequence === null) return answer;
        const text = answer.text + answer.stopSequence;
        const spoken = answer.usage.output - estimateTokens(answer.text) + estimateTokens(text);
        const isWithin = spoken <= maxTokens;
        return isWithin ? { ...answer, text, usage: { ...answer.usage, output: spoken } } : answer;
      },
    },
    "stop sequences",
  ],
  "stop-ignored": ["C5", { answer: asIf(() => ({ stops: [] })) }, "stop sequences"],
  "stop-ignored-in-stream": [
    "C5",
    { when: "stream", answer: asIf(() => ({ stops: [] })) },
    "stop sequences",
  ],
  "second-stop-ignored": [
    "C5",
    { answer: asIf(({ stops }) => ({ stops: stops.slice(0, 1) })) },
    "stop sequences",
  ],
  "length-as-stop": [
    "C5",
    { answer: (answer) => (answer.finish === "length" ? { ...answer, finish: "stop" } : answer) },
  ],
  "length-as-stop-in-stream": [
    "C5",
    {
      when: "stream",
      answer: (answer) => (answer.finish === "length" ? { ...answer, finish: "stop" } : answer),
    },
  ],
  "stop-as-length": [
    "C5 and others",
    {
      answer: (answer) =>
        answer.calls.length > 0 ? answer : { ...answer, finish: "length", stopSequence: null },
    },
  ],
  "stop-as-length-with-system": [
    "C5",
    { when: "system", answer: (answer) => ({ ...answer, finish: "length", stopSequence: null }) },
  ],
  "finish-missing-in-stream": [
    "C3 C5",
    { when: "stream", json: (text) => text.replaceAll(FINISH, '"$1":null') },
  ],
  "finish-of-calls": [
    "C5",
    { answer: (answer) => (answer.finish === "stop" ? { ...answer, finish: "tools" } : answer) },
  ],
  "answer-capped": [
    "C5",
    { answer: asIf(({ maxTokens = 60 }) => ({ maxTokens: Math.min(60, maxTokens) })) },
  ],
  "answer-capped-silently": [
    "C2 C3",
    {
      answer: (answer, { request }) =>
        answer.usage.output <= 60 || answer.calls.length > 0
          ? answer
          : {
              ...answerTo({ ...request, maxTokens: 60 }),
              finish: request.maxTokens === undefined || request.maxTokens > 60 ? "stop" : "length",
            },
    },
  ],
  "answer-capped-at-1000": [
    "C5",
    {
      answer: (_answer, { request }) =>
        answerTo({ ...request, maxTokens: Math.min(1_000, request.maxTokens ?? 1_000) }),
    },
  ],

  ...CONTENT_CHEATS,
  ...CLUMSY_MODELS,
};
