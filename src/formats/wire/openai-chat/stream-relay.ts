import { asObject, findPath, type Refusal, textOf, withoutMember } from "../../../kernel/index.ts";
import type { ServedModelNote } from "../answer/answer-bridge.ts";
import type { StepOutcome, StreamDriver } from "../answer/stream-driver.ts";
import {
  frameAt,
  type OutputPieces,
  readEventText,
  RepeatedEvent,
  SSE_DONE_TEXT,
  sseCommentText,
  sseDataText,
  type SseEvent,
  type TextFrame,
} from "../sse/sse.ts";
import { classifyEmbeddedError } from "../failure/classify-failure.ts";
import { brokenOffFailure, unusableFailure } from "../failure/failures.ts";
import { type AnswerLabel, type AnswerJson, parseObject } from "../neutral/chat-answer.ts";
import type { FinishReason } from "../neutral/chat-event.ts";
import type { AnswerReading } from "../neutral/provider-answer.ts";
import {
  rootSpan,
  withNeeded,
  withoutCostDetails,
  withRootMember,
} from "../neutral/relayed-text.ts";
import { asCount, type Fields, type UsageReport } from "../neutral/usage-report.ts";
import {
  answerTexts,
  chunkHead,
  type ChunkLabel,
  clientWord,
  errorChunkText,
  containsCalls,
  isCutWord,
  isDone,
  isErrorChunk,
  isSomeCost,
  isTextAlone,
  isWrongWord,
  lastChunk,
  toReason,
  textSpan,
  usageChunk,
  withChoiceMember,
  withHeldMember,
  withoutChoiceMember,
  withoutHeldMember,
  withOneChoice,
  withPlainContent,
  isSilent,
} from "./chunks.ts";
import { type Braces, CallFragments, withoutBraces } from "./tool-calls.ts";
import { firstChoice, mergeReports, readUsage, usageJson, withCounts } from "./usage.ts";

const KEEP_ALIVE_TEXT = sseCommentText("keep-alive");

/**
 * Replaces the model id, and holds the usage until the cost is known. The client gets the usage in
 * the chunk with the finish reason, or on request in a chunk of its own.
 */
export class OpenaiChatRelay implements StreamDriver {
  readonly keepAliveText: string = KEEP_ALIVE_TEXT;
  report: UsageReport | undefined;
  readonly #label: AnswerLabel;
  readonly #modelJson: string;
  readonly #note: ServedModelNote;
  readonly #reading: AnswerReading | undefined;
  readonly #repeated = new RepeatedEvent();
  /** Created at the first fragment of a tool call, because few streams have calls. */
  #fragments: CallFragments | undefined;
  /** The client's bytes before and after the text of the event that `#repeated` has learned. */
  #sent: TextFrame = { before: "", after: "" };
  #usageText: string | undefined;
  #named: ChunkNames | undefined;
  /** The start of a chunk up to and including the provider's model id, and its replacement. */
  #modelFrame = { provider: "\0", own: "" };
  #hasChoices = false;
  /** True once the client got a role, which it needs once: some clients append each further one. */
  #hasRole = false;
  #finish = "";
  #hasCalls = false;
  /**
   * The chunk with the finish reason, held until the cost is known or another chunk follows; or a
   * call's first `{}`, held until another chunk follows, because some servers then replace it.
   */
  #last: string | undefined;
  #braces: Braces = "none";
  /** The results that came in a chunk of their own, which clients without usage chunk do not get. */
  #moderation: string | undefined;
  /** True once a finish reason came before its calls or their arguments: the ending waits. */
  #awaitsCalls = false;

  constructor(label: AnswerLabel, note: ServedModelNote, reading?: AnswerReading) {
    this.#label = label;
    this.#note = note;
    this.#reading = reading;
    this.#modelJson = JSON.stringify(label.modelId);
  }

  get finishReason(): FinishReason | undefined {
    return this.#finish === "" ? undefined : toReason(this.#finish);
  }

