import { asObject, textOf } from "../../../kernel/index.ts";
import type { StreamDecoder } from "../answer/stream-driver.ts";
import { frameAt, readEventText, RepeatedEvent, type SseEvent } from "../sse/sse.ts";
import { classifyEmbeddedError } from "../failure/classify-failure.ts";
import { brokenOffFailure, unblamedFailure, unusableFailure } from "../failure/failures.ts";
import type { AnswerReading } from "../neutral/provider-answer.ts";
import { type AnswerJson, parseObject } from "../neutral/chat-answer.ts";
import type { ChatEvent, Emit, FinishReason } from "../neutral/chat-event.ts";
import type { ServedModelNote } from "../answer/answer-bridge.ts";
import type { Fields, UsageReport } from "../neutral/usage-report.ts";
import { answerTexts, isDone, isErrorChunk, isTextAlone, toReason, textSpan } from "./chunks.ts";
import { callsIn, ToolCallReader } from "./tool-calls.ts";
import { firstChoice, mergeReports, readUsage } from "./usage.ts";

export interface DecoderOptions {
  readonly isStopSequence: (word: string) => boolean;
  readonly note: ServedModelNote;
  readonly reading: AnswerReading;
}

/** Decodes the chunks of a wire_a provider, and accepts known deviations from the wire. */
export class OpenaiChatDecoder implements StreamDecoder {
  report: UsageReport | undefined;
  finishReason: FinishReason | undefined;
  readonly #options: DecoderOptions;
  readonly #calls: ToolCallReader;
  readonly #repeated = new RepeatedEvent();
  #stopSequence: string | undefined;
  #hasChoices = false;

  constructor(options: DecoderOptions) {
    this.#options = options;
    this.#calls = new ToolCallReader(options.reading);
  }

  get hasWrongFinish(): boolean {
    if (this.#calls.hasCalls) return false;
    return this.finishReason === undefined || this.finishReason === "tool_calls";
  }

  decode(event: SseEvent, emit: Emit): void {
    if (isDone(event.data)) return this.#complete(emit);
    const eventText = readEventText(event.data);
    const text = this.#repeated.textIn(eventText);
    if (text !== undefined) return this.#say({ type: "text", text }, emit);
    const json = parseObject(eventText);
    if (json === undefined) emit({ type: "failure", failure: unusableFailure() });
    else this.#chunk(event.name, json, emit);
  }

  endOfBody(emit: Emit): void {
    if (this.finishReason === undefined) emit({ type: "failure", failure: brokenOffFailure() });
    else this.#complete(emit);
  }

  #chunk(name: string, json: AnswerJson, emit: Emit): void {
    const { text, value: chunk } = json;
    this.#options.note.take(chunk["model"]);
    this.report = mergeReports(this.report, readUsage(chunk, text, this.#options.reading));
    const choice = firstChoice(chunk);
    if (name === "error" || isErrorChunk(chunk, choice)) {
      return emit({ type: "failure", failure: classifyEmbeddedError(chunk) });
    }
    if (choice === undefined) return;
    this.#hasChoices = true;
    const delta = asObject(choice["delta"]);
    if (delta !== undefined) this.#delta(json, delta, emit);
    this.#keepFinish(choice);
    if (!this.#repeated.isLearning || !isTextAlone(json)) return;
    this.#repeated.learn(frameAt(text, textSpan(text)));
  }

  #delta({ text: chunk }: AnswerJson, delta: Fields, emit: Emit): void {
    const { reasoning, text } = answerTexts(delta);
    this.#say({ type: "reasoning", text: reasoning }, emit);
    this.#say({ type: "text", text }, emit);
    this.#say({ type: "refusal", text: textOf(delta["refusal"]) }, emit);
    const calls = delta["tool_calls"];
    if (Array.isArray(calls)) {
      for (const call of callsIn(chunk, "delta", calls)) this.#calls.read(call, emit);
    }
  }

  /** A `{}` that is held for other arguments would keep back the text behind it. */
  #say(event: Extract<ChatEvent, { readonly text: string }>, emit: Emit): void {
    if (event.text === "") return;
    this.#calls.flush(emit);
    emit(event);
  }

  #keepFinish(choice: Fields): void {
    const word = choice["finish_reason"];
    if (this.finishReason !== undefined || typeof word !== "string" || word === "") return;
    this.finishReason = toReason(word);
    const matched = textOf(choice["stop_reason"]);
    if (this.finishReason === "stop" && matched !== "" && this.#options.isStopSequence(matched)) {
      this.finishReason = "stop_sequence";
      this.#stopSequence = matched;
    }
  }

  #complete(emit: Emit): void {
    if (!this.#hasChoices) return emit({ type: "failure", failure: brokenOffFailure() });
    if (this.#calls.hasTooManyCalls || this.#calls.hasNamelessCall()) {
      return emit({ type: "failure", failure: UNUSABLE_CALLS });
    }
    this.#calls.flush(emit);
    const stopSequence = this.#stopSequence;
    const reason = this.finishReason ?? "stop";
    emit({ type: "finish", reason, ...(stopSequence === undefined ? {} : { stopSequence }) });
    emit({ type: "end" });
  }
}

/** The model wrote invalid calls, which a prompt can ask for. */
const UNUSABLE_CALLS = unblamedFailure();
