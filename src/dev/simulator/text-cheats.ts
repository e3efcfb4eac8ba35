import { answerTo, type SimAnswer, type SimUsage } from "./answer.ts";
import type { Frame } from "./dialect.ts";
import { isObject, objectsOf, textOf, type JsonObject } from "./json.ts";
import { tokensOf, type SimRequest } from "./sim-request.ts";

/** A request as a cheat sees it. */
export interface Asked {
  readonly body: JsonObject;
  readonly request: SimRequest;
}

/** What a cheat changes of a chat answer; nothing else is. */
export interface TextEffect {
  /** Only of requests with all of these traits; default: of every one. */
  readonly when?: string;
  /** Only of each so many-th answer. */
  readonly every?: number;
  /** The model's name in the answer; `*` is the right one. */
  readonly model?: string;
  /** The prompt as the model reads it; the usage is of the whole one. */
  readonly read?: (body: JsonObject) => JsonObject;
  readonly request?: (request: SimRequest) => SimRequest;
  readonly answer?: (answer: SimAnswer, asked: Asked) => SimAnswer;
  readonly usage?: (usage: SimUsage, asked: Asked) => Partial<SimUsage>;
  readonly frames?: (frames: readonly Frame[]) => readonly Frame[];
  /** The JSON of a whole answer, and of each event. */
  readonly json?: (text: string) => string;
  /** The first answer to a prompt with this key is given to all others that have it. */
  readonly replay?: (asked: Asked) => string;
}

/* The parts of a prompt, on either wire. */
type Part = "system" | "history" | "answers" | "results" | "last";

/** The body with every text of one part changed. */
function mapPart(
  body: JsonObject,
  part: Part | "all",
  change: (text: string) => string,
): JsonObject {
  const messages = objectsOf(body["messages"]);
  const lastTurn = messages.findLastIndex(
    ({ role, content }) => role === "assistant" && isSaid(content),
  );
  const changed = (content: unknown, of: Part): unknown => {
    const isMeant = part === "all" || part === of || (part === "history" && of === "answers");
    if (typeof content === "string") return isMeant ? change(content) : content;
    if (!Array.isArray(content)) return content;
    return content.map((each: unknown) => {
      if (!isObject(each)) return each;
      if (each["type"] === "tool_result")
        return { ...each, content: changed(each["content"], "results") };
      return each["type"] === "text" && isMeant
        ? { ...each, text: change(textOf(each["text"])) }
        : each;
    });
  };
  return {
    ...body,
    ...(body["system"] !== undefined && { system: changed(body["system"], "system") }),
    messages: messages.map((message, at) => {
      const { role, content } = message;
      const of: Part =
        role === "system" || role === "developer"
          ? "system"
          : role === "tool"
            ? "results"
            : role === "assistant"
              ? "answers"
              : at < lastTurn
                ? "history"
                : "last";
      return { ...message, content: changed(content, of) };
    }),
  };
}

function isSaid(content: unknown): boolean {
  return typeof content === "string"
    ? content !== ""
    : objectsOf(content).some(({ type }) => type === "text");
}

function textOfPart(body: JsonObject, part: Part | "all"): string {
  const texts: string[] = [];
  mapPart(body, part, (text) => {
    texts.push(text);
    return text;
  });
  return texts.join("\n");
}

const OTHERS = /[\u0250-\uffff]/;
const LONG_TOKENS = 1_000;

/** What a request may have, by the words of `when`. */
const TRAITS: Readonly<Record<string, (asked: Asked) => boolean>> = {
  stream: ({ request }) => request.stream,
  whole: ({ request }) => !request.stream,
  system: ({ body }) => textOfPart(body, "system") !== "",
  history: ({ body }) => textOfPart(body, "answers") !== "",
  tools: ({ request }) => request.tools.length > 0,
  results: ({ body }) => textOfPart(body, "results") !== "",
  long: ({ request }) => request.promptTokens > LONG_TOKENS,
  others: ({ body }) => OTHERS.test(textOfPart(body, "all")),
  seed: ({ body }) => body["seed"] !== undefined,
  cold: ({ body }) => body["temperature"] === 0,
  format: ({ request }) => request.answerSchema !== undefined,
  thinking: ({ request }) => request.thinking,
};

