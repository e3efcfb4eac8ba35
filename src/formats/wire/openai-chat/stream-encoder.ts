import type { Refusal } from "../../../kernel/index.ts";
import { type OutputPieces, SSE_DONE_TEXT, sseCommentText, sseDataText } from "../sse/sse.ts";
import type { StreamEncoder } from "../answer/stream-driver.ts";
import type { AnswerLabel } from "../neutral/chat-answer.ts";
import { type ChatEvent, type FinishReason, settledFinish } from "../neutral/chat-event.ts";
import { answerCallIds, type UniqueIds } from "../neutral/tool-calls.ts";
import type { UsageReport } from "../neutral/usage-report.ts";
import { chunkHead, errorChunkText, isSomeCost, lastChunk, usageChunk, toWord } from "./chunks.ts";
import { usageJson } from "./usage.ts";

interface SentCall {
  readonly index: number;
  hasArguments: boolean;
  hasEnded: boolean;
}

/** Writes chunks: the role first, tool indexes without gaps, and one finish reason. */
export class OpenaiChatEncoder implements StreamEncoder {
  readonly keepAliveText: string = sseCommentText("keep-alive");
  readonly #head: string;
  readonly #chunkStart: string;
  readonly #ids: UniqueIds;
  readonly #label: AnswerLabel;
  readonly #chunkEnd: string;
  readonly #calls = new Map<number, SentCall>();
  #hasBegun = false;
  #hasEnded = false;
  #finish: FinishReason = "stop";

  constructor(label: AnswerLabel) {
    this.#head = chunkHead({ ...label, id: `chatcmpl-${label.idTail}` });
    this.#chunkStart = `data: ${this.#head}"choices":[{"index":0,"delta":`;
    this.#ids = answerCallIds(label);
    this.#label = label;
    this.#chunkEnd = label.wantsUsageChunk ? '],"usage":null}\n\n' : "]}\n\n";
  }

  encode(event: ChatEvent, out: OutputPieces): void {
    if (this.#hasEnded) return;
    switch (event.type) {
      case "text":
        return this.#text("content", event.text, out);
      case "refusal":
        return this.#text("refusal", event.text, out);
      case "reasoning":
        return this.#text("reasoning_content", event.text, out);
      case "tool_start":
        return this.#startCall(event, out);
      case "tool_arguments":
        return this.#arguments(this.#calls.get(event.call), event.json, out);
      case "tool_end":
        return this.#endCall(this.#calls.get(event.call), out);
      case "finish":
        this.#finish = event.reason;
        return;
      case "end":
        return this.#end(out);
      case "failure":
        this.#hasEnded = true;
    }
  }

  finishText(report: UsageReport | undefined, costUsd: string): string {
    const finish = settledFinish(this.#finish, this.#calls.size > 0);
    const word = toWord(finish, this.#label.usesFunctions);
    const last = this.#label.wantsUsageChunk ? this.#chunkText("{}", `"${word}"`) : "";
    return last + this.#usageText(word, usageJson(report?.usage, costUsd)) + SSE_DONE_TEXT;
  }

  failText(refusal: Refusal, report: UsageReport | undefined, costUsd: string): string {
    const isKnown = report?.usage !== undefined || isSomeCost(costUsd);
    const usage = isKnown ? this.#usageText(null, usageJson(report?.usage, costUsd)) : "";
    return usage + errorChunkText(this.#head, refusal);
  }

  #usageText(finish: string | null, usage: string): string {
    const { wantsUsageChunk } = this.#label;
    return sseDataText(
      wantsUsageChunk ? usageChunk(this.#head, usage) : lastChunk(this.#head, finish, usage),
    );
  }

  #begin(out: OutputPieces): void {
    if (this.#hasBegun) return;
    this.#hasBegun = true;
    this.#chunk('{"role":"assistant","content":""}', out);
  }

  #text(field: string, text: string, out: OutputPieces): void {
    if (text === "") return;
    this.#begin(out);
    this.#chunk(`{"${field}":${JSON.stringify(text)}}`, out);
  }

  #startCall(event: Extract<ChatEvent, { type: "tool_start" }>, out: OutputPieces): void {
    if (this.#calls.has(event.call)) return;
    this.#begin(out);
    const index = this.#calls.size;
    this.#calls.set(event.call, { index, hasArguments: false, hasEnded: false });
    const fn = `{"name":${JSON.stringify(event.name)},"arguments":""}`;
    const id = JSON.stringify(this.#ids.take(event.id));
    this.#callDelta(index, `"id":${id},"type":"function",`, fn, out);
  }

  #arguments(call: SentCall | undefined, json: string, out: OutputPieces): void {
    if (call === undefined || call.hasEnded || json === "") return;
    call.hasArguments = true;
    const fn = `{"arguments":${JSON.stringify(json)}}`;
    this.#callDelta(call.index, "", fn, out);
  }

  /** A client that sent `functions` gets one call; the provider was asked for no more. */
  #callDelta(index: number, head: string, fn: string, out: OutputPieces): void {
    if (!this.#label.usesFunctions) {
      this.#chunk(`{"tool_calls":[{"index":${index},${head}"function":${fn}}]}`, out);
    } else if (index === 0) this.#chunk(`{"function_call":${fn}}`, out);
  }

  #endCall(call: SentCall | undefined, out: OutputPieces): void {
    if (call === undefined || call.hasEnded) return;
    // Empty text is not JSON, so a call without arguments gets the empty object.
    if (!call.hasArguments) this.#arguments(call, "{}", out);
    call.hasEnded = true;
  }

  #end(out: OutputPieces): void {
    this.#begin(out);
    for (const call of this.#calls.values()) this.#endCall(call, out);
    this.#hasEnded = true;
  }

  #chunk(delta: string, out: OutputPieces): void {
    out.add(this.#chunkText(delta, "null"));
  }

  #chunkText(delta: string, finish: string): string {
    return `${this.#chunkStart}${delta},"logprobs":null,"finish_reason":${finish}}${this.#chunkEnd}`;
  }
}