  get hasWrongFinish(): boolean {
    return isWrongWord(this.#finish, this.#hasCalls);
  }

  step(event: SseEvent, out: OutputPieces): StepOutcome {
    if (isDone(event.data)) return this.#end(out);
    const eventText = readEventText(event.data);
    const repeated = this.#repeated.textIn(eventText);
    if (repeated !== undefined) {
      out.add(`${this.#takeLast()}data: ${this.#sent.before}${repeated}${this.#sent.after}\n\n`);
      return "content";
    }
    const json = parseObject(eventText);
    if (json === undefined) return unusableFailure();
    const chunk = json.value;
    this.#note.take(chunk["model"]);
    const choice = firstChoice(chunk);
    this.#named ??= readNames(chunk, this.#label);
    this.#keepUsage(json);
    if (event.name === "error" || isErrorChunk(chunk, choice)) return classifyEmbeddedError(chunk);
    if (choice === undefined) return this.#relayEmpty(json, out);
    this.#hasChoices = true;
    const content = classifyContent(choice);
    this.#hasCalls ||= content === "calls";
    const isOpen = textOf(choice["finish_reason"]) === "";
    const delta = asObject(choice["delta"]);
    // Clients read each chunk's delta, so a chunk without delta and finish reason is dropped. So is
    // an empty chunk after the finish reason, with which OpenRouter reports the usage.
    const isDropped = delta === undefined || (this.#finish !== "" && isEmptyDelta(delta));
    if (isOpen && isDropped) return "silent";
    const isContent = content !== "none";
    this.#relay(json, choice, isContent, out);
    return isContent ? "content" : "silent";
  }

  /** Adds a missing finish reason, without which clients see a truncated answer or throw. */
  #end(out: OutputPieces): StepOutcome {
    if (!this.#hasChoices) return brokenOffFailure();
    if (this.#finish !== "") return "end";
    out.add(this.#takeLast());
    this.#last = lastChunk(this.#headText(), this.#clientWord(""));
    return "end";
  }

  endOfBody(): StepOutcome {
    return this.#finish !== "" ? "end" : brokenOffFailure();
  }

  finishText(costUsd: string): string {
    const fragments = isCutWord(this.#finish) ? undefined : this.#fragments;
    const bare = fragments?.bareText(this.#headText()) ?? "";
    return bare + this.#closingText(this.#usageJson(costUsd)) + SSE_DONE_TEXT;
  }

  failText(refusal: Refusal, costUsd: string): string {
    const isKnown = this.report?.usage !== undefined || isSomeCost(costUsd);
    const usage = isKnown ? this.#closingText(this.#usageJson(costUsd)) : this.#takeLast();
    return usage + errorChunkText(this.#headText(), refusal);
  }

  #relay(json: AnswerJson, choice: Fields, isContent: boolean, out: OutputPieces): void {
    const received = textOf(choice["finish_reason"]);
    this.#finish ||= received;
    this.#awaitsCalls ||= received !== "" && isWrongWord(received, this.#hasCalls);
    const finish = received === "" ? "" : this.#clientWord(received);
    const hadRole = this.#hasRole;
    const kept = this.#label.wantsUsageChunk ? withNullUsage(json) : withoutUsage(json);
    const whole = this.#withNames(withOneChoice(kept, json.value["choices"]), json.value);
    const text = this.#withModel(this.#mended(whole, choice));
    const braces = this.#finish === "" ? this.#braces : "none";
    // Nothing is lost with a fragment without arguments behind a held `{}`.
    const delta = { ...asObject(choice["delta"]), tool_calls: null };
    if (braces === "kept" && isEmptyDelta(delta)) return;
    out.add(this.#takeLast());
    this.#awaitsCalls ||= finish !== "" && this.#fragments?.hasBareCalls === true;
    if (braces === "held") this.#last = text;
    else if ((this.#label.wantsUsageChunk && !this.#awaitsCalls) || finish === "") {
      out.add(sseDataText(text));
      // The first chunk is not learned: the gateway adds a missing role to it, and to no later one.
      const isRepeatable = hadRole && this.#repeated.isLearning && isTextAlone(json);
      const frame = isRepeatable ? frameAt(json.text, textSpan(json.text)) : undefined;
      const sent = frame && frameAt(text, textSpan(text));
      if (frame !== undefined && sent !== undefined) {
        this.#repeated.learn(frame);
        this.#sent = sent;
      }
    } else if (!isContent) this.#last = text;
    else {
      // Content is sent at once, and the finish reason is held in a chunk of its own.
      out.add(sseDataText(withChoiceMember(text, "finish_reason", "null")));
      this.#last = lastChunk(this.#headText(), finish);
    }
  }

  #withNames(chunk: string, { id, object, created, model }: Fields): string {
    const isChunk = object === "chat.completion.chunk";
    const isWhole = typeof id === "string" && isChunk && typeof created === "number";
    if (isWhole && typeof model === "string") return chunk;
    const names = this.#names;
    return withNeeded(
      chunk,
      findPath,
      // Clients skip chunks of another name, such as MiniMax's last one with the finish reason.
      { id, object: isChunk ? object : null, created, model },
      {
        id: JSON.stringify(names.id),
        object: '"chat.completion.chunk"',
        created: String(names.createdSeconds),
        model: JSON.stringify(names.modelId),
      },
    );
  }

  /** Corrects the delta, its tool calls, the choice's index and the finish reason. */
  #mended(chunk: string, choice: Fields): string {
    const delta = asObject(choice["delta"]);
    const { finish_reason: finish } = choice;
    let text =
      delta === undefined
        ? withChoiceMember(chunk, "delta", "{}")
        : this.#withCalls(withPlainContent(chunk, "delta", delta), delta["tool_calls"]);
    if (choice["index"] !== 0) text = withChoiceMember(text, "index", "0");
    // Such a message has all the text so far, to which an official client appends the delta.
    const repeatsText = choice["message"] !== undefined && (delta !== undefined || this.#hasRole);
    if (repeatsText) text = withoutChoiceMember(text, "message");
    const role = delta?.["role"];
    if (this.#hasRole) {
      if (typeof role === "string") text = withoutHeldMember(text, "delta", "role");
    } else if (textOf(role) === "") text = withHeldMember(text, "delta", "role", '"assistant"');
    this.#hasRole = true;
    if (typeof finish !== "string") return text;
    const word = finish === "" ? null : this.#clientWord(finish);
    if (word === finish) return text;
    return withChoiceMember(text, "finish_reason", JSON.stringify(word));
  }

  #withCalls(chunk: string, calls: unknown): string {
    this.#braces = "none";
    if (!Array.isArray(calls) || calls.length === 0) return chunk;
    const fragments = (this.#fragments ??= new CallFragments(
      this.#reading ?? {},
      this.#label.idTail,
    ));
    const mended = fragments.mend(chunk, calls);
    this.#braces = fragments.braces;
    if (this.#braces === "replaced") this.#last = this.#last && withoutBraces(this.#last);
    return mended;
  }

  #clientWord(word: string): string {
    return clientWord(word, this.#hasCalls, this.#label);
  }

  /** Takes the held last chunk, without usage, because it must be sent before a later chunk. */
  #takeLast(): string {
    if (this.#awaitsCalls) return "";
    const last = this.#last;
    this.#last = undefined;
    return last === undefined ? "" : sseDataText(last);
  }

  #closingText(usage: string): string {
    if (this.#last !== undefined && this.#awaitsCalls) {
      const word = JSON.stringify(this.#clientWord(this.#finish));
      this.#last = withChoiceMember(this.#last, "finish_reason", word);
      this.#awaitsCalls = false;
    }
    const found = this.#moderation;
    const written = (chunk: string): string =>
      sseDataText(found === undefined ? chunk : withRootMember(chunk, "moderation", found));
    if (this.#label.wantsUsageChunk)
      return this.#takeLast() + written(usageChunk(this.#headText(), usage));
    const last = this.#last ?? lastChunk(this.#headText(), null);
    return written(withRootMember(last, "usage", usage));
  }

  #keepUsage(json: AnswerJson): void {
    const report = readUsage(json.value, json.text, this.#reading);
    const known = this.report?.usage;
    this.report = mergeReports(this.report, report);
    const merged = this.report?.usage;
    if (merged === known) return;
    const { usage } = json.value;
    const fields = asObject(usage);
    const span = fields && findPath(json.text, "usage");
    if (merged !== report?.usage || span === undefined || fields === undefined) {
      this.#usageText = undefined;
      return;
    }
    const text = withoutCostDetails(json.text.slice(span.start, span.end), usage);
    this.#usageText = withCounts(text, findPath, fields, merged);
  }

  /** Relays a chunk with no choice and no usage only to a client that asked for a usage chunk. */
  #relayEmpty({ text, value }: AnswerJson, out: OutputPieces): StepOutcome {
    const { choices, usage, moderation } = value;
    const isEmpty = Array.isArray(choices) && choices.length === 0;
    if (isEmpty && asObject(usage) === undefined && this.#label.wantsUsageChunk)
      out.add(sseDataText(this.#withModel(text)));
    else if (asObject(moderation) !== undefined) this.#moderation = JSON.stringify(moderation);
    return "silent";
  }

  /** Most chunks begin with the same bytes up to the model id, so that start is learned. */
  #withModel(chunk: string): string {
    const { provider, own } = this.#modelFrame;
    if (chunk.startsWith(provider)) return own + chunk.slice(provider.length);
    const span = findPath(chunk, "model");
    if (span === undefined) return chunk;
    const before = chunk.slice(0, span.start) + this.#modelJson;
    this.#modelFrame = { provider: chunk.slice(0, span.end), own: before };
    return before + chunk.slice(span.end);
  }

  get #names(): ChunkLabel {
    const { idTail, createdSeconds, modelId } = this.#label;
    return { id: `chatcmpl-${idTail}`, createdSeconds, ...this.#named, modelId };
  }

  #headText(): string {
    return chunkHead(this.#names);
  }

  /** The provider's usage, perhaps with details unknown to the gateway, and the client's cost. */
  #usageJson(costUsd: string): string {
    const text = this.#usageText;
    if (text === undefined) return usageJson(this.report?.usage, costUsd);
    return withRootMember(text, "cost", costUsd);
  }
}

type ChunkNames = Omit<ChunkLabel, "modelId">;

/** A longer id is not copied: a chunk of a few bytes would become as long as the id. */
const ID_CHARS_MAX = 256;

/** Undefined if the id is missing or too long: some providers send a first chunk without an id. */
function readNames(chunk: Fields, label: AnswerLabel): ChunkNames | undefined {
  const id = textOf(chunk["id"]);
  if (id === "" || id.length > ID_CHARS_MAX) return undefined;
  return { id, createdSeconds: asCount(chunk["created"]) ?? label.createdSeconds };
}

/** Replaces a usage by null: the usage chunk reports it once, with the amount the client pays. */
function withNullUsage({ text, value }: AnswerJson): string {
  return asObject(value["usage"]) === undefined ? text : withRootMember(text, "usage", "null");
}

function withoutUsage({ text, value }: AnswerJson): string {
  return value["usage"] === undefined ? text : withoutMember(text, rootSpan(text), "usage");
}

function classifyContent(choice: Fields): "calls" | "other" | "none" {
  const delta = asObject(choice["delta"]);
  if (delta === undefined) return "none";
  if (containsCalls(delta)) return "calls";
  if (textOf(delta["content"]) !== "" || textOf(delta["refusal"]) !== "") return "other";
  const { text, reasoning } = answerTexts(delta);
  return text !== "" || reasoning !== "" || containsMedia(delta) ? "other" : "none";
}

function isEmptyDelta(delta: Fields): boolean {
  return Object.entries(delta).every(
    ([name, value]) =>
      name === "role" || isSilent(value) || (Array.isArray(value) && value.length === 0),
  );
}

/** True for audio data, its transcript, or images, which can be an answer without text. */
function containsMedia({ audio, images }: Fields): boolean {
  const spoken = asObject(audio);
  const isAudio = textOf(spoken?.["data"]) !== "" || textOf(spoken?.["transcript"]) !== "";
  return isAudio || (Array.isArray(images) && images.length > 0);
}