export function hasTraits(when: string, asked: Asked): boolean {
  return when.split(" ").every((word) => word === "" || TRAITS[word]?.(asked) === true);
}

const OTHER_MODEL = "another-model";
const READ_TOKENS_MAX = 2_000;
const CHARS_PER_TOKEN = 4;

function unread(part: Part): NonNullable<TextEffect["read"]> {
  return (body) => mapPart(body, part, () => "");
}

function readOf(
  part: Part | "all",
  change: (text: string) => string,
): NonNullable<TextEffect["read"]> {
  return (body) => mapPart(body, part, change);
}

function prompt(
  change: (tokens: number, asked: Asked) => number,
): NonNullable<TextEffect["usage"]> {
  return (usage, asked) => ({ prompt: Math.ceil(change(usage.prompt, asked)) });
}

function output(change: (tokens: number) => number): NonNullable<TextEffect["usage"]> {
  return (usage, { request: { maxTokens = Number.POSITIVE_INFINITY } }) => ({
    output: Math.min(maxTokens, Math.ceil(change(usage.output))),
  });
}

function twice(part: Part): NonNullable<TextEffect["usage"]> {
  return prompt((tokens, { body }) => tokens + tokensOf(textOfPart(body, part)));
}

/** The answer to a request that is a little another one. */
function asIf(
  change: (request: SimRequest) => Partial<SimRequest>,
): NonNullable<TextEffect["answer"]> {
  return (_answer, { request }) => answerTo({ ...request, ...change(request) });
}

function calls(
  change: (call: SimAnswer["calls"][number]) => Partial<SimAnswer["calls"][number]>,
): NonNullable<TextEffect["answer"]> {
  return (answer) => ({
    ...answer,
    calls: answer.calls.map((call) => ({ ...call, ...change(call) })),
  });
}

/** A piece of text, as either wire sends it. */
const TEXT_PIECE = /"delta":\{(?:"type":"text_delta","text"|"content"):"[^"]/;

function textFrames(frames: readonly Frame[]): readonly Frame[] {
  return frames.filter(({ kind, data }) => kind === "content" && TEXT_PIECE.test(data));
}

/** Pieces of text are lost, or come twice: which ones, of how many. */
function pieces(times: (at: number, of: number) => number): NonNullable<TextEffect["frames"]> {
  return (frames) => {
    const texts = textFrames(frames);
    return frames.flatMap((frame) => {
      const at = texts.indexOf(frame);
      return Array.from({ length: at === -1 ? 1 : times(at, texts.length) }, () => frame);
    });
  };
}

/** Behind the end mark. */
function afterEnd(
  more: (frames: readonly Frame[], end: Frame) => readonly Frame[],
): NonNullable<TextEffect["frames"]> {
  return (frames) => {
    const end = frames.at(-1);
    return end?.kind === "end" ? [...frames, ...more(frames, end)] : frames;
  };
}

const FINISH = /"(finish_reason|stop_reason)":"[a-z_]+"/g;

type Rows = Readonly<
  Record<string, readonly [check: string, does: string, effect: TextEffect, needs?: string]>
>;

