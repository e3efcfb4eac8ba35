import {
  type Refusal,
  asObject,
  findPath,
  outputTokensTotal,
  type Span,
  textOf,
  withMember,
  withoutMember,
  ZERO_USAGE,
} from "../../../kernel/index.ts";
import type { StepOutcome, StreamDriver } from "../answer/stream-driver.ts";
import {
  type OutputPieces,
  readEventText,
  RepeatedEvent,
  type SseEvent,
  sseEventText,
} from "../sse/sse.ts";
import { classifyEmbeddedError } from "../failure/classify-failure.ts";
import { brokenOffFailure, unusableFailure } from "../failure/failures.ts";
import { type AnswerLabel, type AnswerJson, parseObject } from "../neutral/chat-answer.ts";
import type { ServedModelNote } from "../answer/answer-bridge.ts";
import { withNeeded, withoutCostDetails, withRootMember } from "../neutral/relayed-text.ts";
import { ownCallId } from "../neutral/tool-calls.ts";
import type { Fields } from "../neutral/usage-report.ts";
import {
  clientWord,
  closingText,
  errorEventText,
  eventText,
  isCall,
  isClientCall,
  neededInMessage,
  pingText,
} from "./events.ts";
import { learnText, StreamReporter } from "./stream-decoder.ts";
import { usageJson, withCounts } from "./usage.ts";

/** Replaces the model id, and holds the closing events until the cost is known. */
export class AnthropicMessagesRelay extends StreamReporter implements StreamDriver {
  readonly keepAliveText: string = pingText;
  readonly #label: AnswerLabel;
  readonly #note: ServedModelNote;
  #repeated = new RepeatedEvent();
  /** Maps the provider's block index to the client's. A reused index means the latest block. */
  readonly #blocks = new Map<unknown, number>();
  #blockCount = 0;
  /** The latest `message_delta`, held because the last one of an answer gets the cost. */
  #heldDelta: string | undefined;
  /** The last `message_delta` that the client got although the answer went on after it. */
  #sentDelta: string | undefined;
  #hasStarted = false;
  #hasContent = false;
  #hasClientCalls = false;

  constructor(label: AnswerLabel, note: ServedModelNote) {
    super();
    this.#note = note;
    this.#label = label;
  }

