import { textOf } from "../../../src/kernel/index.ts";
import { answerTo, type SimAnswer, type SimUsage } from "../../../src/dev/simulator/answer.ts";
import type { Frame } from "../../../src/dev/simulator/dialect.ts";
import { isObject, pickObjects, type JsonObject } from "../../../src/dev/simulator/json.ts";
import { estimateTokens, type SimRequest } from "../../../src/dev/simulator/sim-request.ts";

export interface Asked {
  readonly body: JsonObject;
  readonly request: SimRequest;
}

/** The changes that a cheat makes to a chat answer; absent members change nothing. */
export interface TextEffect {
  /** Traits that a request must have for the cheat to apply. Default: none. */
  readonly when?: string;
  readonly every?: number;
  readonly after?: number;
  /** The model's name in the answer; `*` stands for the right name. */
  readonly model?: string;
  /** Changes the prompt that the model reads. The usage counts the whole prompt. */
  readonly read?: (body: JsonObject) => JsonObject;
  readonly request?: (request: SimRequest) => SimRequest;
  readonly answer?: (answer: SimAnswer, asked: Asked) => SimAnswer;
  readonly usage?: (usage: SimUsage, asked: Asked) => Partial<SimUsage>;
  readonly frames?: (frames: readonly Frame[]) => readonly Frame[];
  /** Changes the JSON of a whole answer or of each stream event. */
  readonly json?: (text: string) => string;
  /** Prompts with the same key all get the answer to the first of them; "" replays nothing. */
  readonly replay?: (asked: Asked) => string;
}

type Part = "system" | "history" | "answers" | "results" | "last";

function mapPart(
  body: JsonObject,
  part: Part | "all",
  change: (text: string) => string,
): JsonObject {
  const messages = pickObjects(body["messages"]);
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

export function isSaid(content: unknown): boolean {
  return typeof content === "string"
    ? content !== ""
    : pickObjects(content).some(({ type }) => type === "text");
}

export function textOfPart(body: JsonObject, part: Part | "all"): string {
  const texts: string[] = [];
  mapPart(body, part, (text) => {
    texts.push(text);
    return text;
  });
  return texts.join("\n");
}

const OTHERS = /[\u0250-\uffff]/;
const LONG_TOKENS = 1_000;

const TRAITS: Readonly<Record<string, (asked: Asked) => boolean>> = {
  stream: ({ request }) => request.stream,
  whole: ({ request }) => !request.stream,
  system: ({ body }) => textOfPart(body, "system") !== "",
  unguided: ({ body }) => textOfPart(body, "system") === "",
  history: ({ body }) => textOfPart(body, "answers") !== "",
  tools: ({ request }) => request.tools.length > 0,
  long: ({ request }) => request.promptTokens > LONG_TOKENS,
  others: ({ body }) => OTHERS.test(textOfPart(body, "all")),
  format: ({ request }) => request.answerSchema !== undefined,
};

export function hasTraits(when: string, asked: Asked): boolean {
  return when.split(" ").every((word) => word === "" || TRAITS[word]?.(asked) === true);
}

export const OTHER_MODEL = "another-model";
const READ_TOKENS_MAX = 2_000;
const CHARS_PER_TOKEN = 4;

export function unread(part: Part): NonNullable<TextEffect["read"]> {
  return (body) => mapPart(body, part, () => "");
}

export function rewriteRead(
  part: Part | "all",
  change: (text: string) => string,
): NonNullable<TextEffect["read"]> {
  return (body) => mapPart(body, part, change);
}

export function prompt(
  change: (tokens: number, asked: Asked) => number,
): NonNullable<TextEffect["usage"]> {
  return (usage, asked) => ({ prompt: Math.ceil(change(usage.prompt, asked)) });
}

export function output(change: (tokens: number) => number): NonNullable<TextEffect["usage"]> {
  return (usage, { request: { maxTokens = Number.POSITIVE_INFINITY } }) => ({
    output: Math.min(maxTokens, Math.ceil(change(usage.output))),
  });
}

export function twice(part: Part): NonNullable<TextEffect["usage"]> {
  return prompt((tokens, { body }) => tokens + estimateTokens(textOfPart(body, part)));
}

export function asIf(
  change: (request: SimRequest) => Partial<SimRequest>,
): NonNullable<TextEffect["answer"]> {
  return (_answer, { request }) => answerTo({ ...request, ...change(request) });
}

export function calls(
  change: (call: SimAnswer["calls"][number]) => Partial<SimAnswer["calls"][number]>,
): NonNullable<TextEffect["answer"]> {
  return (answer) => ({
    ...answer,
    calls: answer.calls.map((call) => ({ ...call, ...change(call) })),
  });
}

const TEXT_PIECE = /"delta":\{(?:"type":"text_delta","text"|"content"):"[^"]/;

export function textFrames(frames: readonly Frame[]): readonly Frame[] {
  return frames.filter(({ kind, data }) => kind === "content" && TEXT_PIECE.test(data));
}

/** Repeats or drops text deltas: `times` returns how often delta `at` of `of` is sent. */
export function pieces(
  times: (at: number, of: number) => number,
): NonNullable<TextEffect["frames"]> {
  return (frames) => {
    const texts = textFrames(frames);
    return frames.flatMap((frame) => {
      const at = texts.indexOf(frame);
      return Array.from({ length: at === -1 ? 1 : times(at, texts.length) }, () => frame);
    });
  };
}

export function afterEnd(
  more: (frames: readonly Frame[], end: Frame) => readonly Frame[],
): NonNullable<TextEffect["frames"]> {
  return (frames) => {
    const end = frames.at(-1);
    return end?.kind === "end" ? [...frames, ...more(frames, end)] : frames;
  };
}

export const FINISH = /"(finish_reason|stop_reason)":"[a-z_]+"/g;

/** Cheats by name, each with the check that must notice it. */
export type CheatTable<Effect> = Readonly<
  Record<string, readonly [check: string, effect: Effect, needs?: string]>
>;
export type TextCheats = CheatTable<TextEffect>;

/** Returns the prompt cut to its last 2,000 tokens, as a model with a short context reads it. */
export function lastTokens(body: JsonObject): JsonObject {
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
  const lastFirst = pickObjects(body["messages"]).toReversed();
  const messages = lastFirst.map((message) => ({ ...message, content: cut(message["content"]) }));
  return { ...body, messages: messages.toReversed(), system: cut(body["system"]) };
}