/** Every cheat of a chat provider: which check finds it, what it does, and how. */
export const TEXT_CHEATS: Rows = {
  "two-end-marks": [
    "C3",
    "A stream has its end mark twice.",
    { frames: afterEnd((_frames, end) => [end]) },
  ],
  "text-after-end-mark": [
    "C3 and others",
    "The last piece of a streamed text comes once more after the end mark.",
    { frames: afterEnd((frames) => textFrames(frames).slice(-1)) },
  ],
  "last-piece-lost": [
    "C3 and others",
    "A stream of more than two pieces lacks its last one.",
    { frames: pieces((at, of) => (of > 2 && at === of - 1 ? 0 : 1)) },
  ],
  "middle-piece-lost": [
    "C3",
    "A stream of more than 40 pieces lacks one in the middle.",
    { frames: pieces((at, of) => (of > 40 && at === 20 ? 0 : 1)) },
  ],
  "middle-piece-twice": [
    "C3",
    "A stream of more than 40 pieces has one in the middle twice.",
    { frames: pieces((at, of) => (of > 40 && at === 20 ? 2 : 1)) },
  ],
  "end-mark-missing": [
    "C3 and others",
    "A stream has no end mark.",
    { frames: (frames) => frames.filter(({ kind }) => kind !== "end") },
  ],

  "usage-plus-10-percent": [
    "C4",
    "A tenth more prompt tokens are reported than the prompt has, rounded up.",
    { usage: prompt((n) => (n * 11) / 10) },
  ],
  "usage-plus-constant": [
    "C4",
    "100 prompt tokens more are reported than the prompt has.",
    { usage: prompt((n) => n + 100) },
  ],
  "usage-cached-over-prompt": [
    "C4",
    "10 cached tokens more are reported than the prompt has tokens.",
    { usage: ({ prompt: n }) => ({ cached: n + 10, cacheWrite: 0, hourWrite: 0 }) },
  ],
  "usage-differs-in-stream": [
    "C4",
    "A stream reports 5 prompt tokens more than a whole answer to the same prompt.",
    { when: "stream", usage: prompt((n) => n + 5) },
  ],
  "usage-differs-when-repeated": [
    "C4",
    "The prompt tokens of every third answer are 7 more.",
    { every: 3, usage: prompt((n) => n + 7) },
  ],
  "usage-rounded-up": [
    "C4",
    "Prompt tokens are rounded up to the next hundred.",
    { usage: prompt((n) => Math.ceil(n / 100) * 100) },
  ],
  "usage-plus-15-percent-when-long": [
    "C4",
    "15 % more prompt tokens are reported above 1,000.",
    { when: "long", usage: prompt((n) => n * 1.15) },
  ],
  "usage-plus-15-percent-in-long-stream": [
    "C4",
    "15 % more prompt tokens are reported above 1,000, in streams.",
    { when: "long stream", usage: prompt((n) => n * 1.15) },
  ],
  "system-billed-twice": [
    "C4",
    "The tokens of a system message are reported twice.",
    { usage: twice("system") },
  ],
  "system-plus-constant": [
    "C4",
    "A request with a system message has 300 tokens more.",
    { when: "system", usage: prompt((n) => n + 300) },
  ],
  "history-billed-twice": [
    "C4",
    "The tokens of earlier turns are reported twice.",
    { usage: twice("history") },
  ],
  "results-billed-twice": [
    "C4",
    "The tokens of tool results are reported twice.",
    { usage: twice("results") },
    "tools",
  ],
  "tools-plus-constant": [
    "C4",
    "A request with tools has 2,000 tokens more.",
    { when: "tools", usage: prompt((n) => n + 2_000) },
    "tools",
  ],
  "system-and-history-plus-20-percent": [
    "C4",
    "A request with a system message and earlier turns has a fifth more tokens.",
    { when: "system history", usage: prompt((n) => n * 1.2) },
  ],
  "others-billed-twice": [
    "C4",
    "Characters of other alphabets than Latin are counted twice.",
    {
      when: "others",
      usage: prompt(
        (n, { body }) => n + tokensOf(textOfPart(body, "all").replaceAll(/[^\u0250-\uffff]/g, "")),
      ),
    },
  ],
  "output-minimum": [
    "C4",
    "An answer has 50 output tokens at least.",
    { usage: output((n) => Math.max(50, n)) },
  ],
  "output-plus-20-percent": [
    "C4",
    "A fifth more output tokens are reported than the answer has.",
    { usage: output((n) => n * 1.2) },
  ],
  "output-plus-20-percent-in-stream": [
    "C4",
    "A fifth more output tokens are reported, in streams.",
    { when: "stream", usage: output((n) => n * 1.2) },
  ],
  "output-plus-constant": [
    "C4",
    "30 output tokens more are reported than the answer has.",
    { usage: output((n) => n + 30) },
  ],
  "output-twice-with-tools": [
    "C4",
    "Twice the output tokens are reported where tools are offered.",
    { when: "tools", usage: output((n) => n * 2 + 40) },
    "tools",
  ],
  "reasoning-invented": [
    "C4",
    "20 tokens of reasoning are reported that nobody asked for and nobody sees.",
    {
      usage: ({ output: n, reasoning }, { request: { maxTokens = 0 } }) =>
        n + 20 <= maxTokens ? { output: n + 20, reasoning: reasoning + 20 } : {},
    },
    "no reasoning unless asked for",
  ],
  "cache-write-invented": [
    "C4",
    "Every prompt is reported as written into a cache that costs more.",
    { usage: ({ prompt: n }) => ({ cacheWrite: n, cached: 0 }) },
    "dear cache writes",
  ],
  "usage-total-plus-9": [
    "C4",
    "The total of tokens is 9 more than its parts.",
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
    "Half a prompt token more is reported.",
    { json: (text) => text.replaceAll(/"(prompt_tokens|input_tokens)":(\d+)/g, '"$1":$2.5') },
  ],

  "stop-leaked": [
    "C5",
    "An answer contains the stop sequence that ends it.",
    {
      answer: (answer, { request: { maxTokens = Number.POSITIVE_INFINITY } }) => {
        if (answer.stopSequence === null) return answer;
        const text = answer.text + answer.stopSequence;
        const spoken = answer.usage.output - tokensOf(answer.text) + tokensOf(text);
        const isWithin = spoken <= maxTokens;
        return isWithin ? { ...answer, text, usage: { ...answer.usage, output: spoken } } : answer;
      },
    },
    "stop sequences",
  ],
  "stop-ignored": [
    "C5",
    "Stop sequences are ignored.",
    { answer: asIf(() => ({ stops: [] })) },
    "stop sequences",
  ],
  "stop-ignored-in-stream": [
    "C5",
    "Stop sequences are ignored in streams.",
    { when: "stream", answer: asIf(() => ({ stops: [] })) },
    "stop sequences",
  ],
  "second-stop-ignored": [
    "C5",
    "Of several stop sequences only the first one is honoured.",
    { answer: asIf(({ stops }) => ({ stops: stops.slice(0, 1) })) },
    "stop sequences",
  ],
  "length-as-stop": [
    "C5",
    "An answer that is cut at its bound says that it ended by itself.",
    { answer: (answer) => (answer.finish === "length" ? { ...answer, finish: "stop" } : answer) },
  ],
  "length-as-stop-in-stream": [
    "C5",
    "A stream that is cut at its bound says that it ended by itself.",
    {
      when: "stream",
      answer: (answer) => (answer.finish === "length" ? { ...answer, finish: "stop" } : answer),
    },
  ],
  "stop-as-length": [
    "C5 and others",
    "Every answer says that its bound cut it.",
    {
      answer: (answer) =>
        answer.calls.length > 0 ? answer : { ...answer, finish: "length", stopSequence: null },
    },
  ],
  "stop-as-length-with-system": [
    "C5",
    "An answer to a request with a system message says that its bound cut it.",
    { when: "system", answer: (answer) => ({ ...answer, finish: "length", stopSequence: null }) },
  ],
  "finish-missing-in-stream": [
    "C3 C5",
    "A stream has no finish reason.",
    { when: "stream", json: (text) => text.replaceAll(FINISH, '"$1":null') },
  ],
  "finish-of-calls": [
    "C5",
    "An answer says that it ended for a call, and has none.",
    { answer: (answer) => (answer.finish === "stop" ? { ...answer, finish: "tools" } : answer) },
  ],
  "answer-capped": [
    "C5",
    "No answer is longer than 60 tokens; it says that its bound cut it.",
    { answer: asIf(({ maxTokens = 60 }) => ({ maxTokens: Math.min(60, maxTokens) })) },
  ],
  "answer-capped-silently": [
    "C2 C3",
    "No answer is longer than 60 tokens; it says that it ended by itself.",
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

  "tool-arguments-broken-in-stream": [
    "C6",
    "The arguments of a streamed tool call end in their middle; those of a whole one do not.",
    {
      when: "stream",
      answer: calls((call) => ({
        arguments: call.arguments.slice(0, Math.floor(call.arguments.length / 2)),
      })),
    },
    "tools",
  ],
  "tool-ids-empty": [
    "C6",
    "Calls have no ids.",
    { json: (text) => text.replaceAll(/"(call|toolu)_[^"]*"/g, '""') },
    "tools",
  ],
  "tool-ids-empty-in-stream": [
    "C6",
    "Calls have no ids in streams.",
    { when: "stream", json: (text) => text.replaceAll(/"(call|toolu)_[^"]*"/g, '""') },
    "tools",
  ],
  "tool-choice-none-ignored": [
    "C6",
    "A tool is called although no call is allowed.",
    { answer: asIf(({ choice }) => (choice.kind === "none" ? { choice: { kind: "auto" } } : {})) },
    "tools",
  ],
  "tool-choice-named-ignored": [
    "C6",
    "The first tool is called, whichever is named.",
    {
      answer: asIf(({ choice, tools: [first] }) =>
        choice.kind === "tool" && first ? { choice: { kind: "tool", name: first.name } } : {},
      ),
    },
    "tools",
  ],
  "tool-choice-required-ignored": [
    "C6",
    "No tool is called where any one is required.",
    { answer: asIf(({ choice }) => (choice.kind === "any" ? { choice: { kind: "auto" } } : {})) },
    "tools",
  ],
  "tool-choice-ignored-in-stream": [
    "C6",
    "The choice of a tool is ignored in streams.",
    { when: "stream", answer: asIf(() => ({ choice: { kind: "none" } })) },
    "tools",
  ],
  "tool-calls-not-single": [
    "C6",
    "Two tools are called where one call at most is allowed.",
    { answer: asIf(() => ({ parallel: true })) },
    "single calls",
  ],
  "tool-arguments-of-another": [
    "C6",
    "Every call has the arguments of the first one.",
    {
      replay: ({ request }) => (request.choice.kind === "tool" ? "tool" : ""),
    },
    "tools",
  ],
  "tool-value-unknown": [
    "C6",
    "A call has a value that the tool does not know.",
    { answer: calls((call) => ({ arguments: call.arguments.replace("celsius", "kelvin") })) },
    "tools",
  ],
  "format-ignored": [
    "C6",
    "A format of the answer is ignored.",
    { request: ({ answerSchema: _schema, ...request }) => request },
    "formats",
  ],
  "format-ignored-in-stream": [
    "C6",
    "A format of the answer is ignored in streams.",
    { when: "stream", request: ({ answerSchema: _schema, ...request }) => request },
    "formats",
  ],
  "format-without-schema": [
    "C6",
    "An answer is JSON, and not of the schema that was asked for.",
    { when: "format", answer: (answer) => ({ ...answer, text: '{"answer":1}' }) },
    "formats",
  ],

  "model-in-stream": [
    "C7",
    "A stream names another model; a whole answer names the right one.",
    { when: "stream", model: OTHER_MODEL },
  ],
  "model-whole": [
    "C7",
    "A whole answer names another model; a stream names the right one.",
    { when: "whole", model: OTHER_MODEL },
  ],
  "model-once-in-ten": [
    "C7",
    "Every tenth chat answer of the simulator names another model.",
    { every: 10, model: OTHER_MODEL },
  ],
  "model-fake-date": [
    "C7",
    "The model is named with the suffix -20261399, which is not a date.",
    { model: "*-20261399" },
  ],
  "model-with-system": [
    "C7",
    "Another model answers requests with a system message.",
    { when: "system", model: OTHER_MODEL },
  ],
  "model-with-history": [
    "C7",
    "Another model answers requests with earlier turns.",
    { when: "history", model: OTHER_MODEL },
  ],
  "model-with-tools": [
    "C7",
    "Another model answers requests with tools.",
    { when: "tools", model: OTHER_MODEL },
    "tools",
  ],
  "model-when-long": [
    "C7",
    "Another model answers prompts above 1,000 tokens.",
    { when: "long", model: OTHER_MODEL },
  ],
  "model-with-others": [
    "C7",
    "Another model answers prompts in other alphabets.",
    { when: "others", model: OTHER_MODEL },
  ],
  "model-with-system-in-stream": [
    "C7",
    "Another model streams to requests with a system message and tools.",
    { when: "stream system tools", model: OTHER_MODEL },
    "tools",
  ],
  "model-unnamed-in-stream": [
    "C7",
    "A stream does not name its model.",
    { when: "stream", json: (text) => text.replace(/"model":"[^"]*",?/, "") },
  ],

  "bound-ignored": [
    "C9",
    "The output bound is ignored: the whole answer is sent and reported.",
    { answer: asIf(() => ({ maxTokens: undefined })) },
  ],
  "bound-ignored-in-stream": [
    "C9",
    "The output bound is ignored in streams.",
    { when: "stream", answer: asIf(() => ({ maxTokens: undefined })) },
  ],
  "bound-off-by-one": [
    "C9",
    "An answer that is cut at its bound has one token more than the bound.",
    {
      answer: (answer, { request }) => {
        if (answer.finish !== "length" || request.maxTokens === undefined) return answer;
        const longer = answerTo({ ...request, maxTokens: request.maxTokens + 1 });
        return { ...longer, finish: "length", stopSequence: null };
      },
    },
  ],
  "bound-at-least-40": [
    "C9",
    "No bound is less than 40 tokens.",
    { answer: asIf(({ maxTokens = 40 }) => ({ maxTokens: Math.max(40, maxTokens) })) },
  ],

  "context-truncated": [
    "C10",
    "Only the last 2,000 tokens of the prompt are read; all of them are reported.",
    { read: lastTokens },
  ],
  "context-truncated-in-stream": [
    "C10",
    "Only the last 2,000 tokens of the prompt are read in streams.",
    { when: "stream", read: lastTokens },
  ],
  "middle-dropped": [
    "C10",
    "Of a text of more than 4,000 characters the middle third is not read.",
    {
      read: readOf("all", (text) =>
        text.length > 4_000
          ? text.slice(0, text.length / 3) + text.slice((2 * text.length) / 3)
          : text,
      ),
    },
  ],
  "middle-dropped-of-1000": [
    "C10",
    "Of a text of more than 8,000 characters only the first and the last 2,000 are read.",
    {
      read: readOf("all", (text) =>
        text.length > 8_000 ? text.slice(0, 2_000) + text.slice(-2_000) : text,
      ),
    },
  ],
  "image-ignored": [
    "C10",
    "An image in the prompt has no influence on the answer.",
    {
      request: (request) => ({
        ...request,
        media: request.media.filter(({ kind }) => kind !== "image"),
      }),
    },
    "images in the prompt",
  ],
  "system-dropped": ["C10", "The system message is not read.", { read: unread("system") }],
  "system-dropped-in-stream": [
    "C10",
    "The system message is not read in streams.",
    { when: "stream", read: unread("system") },
  ],
  "system-cut": [
    "C10",
    "Of a system message the first 200 characters are read.",
    { read: readOf("system", (text) => text.slice(0, 200)) },
  ],
  "system-dropped-with-tools": [
    "C10",
    "The system message is not read where tools are offered.",
    { when: "tools", read: unread("system") },
    "tools",
  ],
  "history-dropped": ["C10", "Earlier turns are not read.", { read: unread("history") }],
  "answers-dropped": [
    "C10",
    "Of earlier turns the answers are not read.",
    { read: unread("answers") },
  ],
  "history-cut": [
    "C10",
    "Of every earlier message the first 300 characters are read.",
    { read: readOf("history", (text) => text.slice(0, 300)) },
  ],
  "results-dropped": ["C10", "Tool results are not read.", { read: unread("results") }, "tools"],
  "results-cut": [
    "C10",
    "Of a tool result the first 300 characters are read.",
    { read: readOf("results", (text) => text.slice(0, 300)) },
    "tools",
  ],
  "others-dropped": [
    "C10",
    "Characters of other alphabets than Latin are not read.",
    { read: readOf("all", (text) => text.replaceAll(/[\u0250-\uffff]/g, "")) },
  ],
  "others-as-question-marks": [
    "C10",
    "Characters beyond ASCII are read as question marks, in streams.",
    { when: "stream", read: readOf("all", (text) => text.replaceAll(/[\u0080-\uffff]/g, "?")) },
  ],
  "others-lost-in-answer": [
    "C10 and others",
    "Characters of other alphabets are lost in the answer.",
    { answer: (answer) => ({ ...answer, text: answer.text.replaceAll(/[\u0250-\uffff]/g, "") }) },
  ],
  "replayed-by-prefix": [
    "C10 and others",
    "Who asks with the same first 200 characters gets the first one's answer.",
    { replay: ({ body }) => textOfPart(body, "last").slice(0, 200).padEnd(200) },
  ],
  "replayed-by-long-prefix": [
    "C10 and others",
    "Who asks with the same first 1,000 characters gets the first one's answer.",
    {
      replay: ({ body }) =>
        textOfPart(body, "all").length > 1_000 ? textOfPart(body, "all").slice(0, 1_000) : "",
    },
  ],
  "replayed-by-question": [
    "C10 and others",
    "Who asks with the same last 120 characters gets the first one's answer.",
    {
      replay: ({ body }) =>
        textOfPart(body, "last").length < 120 ? "" : textOfPart(body, "last").slice(-120),
    },
  ],
  "replayed-by-length": [
    "C10 and others",
    "A prompt of as many tokens gets the answer to the first one that had as many.",
    {
      when: "stream",
      replay: ({ request }) =>
        request.tools.length > 0 || request.stops.length > 0 ? "" : String(request.promptTokens),
    },
  ],
  "replayed-by-system": [
    "C10 and others",
    "Who has the same first 100 characters of a system message gets the first one's answer.",
    { when: "system", replay: ({ body }) => textOfPart(body, "system").slice(0, 100) },
  ],
};

/* The end of a prompt: the last messages, and of the earliest of them the end of its text. */
function lastTokens(body: JsonObject): JsonObject {
  let left = READ_TOKENS_MAX * CHARS_PER_TOKEN;
  const cut = (content: unknown): unknown => {
    if (typeof content === "string") {
      const kept = left === 0 ? "" : content.slice(-left);
      left -= kept.length;
      return kept;
    }
    if (!Array.isArray(content)) return content;
    const lastFirst: readonly unknown[] = content.toReversed();
    return lastFirst
      .map((part) =>
        isObject(part) && part["type"] === "text" ? { ...part, text: cut(part["text"]) } : part,
      )
      .toReversed();
  };
  const lastFirst = objectsOf(body["messages"]).toReversed();
  const messages = lastFirst.map((message) => ({ ...message, content: cut(message["content"]) }));
  return { ...body, messages: messages.toReversed(), system: cut(body["system"]) };
}