  step(event: SseEvent, out: OutputPieces): StepOutcome {
    const text = readEventText(event.data);
    // `#repeated` recognizes only deltas of text blocks, which are relayed unchanged.
    if (text !== undefined && this.#repeated.textIn(text) !== undefined) {
      out.add(`${this.#takeHeld()}event: content_block_delta\ndata: ${text}\n\n`);
      return "content";
    }
    const json = parseObject(text);
    if (json === undefined) return unusableFailure();
    const type = event.name === "error" ? event.name : textOf(json.value["type"]) || event.name;
    switch (type) {
      case "message_start":
        return this.#start(json, out);
      case "message_delta":
        return this.#delta(json, out);
      case "message_stop":
        return this.#hasStarted ? "end" : unusableFailure();
      case "ping":
        if (this.#hasContent) out.add(pingText);
        return "silent";
      case "error":
        return classifyEmbeddedError(json.value);
      default:
        return this.#relay(type, json, out);
    }
  }

  endOfBody(): StepOutcome {
    return brokenOffFailure();
  }

  finishText(costUsd: string): string {
    // Clients read the stop reason in the last `message_delta`, so if none is held, it is repeated.
    const sent = this.stopReason === "" ? undefined : this.#sentDelta;
    const last = this.#heldDelta ?? sent;
    if (last === undefined) {
      const usage = usageJson(this.report?.usage, costUsd);
      return closingText(`{"stop_reason":"${this.#clientWord()}","stop_sequence":null}`, usage);
    }
    // A call can follow the stop reason, so the word is settled once more.
    const settled = withPart(last, ["delta"], "stop_reason", this.#stopReasonJson());
    const closing = withPart(settled, ["usage"], "cost", costUsd);
    return sseEventText("message_delta", closing) + eventText("message_stop", "");
  }

  failText(refusal: Refusal): string {
    return errorEventText(refusal);
  }

  #start(json: AnswerJson, out: OutputPieces): StepOutcome {
    const message = asObject(json.value["message"]);
    if (this.isOther(message)) return brokenOffFailure();
    if (this.#hasStarted) return "silent";
    this.#hasStarted = true;
    this.#note.take(message?.["model"]);
    this.readUsage(json, message?.["usage"], ["message", "usage"]);
    out.add(sseEventText("message_start", withStart(json.text, message, this.#label)));
    return "silent";
  }

  #delta(json: AnswerJson, out: OutputPieces): StepOutcome {
    const { usage } = json.value;
    this.readUsage(json, usage, ["usage"]);
    const delta = asObject(json.value["delta"]);
    this.stopReason ||= textOf(delta?.["stop_reason"]);
    const word = this.#stopReasonJson();
    const text =
      delta === undefined
        ? withRootMember(json.text, "delta", `{"stop_reason":${word},"stop_sequence":null}`)
        : withStopReason(json.text, delta, word);
    if (this.#hasStarted) out.add(this.#takeHeld());
    this.#heldDelta = this.#withUsage(text, usage);
    return "silent";
  }

  #clientWord(): string {
    const calls = { hasCalls: this.hasCalls, hasClientCalls: this.#hasClientCalls };
    return clientWord(this.stopReason, calls);
  }

  #stopReasonJson(): string {
    return this.stopReason === "" ? "null" : JSON.stringify(this.#clientWord());
  }

  /**
   * Adds missing output tokens, which official clients read unchecked, and removes the cost. A zero
   * that does not count, as `mergeCounts` says, is replaced: clients take the last value of a count.
   */
  #withUsage(text: string, usage: unknown): string {
    const fields = asObject(usage);
    const known = this.report?.usage ?? ZERO_USAGE;
    if (fields === undefined) return withRootMember(text, "usage", usageJson(known));
    const output = outputTokensTotal(known);
    const tokens = { output_tokens: String(output) };
    let counted = withNeeded(text, (made) => findPath(made, "usage"), fields, tokens);
    for (const [key, count] of Object.entries({
      input_tokens: known.prompt,
      cache_read_input_tokens: known.cachedPrompt,
      cache_creation_input_tokens: known.cacheWrite,
      output_tokens: output,
    })) {
      const isReplaced = fields[key] === 0 && count > 0;
      if (isReplaced) counted = withPart(counted, ["usage"], key, String(count));
    }
    return withoutCost(counted, usage, "usage");
  }

  #relay(type: string, json: AnswerJson, out: OutputPieces): StepOutcome {
    if (asObject(json.value["error"]) !== undefined) return classifyEmbeddedError(json.value);
    if (type === "") return "silent";
    if (!this.#hasStarted) return type.startsWith("content_block") ? unusableFailure() : "silent";
    if (lacksPart(type, json.value)) return "silent";
    const isOpen = this.#blocks.has(json.value["index"]);
    if (type === "content_block_stop" && !isOpen) return "silent";
    const missing =
      type === "content_block_delta" && !isOpen ? missingBlock(json.value) : undefined;
    if (missing === "none") return "silent";
    // The held `message_delta` was not the last one, so it is sent before this event.
    out.add(this.#takeHeld());
    if (missing !== undefined) this.#openBlock(json.value["index"], missing, out);
    const text = this.#withBlock(this.#withIndex(type, json), json.value["content_block"]);
    out.add(sseEventText(type, text));
    const block = asObject(json.value["content_block"]);
    this.hasCalls ||= isCall(block);
    this.#hasClientCalls ||= isClientCall(block);
    if (!bearsContent(json.value)) return "silent";
    this.#hasContent = true;
    if (text === json.text && json.value["type"] === "content_block_delta") {
      learnText(this.#repeated, text, asObject(json.value["delta"])?.["text"]);
    }
    return "content";
  }

  /** Numbers the blocks from 0 without gaps, because official clients keep them in a list. */
  #withIndex(type: string, { text, value }: AnswerJson): string {
    if (!type.startsWith("content_block")) return text;
    const { index } = value;
    if (type === "content_block_start") {
      const known = this.#blocks.get(index);
      // The event that `#repeated` has learned contains this index, which now means another block.
      if (known !== undefined) this.#repeated = new RepeatedEvent();
      this.#blocks.set(index, this.#blockCount++);
    }
    const block = this.#blocks.get(index);
    if (block === undefined || block === index) return text;
    return withRootMember(text, "index", String(block));
  }

  #openBlock(index: unknown, block: string, out: OutputPieces): void {
    out.add(
      eventText("content_block_start", `"index":${this.#blockCount},"content_block":${block}`),
    );
    this.#blocks.set(index, this.#blockCount++);
  }

  /** Adds members that official clients append to or send back: texts, a call's id and input. */
  #withBlock(text: string, started: unknown): string {
    const block = asObject(started);
    if (block === undefined) return text;
    const find = (made: string): Span | undefined => findPath(made, "content_block");
    switch (block["type"]) {
      case "text":
        return withNeeded(text, find, block, { text: '""' });
      case "thinking":
        return withNeeded(text, find, block, { thinking: '""', signature: '""' });
      case "tool_use": {
        const id = `"${ownCallId("toolu_", this.#label.idTail, this.#blockCount)}"`;
        return withNeeded(text, find, block, { id, input: "{}" });
      }
      default:
        return text;
    }
  }

  #takeHeld(): string {
    const held = this.#heldDelta;
    if (held === undefined) return "";
    this.#sentDelta = held;
    this.#heldDelta = undefined;
    return sseEventText("message_delta", held);
  }
}

/** Sets a member of the object at `path`. Returns `text` unchanged if there is no such object. */
function withPart(text: string, path: readonly string[], key: string, json: string): string {
  const object = findPath(text, ...path);
  return object === undefined ? text : withMember(text, object, { key, json });
}

/** Sets the model id, removes the provider's cost, and adds members that clients read unchecked. */
function withStart(text: string, message: Fields = {}, { modelId, idTail }: AnswerLabel): string {
  const path = ["message"];
  const { content, usage } = message;
  const find = (made: string): Span | undefined => findPath(made, ...path);
  let start = find(text) === undefined ? withRootMember(text, "message", "{}") : text;
  start = withNeeded(start, find, message, neededInMessage(idTail));
  start = withPart(start, path, "model", JSON.stringify(modelId));
  if (!Array.isArray(content)) start = withPart(start, path, "content", "[]");
  if (asObject(usage) === undefined) {
    return withPart(start, path, "usage", usageJson(undefined));
  }
  const usagePath = ["message", "usage"];
  return withoutCost(withCounts(start, usage, usagePath), usage, ...usagePath);
}

/** Removes the provider's cost from the usage at `path`: the client pays another amount. */
function withoutCost(text: string, usage: unknown, ...path: readonly string[]): string {
  const object = findPath(text, ...path);
  const kept = object === undefined ? text : withoutMember(text, object, "cost");
  return withoutCostDetails(kept, usage, ...path);
}

/** Sets the stop reason to `word` (JSON text), and adds a missing stop sequence. */
function withStopReason(text: string, delta: Fields, word: string): string {
  const { stop_reason: received = null } = delta;
  const find = (made: string): Span | undefined => findPath(made, "delta");
  const whole = withNeeded(text, find, delta, { stop_reason: word, stop_sequence: "null" });
  if (JSON.stringify(received) === word) return whole;
  return withPart(whole, ["delta"], "stop_reason", word);
}

/** For each kind of delta, the member whose text clients append to what they have received. */
const APPENDED: ReadonlyMap<unknown, string> = new Map([
  ["text_delta", "text"],
  ["thinking_delta", "thinking"],
  ["input_json_delta", "partial_json"],
]);

/** True if the event lacks a member that clients read without a check. */
function lacksPart(type: string, event: Fields): boolean {
  if (type === "content_block_start") return asObject(event["content_block"]) === undefined;
  if (type !== "content_block_delta") return false;
  const delta = asObject(event["delta"]);
  const member = APPENDED.get(delta?.["type"]);
  return delta === undefined || (member !== undefined && typeof delta[member] !== "string");
}

/** Returns the block that should have started before a text or thinking delta; else `none`. */
function missingBlock(event: Fields): string {
  switch (asObject(event["delta"])?.["type"]) {
    case "text_delta":
      return '{"type":"text","text":""}';
    case "thinking_delta":
      return '{"type":"thinking","thinking":"","signature":""}';
    default:
      return "none";
  }
}

/** True for an event with text, thinking or arguments, and for the start of any other block. */
function bearsContent(event: Fields): boolean {
  if (event["type"] === "content_block_start") {
    const block = asObject(event["content_block"]);
    const type = block?.["type"];
    if (type === "text" || type === "thinking") return textOf(block?.[type]) !== "";
    return block !== undefined;
  }
  if (event["type"] !== "content_block_delta") return false;
  const delta = asObject(event["delta"]);
  const text = delta?.["text"] ?? delta?.["thinking"] ?? delta?.["partial_json"];
  return textOf(text) !== "";
}
