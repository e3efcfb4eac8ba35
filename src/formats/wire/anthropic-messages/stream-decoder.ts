import { ANSWER_CALLS_MAX, asObject, findPath, textOf } from "../../../kernel/index.ts";
import type { StreamDecoder } from "../answer/stream-driver.ts";
import { frameAt, readEventText, RepeatedEvent, type SseEvent } from "../sse/sse.ts";
import { classifyEmbeddedError } from "../failure/classify-failure.ts";
import { brokenOffFailure, unblamedFailure, unusableFailure } from "../failure/failures.ts";
import { type AnswerJson, parseObject } from "../neutral/chat-answer.ts";
import type { Emit, FinishReason } from "../neutral/chat-event.ts";
import type { ServedModelNote } from "../answer/answer-bridge.ts";
import { compactObject } from "../neutral/relayed-text.ts";
import {
  type Fields,
  mergeCosts,
  readReportedCost,
  type UsageReport,
} from "../neutral/usage-report.ts";
import { isCall, isWrongWord, toReason } from "./events.ts";
import { mergeCounts, toUsageReport, type ReportedCounts } from "./usage.ts";

interface OpenTool {
  readonly call: number;
  /** The arguments in `content_block_start`, used if no fragment of arguments follows. */
  readonly fallback: string;
  hasArguments: boolean;
}

/** What a decoder and a relay both learn from the events of a stream. */
export class StreamReporter {
  report: UsageReport | undefined;
  stopReason = "";
  hasCalls = false;
  #counts: ReportedCounts = {};
  #cost: string | undefined;
  #messageId = "";

  get finishReason(): FinishReason | undefined {
    return this.stopReason === "" ? undefined : toReason(this.stopReason);
  }

  get hasWrongFinish(): boolean {
    return isWrongWord(this.stopReason, this.hasCalls);
  }

  /** True if `message` is another one than the first: its generation began anew. */
  isOther(message: Fields | undefined): boolean {
    const id = textOf(message?.["id"]) || this.#messageId;
    this.#messageId ||= id;
    return id !== this.#messageId;
  }

  /** Reads `usage`, the parsed usage object that is at `path` in the event. */
  readUsage(json: AnswerJson, usage: unknown, path: readonly string[]): void {
    if (asObject(usage) === undefined) return;
    this.#counts = mergeCounts(this.#counts, usage);
    const cost = readReportedCost(json.text, findPath(json.text, ...path));
    this.#cost = mergeCosts(this.#cost, cost);
    this.report = toUsageReport(this.#counts, this.#cost);
  }
}

/** Lets `repeated` recognize later events that differ from `event` only in their text. */
export function learnText(repeated: RepeatedEvent, event: string, said: unknown): void {
  if (!repeated.isLearning || textOf(said) === "") return;
  repeated.learn(frameAt(event, findPath(event, "delta", "text")));
}

/** Decodes a wire_b stream. An event's type is read from its JSON, but for the name `error`. */
export class AnthropicMessagesDecoder extends StreamReporter implements StreamDecoder {
  readonly #note: ServedModelNote;
  readonly #tools = new Map<unknown, OpenTool>();
  readonly #repeated = new RepeatedEvent();
  #callCount = 0;
  #hasStarted = false;
  #stopSequence = "";

  constructor(note: ServedModelNote) {
    super();
    this.#note = note;
  }

  decode(event: SseEvent, emit: Emit): void {
    const eventText = readEventText(event.data);
    const text = this.#repeated.textIn(eventText);
    if (text !== undefined) return emit({ type: "text", text });
    const json = parseObject(eventText);
    if (json === undefined) emit({ type: "failure", failure: unusableFailure() });
    else this.#event(event.name, json, emit);
  }

  endOfBody(emit: Emit): void {
    emit({ type: "failure", failure: brokenOffFailure() });
  }

