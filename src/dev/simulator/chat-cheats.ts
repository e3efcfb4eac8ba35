import { answerTo, type SimAnswer } from "./answer.ts";
import { isCheating, type Cheating, type CheatName } from "./cheats.ts";
import type { Dialect, Frame } from "./dialect.ts";
import { isObject, objectsOf, textOf, type JsonObject } from "./json.ts";
import { tokensOf, type SimRequest } from "./sim-request.ts";

const OTHER_MODEL = "another-model";
const FAKE_DATE = "-20261399";
const CONSTANT_TOKENS = 100;
const CACHED_OVER_TOKENS = 10;
const STREAM_TOKENS = 5;
const READ_TOKENS_MAX = 2_000;
const CHARS_PER_TOKEN = 4;

/** The body as it is checked: a provider that clamps accepts what is out of range. */
export function cheatedBody(body: JsonObject, cheating: Cheating): JsonObject {
  if (!isCheating(cheating, "out-of-range-clamped")) return body;
  // No range is narrower than this one, and an answer does not depend on these values.
  const clamped = ["temperature", "top_p", "frequency_penalty", "presence_penalty"].flatMap(
    (key) =>
      typeof body[key] === "number" ? [[key, Math.min(1, Math.max(0, body[key]))] as const] : [],
  );
  return { ...body, ...Object.fromEntries(clamped) };
}

/** What is read of a body that has passed the checks. */
export function cheatedRequest(
  dialect: Pick<Dialect, "read">,
  body: JsonObject,
  cheating: Cheating,
): SimRequest {
  const request = dialect.read(body);
  const { promptTokens, cacheMarkedTokens, hourMarkedTokens } = request;
  const honest = { promptTokens, cacheMarkedTokens, hourMarkedTokens };
  const read = isCheating(cheating, "context-truncated")
    ? { ...dialect.read(lastTokens(body)), ...honest }
    : request;
  return isCheating(cheating, "image-ignored")
    ? { ...read, media: read.media.filter(({ kind }) => kind !== "image") }
    : read;
}

/** The name that an answer has for its model; `number` counts the answers of the simulator. */
export function cheatedModel(request: SimRequest, cheating: Cheating, number: number): string {
  const { model, stream } = request;
  const isOther =
    (stream && isCheating(cheating, "model-in-stream")) ||
    (!stream && isCheating(cheating, "model-whole")) ||
    (number % 10 === 0 && isCheating(cheating, "model-once-in-ten"));
  if (isOther) return OTHER_MODEL;
  return isCheating(cheating, "model-fake-date") ? `${model}${FAKE_DATE}` : model;
}

/** What the model says and what it reports. */
export function cheatedAnswer(request: SimRequest, { cheat = [] }: Cheating): SimAnswer {
  return cheat.reduce(
    (answer, name) => CHANGES[name]?.(answer, request) ?? answer,
    answerTo(request),
  );
}

type Change = (answer: SimAnswer, request: SimRequest) => SimAnswer;

const CHANGES: Readonly<Partial<Record<CheatName, Change>>> = {
  "bound-ignored": (_answer, request) => answerTo({ ...request, maxTokens: undefined }),
  "bound-off-by-one": (answer, request) => {
    if (answer.finish !== "length" || request.maxTokens === undefined) return answer;
    const longer = answerTo({ ...request, maxTokens: request.maxTokens + 1 });
    return { ...longer, finish: "length", stopSequence: null };
  },
  "stop-leaked": (answer, { maxTokens = Number.POSITIVE_INFINITY }) => {
    if (answer.stopSequence === null) return answer;
    const text = answer.text + answer.stopSequence;
    const output = answer.usage.output - tokensOf(answer.text) + tokensOf(text);
    const isWithin = output <= maxTokens;
    return isWithin ? { ...answer, text, usage: { ...answer.usage, output } } : answer;
  },
  "length-as-stop": (answer) =>
    answer.finish === "length" ? { ...answer, finish: "stop" } : answer,
  "usage-plus-10-percent": (answer) => {
    const { prompt } = answer.usage;
    return { ...answer, usage: { ...answer.usage, prompt: Math.ceil((prompt * 11) / 10) } };
  },
  "usage-plus-constant": (answer) => withMore(answer, CONSTANT_TOKENS),
  "usage-cached-over-prompt": (answer) => {
    const cached = answer.usage.prompt + CACHED_OVER_TOKENS;
    return { ...answer, usage: { ...answer.usage, cached, cacheWrite: 0, hourWrite: 0 } };
  },
  "usage-differs-in-stream": (answer, { stream }) =>
    stream ? withMore(answer, STREAM_TOKENS) : answer,
  "tool-arguments-broken-in-stream": (answer, { stream }) => {
    if (!stream) return answer;
    const calls = answer.calls.map((call) => {
      const half = Math.floor(call.arguments.length / 2);
      return { ...call, arguments: call.arguments.slice(0, half) };
    });
    return { ...answer, calls };
  },
};

function withMore(answer: SimAnswer, promptTokens: number): SimAnswer {
  const prompt = answer.usage.prompt + promptTokens;
  return { ...answer, usage: { ...answer.usage, prompt } };
}

/* The end of a prompt: the last messages, and of the earliest of them the end of its text. */
function lastTokens(body: JsonObject): JsonObject {
  const end = new PromptEnd(READ_TOKENS_MAX * CHARS_PER_TOKEN);
  const lastFirst = objectsOf(body["messages"]).toReversed();
  const cut = lastFirst.map((message) => ({ ...message, content: end.cut(message["content"]) }));
  return { ...body, messages: cut.toReversed(), system: end.cut(body["system"]) };
}

/** Keeps so many characters of the texts that it is given, last one first. */
class PromptEnd {
  #charsLeft: number;

  constructor(charsMax: number) {
    this.#charsLeft = charsMax;
  }

  cut(content: unknown): unknown {
    if (typeof content === "string") return this.#cutText(content);
    if (!Array.isArray(content)) return content;
    const lastFirst: readonly unknown[] = content.toReversed();
    return lastFirst.map((part) => this.#cutPart(part)).toReversed();
  }

  #cutPart(part: unknown): unknown {
    if (!isObject(part) || part["type"] !== "text") return part;
    return { ...part, text: this.#cutText(textOf(part["text"])) };
  }

  #cutText(text: string): string {
    const kept = this.#charsLeft === 0 ? "" : text.slice(-this.#charsLeft);
    this.#charsLeft -= kept.length;
    return kept;
  }
}

/** The events of a stream after the cheats. */
export function cheatedFrames(frames: readonly Frame[], cheating: Cheating): readonly Frame[] {
  const last = frames.at(-1);
  const isMarked = last?.kind === "end";
  const more = [
    ...(isMarked && isCheating(cheating, "two-end-marks") ? [last] : []),
    ...(isMarked && isCheating(cheating, "text-after-end-mark") ? lastPiece(frames) : []),
  ];
  return more.length === 0 ? frames : [...frames, ...more];
}

/** A piece of text, as either wire sends it. */
const TEXT_PIECE = /"delta":\{(?:"type":"text_delta","text"|"content"):/;

function lastPiece(frames: readonly Frame[]): readonly Frame[] {
  const piece = frames.findLast(({ kind, data }) => kind === "content" && TEXT_PIECE.test(data));
  return piece === undefined ? [] : [piece];
}
