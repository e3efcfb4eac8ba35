import { type Refusal, ZERO_USAGE, JsonProgress } from "../../../kernel/index.ts";
import type { OutputPieces } from "../sse/sse.ts";
import type { StreamEncoder } from "../answer/stream-driver.ts";
import type { AnswerLabel } from "../neutral/chat-answer.ts";
import { type ChatEvent, type FinishReason, settledFinish } from "../neutral/chat-event.ts";
import { answeredToolId, answerToolIds, type UniqueIds } from "../neutral/tool-calls.ts";
import type { UsageReport } from "../neutral/usage-report.ts";
import {
  ABSENT_MEMBERS,
  closingText,
  errorEventText,
  eventText,
  pingText,
  toWord,
} from "./events.ts";
import { usageJson } from "./usage.ts";

interface TextBlock {
  readonly kind: "text";
  pending: string;
}

interface ToolBlock {
  readonly kind: "tool";
  readonly id: string;
  readonly name: string;
  readonly progress: JsonProgress;
  pending: string;
  hasEnded: boolean;
}

type Block = TextBlock | ToolBlock;

/**
 * wire_b expects contiguous indexes and one open block at a time. The first block of the queue is
 * streamed at once; deltas of later blocks wait until the first is complete.
 */
export class AnthropicMessagesEncoder implements StreamEncoder {
  readonly keepAliveText: string = pingText;
  readonly #label: AnswerLabel;
  readonly #ids: UniqueIds;
  readonly #queue: Block[] = [];
  readonly #tools = new Map<number, ToolBlock>();
  /** Blanks at the start of a text are held, because wire_b refuses a history with a blank text. */
  #blank = "";
  #index = 0;
  #isOpen = false;
  #hasBegun = false;
  #hasEnded = false;
  #isRefused = false;
  #finish: FinishReason = "stop";
  #stopSequence: string | undefined;

  constructor(label: AnswerLabel) {
    this.#label = label;
    this.#ids = answerToolIds(label);
  }

  encode(event: ChatEvent, out: OutputPieces): void {
    if (this.#hasEnded) return;
    switch (event.type) {
      case "refusal":
        this.#isRefused ||= event.text !== "";
        return this.#text(event.text, out);
      case "text":
        return this.#text(event.text, out);
      case "reasoning":
        // The gateway cannot sign a thinking block, so reasoning only starts the message.
        return event.text === "" ? undefined : this.#begin(out);
      case "tool_start":
        return this.#startTool(event, out);
      case "tool_arguments":
        return this.#arguments(this.#tools.get(event.call), event.json, out);
      case "tool_end":
        return this.#endTool(this.#tools.get(event.call), out);
      case "finish":
        this.#finish = event.reason;
        this.#stopSequence = event.stopSequence;
        return;
      case "end":
        return this.#end(out);
      case "failure":
        this.#hasEnded = true;
    }
  }

  finishText(report: UsageReport | undefined, costUsd: string): string {
    const reason = this.#isRefused ? "refusal" : settledFinish(this.#finish, this.#tools.size > 0);
    const sequence = reason === "stop_sequence" ? (this.#stopSequence ?? null) : null;
    const delta =
      `{"stop_reason":"${toWord(reason)}","stop_sequence":${JSON.stringify(sequence)},` +
      '"container":null,"stop_details":null}';
    return closingText(delta, usageJson(report?.usage, costUsd));
  }

  /** wire_b has the final usage only in `message_delta`, so a failed stream does not get it. */
  failText(refusal: Refusal): string {
    return errorEventText(refusal);
  }

  #begin(out: OutputPieces): void {
    if (this.#hasBegun) return;
    this.#hasBegun = true;
    // Some clients read the input tokens only here, before the provider has reported them.
    const estimate = { ...ZERO_USAGE, prompt: this.#label.countInputTokens() };
    const message =
      `{"id":"msg_${this.#label.idTail}","type":"message","role":"assistant",` +
      `"model":${JSON.stringify(this.#label.modelId)},"content":[],` +
      `"stop_reason":null,"stop_sequence":null,${ABSENT_MEMBERS},"usage":${usageJson(estimate)}}`;
    out.add(eventText("message_start", `"message":${message}`));
  }

  #text(text: string, out: OutputPieces): void {
    if (text === "") return;
    this.#begin(out);
    const last = this.#queue.at(-1);
    if (last?.kind === "text") last.pending += text;
    else {
      this.#blank += text;
      if (text.trim() === "") return;
      this.#queue.push({ kind: "text", pending: this.#blank });
      this.#blank = "";
    }
    this.#pump(out);
  }

  #startTool(event: Extract<ChatEvent, { type: "tool_start" }>, out: OutputPieces): void {
    if (this.#tools.has(event.call)) return;
    this.#begin(out);
    this.#blank = "";
    const block: ToolBlock = {
      kind: "tool",
      id: this.#ids.take(answeredToolId(event.id)),
      name: event.name,
      progress: new JsonProgress(),
      pending: "",
      hasEnded: false,
    };
    this.#tools.set(event.call, block);
    this.#queue.push(block);
    this.#pump(out);
  }

  #arguments(block: ToolBlock | undefined, json: string, out: OutputPieces): void {
    if (block === undefined || block.hasEnded) return;
    block.pending += block.progress.accept(json);
    this.#pump(out);
  }

  #endTool(block: ToolBlock | undefined, out: OutputPieces): void {
    if (block === undefined) return;
    block.hasEnded = true;
    this.#pump(out);
  }

  #end(out: OutputPieces): void {
    this.#begin(out);
    for (const block of this.#tools.values()) block.hasEnded = true;
    this.#pump(out);
    if (this.#isOpen) this.#close(out);
    this.#hasEnded = true;
  }

  #pump(out: OutputPieces): void {
    for (let block = this.#queue[0]; block !== undefined; block = this.#queue[0]) {
      if (!this.#isOpen) this.#open(block, out);
      this.#flush(block, out);
      if (this.#queue.length === 1 || !isWhole(block)) return;
      this.#close(out);
    }
  }

  #open(block: Block, out: OutputPieces): void {
    this.#isOpen = true;
    const content =
      block.kind === "text"
        ? '{"type":"text","text":""}'
        : `{"type":"tool_use","id":${JSON.stringify(block.id)},` +
          `"name":${JSON.stringify(block.name)},"input":{}}`;
    out.add(eventText("content_block_start", `"index":${this.#index},"content_block":${content}`));
  }

  #flush(block: Block, out: OutputPieces): void {
    if (block.pending === "") return;
    const text = JSON.stringify(block.pending);
    block.pending = "";
    const delta =
      block.kind === "text"
        ? `{"type":"text_delta","text":${text}}`
        : `{"type":"input_json_delta","partial_json":${text}}`;
    out.add(eventText("content_block_delta", `"index":${this.#index},"delta":${delta}`));
  }

  #close(out: OutputPieces): void {
    out.add(eventText("content_block_stop", `"index":${this.#index}`));
    this.#queue.shift();
    this.#index += 1;
    this.#isOpen = false;
  }
}

function isWhole(block: Block): boolean {
  return block.kind === "text" || block.hasEnded || block.progress.isWhole;
}