  #event(name: string, json: AnswerJson, emit: Emit): void {
    const { value } = json;
    switch (name === "error" ? name : value["type"]) {
      case "content_block_delta":
        return this.#delta(json, emit);
      case "content_block_start":
        return this.#blockStart(json, emit);
      case "content_block_stop":
        return this.#blockStop(value["index"], emit);
      case "message_start":
        return this.#start(json, asObject(value["message"]), emit);
      case "message_delta":
        return this.#messageDelta(json);
      case "message_stop":
        return this.#complete(emit);
      case "error":
        return emit({ type: "failure", failure: classifyEmbeddedError(value) });
      default:
        // Pings and unknown event types are ignored, unless they contain an error object.
        if (asObject(value["error"]) !== undefined) {
          emit({ type: "failure", failure: classifyEmbeddedError(value) });
        }
    }
  }

  #start(json: AnswerJson, message: Fields | undefined, emit: Emit): void {
    if (this.isOther(message)) {
      return emit({ type: "failure", failure: brokenOffFailure() });
    }
    this.#hasStarted = true;
    this.#note.take(message?.["model"]);
    this.readUsage(json, message?.["usage"], ["message", "usage"]);
  }

  #blockStart(json: AnswerJson, emit: Emit): void {
    const block = asObject(json.value["content_block"]);
    if (block === undefined) return;
    this.hasCalls ||= isCall(block);
    if (block["type"] === "text") emitText("text", block["text"], emit);
    if (block["type"] === "thinking") emitText("reasoning", block["thinking"], emit);
    if (block["type"] !== "tool_use") return;
    const call = this.#callCount++;
    if (call >= ANSWER_CALLS_MAX) return;
    const fallback = compactObject(json.text, findPath(json.text, "content_block", "input"));
    this.#tools.set(json.value["index"], { call, fallback, hasArguments: false });
    emit({ type: "tool_start", call, id: textOf(block["id"]), name: textOf(block["name"]) });
  }

  #delta(json: AnswerJson, emit: Emit): void {
    const event = json.value;
    const delta = asObject(event["delta"]);
    switch (delta?.["type"]) {
      case "text_delta":
        learnText(this.#repeated, json.text, delta["text"]);
        return emitText("text", delta["text"], emit);
      case "thinking_delta":
        return emitText("reasoning", delta["thinking"], emit);
      case "input_json_delta":
        return this.#arguments(event["index"], textOf(delta["partial_json"]), emit);
      default:
      // Signatures and citations have no counterpart in neutral events.
    }
  }

  #arguments(index: unknown, json: string, emit: Emit): void {
    const tool = this.#tools.get(index);
    if (tool === undefined || json === "") return;
    tool.hasArguments = true;
    emit({ type: "tool_arguments", call: tool.call, json });
  }

  /** A call without a fragment of arguments gets the arguments of the block's start, or `{}`. */
  #blockStop(index: unknown, emit: Emit): void {
    const tool = this.#tools.get(index);
    if (tool === undefined) return;
    this.#tools.delete(index);
    if (!tool.hasArguments) {
      emit({ type: "tool_arguments", call: tool.call, json: tool.fallback });
    }
    emit({ type: "tool_end", call: tool.call });
  }

  #messageDelta(json: AnswerJson): void {
    this.readUsage(json, json.value["usage"], ["usage"]);
    const delta = asObject(json.value["delta"]);
    this.stopReason = textOf(delta?.["stop_reason"]) || this.stopReason;
    this.#stopSequence = textOf(delta?.["stop_sequence"]) || this.#stopSequence;
  }

  #complete(emit: Emit): void {
    if (!this.#hasStarted) {
      emit({ type: "failure", failure: unusableFailure() });
      return;
    }
    if (this.#callCount > ANSWER_CALLS_MAX) return emit(TOO_MANY_CALLS);
    for (const index of this.#tools.keys()) this.#blockStop(index, emit);
    const stopSequence = this.#stopSequence;
    const reason = toReason(this.stopReason);
    emit({ type: "finish", reason, ...(stopSequence === "" ? {} : { stopSequence }) });
    emit({ type: "end" });
  }
}

const TOO_MANY_CALLS = { type: "failure", failure: unblamedFailure() } as const;

function emitText(type: "text" | "reasoning", value: unknown, emit: Emit): void {
  const text = textOf(value);
  if (text !== "") emit({ type, text });
}
